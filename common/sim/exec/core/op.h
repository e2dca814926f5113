// A decoded instruction and the helpers that its handler is written with.
//
// Every operand is the offset of a slot in the warp's register block. A slot holds one value per lane: 32 x 4 bytes for
// types up to 32 bits, 32 x 8 for 64 bits, and for predicates one 32-bit mask. Immediates and special registers have
// slots too (filled when the warp starts), so a handler never asks what kind of operand it has.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "machine/cluster.h"
#include "machine/fault.h"
#include "machine/wake.h"
#include "machine/warp.h"

namespace sim {

/// What the warp does after an instruction.
enum class Flow : uint8_t {
  Next,   ///< go on behind it
  Jump,   ///< the handler has set the split's pc
  Block,  ///< the split waits at the instruction (machine/wake.h)
  Yield,  ///< go on behind it, but let others run first (a fruitless poll)
};

struct Op;
using Handler = Flow (*)(Warp&, const Op&, Mask);

/// One operand slot with what the checks for pending registers need to know.
struct Slot {
  int32_t offset = -1;
  uint16_t bytes = 0;
};

/// Decoded fields that only some families need. Owned by the Program.
struct OpExtra {
  std::vector<int32_t> list;   ///< vector operands: slots
  std::vector<int32_t> list2;  ///< a second vector operand
  std::vector<Slot> reads, writes;
  std::string text;  ///< message, name
  const void* object = nullptr;
};

struct Op {
  Handler run = nullptr;
  int32_t guard = -1;                      ///< slot of the guarding predicate, or -1
  Mask guard_flip = 0;                     ///< all ones for @!p
  int32_t d = -1;                          ///< destination slot
  int32_t a = -1, b = -1, c = -1, e = -1;  ///< source slots
  int64_t imm = 0;                         ///< offset of an address, or an immediate that is not per lane
  uint32_t flags = 0;                      ///< family-specific modifiers
  uint16_t shape[4] = {0, 0, 0, 0};        ///< family-specific sizes
  bool is_move = false;                    ///< copies, casts or packs registers: may carry pending ones along
  bool touches_pending = false;            ///< deals with pending registers itself
  bool pure = false;                       ///< depends on registers and this thread's own memory alone
  OpExtra* extra = nullptr;
  uint32_t source = 0;  ///< index into Program::instructions
};

template <class T>
inline T* lanes(Warp& warp, int32_t slot) {
  return reinterpret_cast<T*>(warp.registers + slot);
}
inline Mask& predicate(Warp& warp, int32_t slot) { return *reinterpret_cast<Mask*>(warp.registers + slot); }

inline int first_lane(Mask mask) { return std::countr_zero(mask); }

/// Calls f(lane) for every lane of the mask; the full mask is a plain loop that the compiler vectorises.
template <class F>
[[gnu::always_inline]] inline void for_lanes(Mask mask, F f) {
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < 32; ++lane) f(lane);
  } else {
    for (Mask rest = mask; rest; rest &= rest - 1) f(first_lane(rest));
  }
}

/// The value of a slot that must be the same in all active lanes (barrier ids, descriptors of collective operations).
template <class T>
inline T uniform(Warp& warp, int32_t slot, Mask mask) {
  return lanes<T>(warp, slot)[first_lane(mask)];
}

/// The running split waits: `return block(w, Wait::..)`. machine/wake.h says how that ends.
inline Flow block(Warp& warp, Wait why, uint32_t first = 0, uint32_t second = 0) {
  warp.split().block(why, first, second);
  return Flow::Block;
}

/// What splits that wait for lanes of their warp (Wait::Gather) have as their second argument: at one instruction, at any
/// bar.warp.sync, or at any instruction of one named barrier (plus its number).
enum Meet : uint32_t { kMeetHere, kMeetAnywhere, kMeetAtBarrier };

/// Lanes of the running split that are not in `mask` take no part in an instruction that may block: they go on behind
/// it.
void isolate(Warp& warp, Mask mask);

/// Collective instructions: has every lane in `needed` reached this instruction? If not, the split waits for the others
/// (Flow::Block must be returned); if so, all of them are merged into the running split, and *mask grows to them.
bool gather(Warp& warp, const Op& op, Mask needed, Mask* mask);

inline Cluster& cluster_of(Warp& warp) { return *warp.cta->cluster; }

/// This warp has done something that others can notice.
inline void note_effect(Warp& warp) {
  warp.executed_at_effect = warp.executed;
  ++cluster_of(warp).changes;
}

/// This warp has looked at something and found it unchanged. After a few looks at an unchanged world it yields.
inline Flow poll(Warp& warp) {
  constexpr uint32_t kPatience = 16;
  const uint64_t changes = cluster_of(warp).changes;
  if (warp.polled_at != changes) {
    warp.polled_at = changes;
    warp.polls = 0;
  }
  return ++warp.polls < kPatience ? Flow::Next : Flow::Yield;
}

inline Origin origin_of(Warp& warp, int lane) {
  return {static_cast<uint8_t>(warp.cta->rank), static_cast<uint16_t>(warp.index), static_cast<uint8_t>(lane),
          warp.split().pc};
}

/// "0x1a0"
std::string hex(uint64_t value);
/// "24,576"
std::string with_commas(uint64_t value);

}  // namespace sim
