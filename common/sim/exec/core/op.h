// A decoded instruction, and helpers for handlers.
//
// Every operand is the offset of a slot in the warp's register block. A slot holds one value per lane: 32 x 4 bytes for
// types up to 32 bits, 32 x 8 for 64 bits, and for predicates one 32-bit mask. Immediates and special registers have
// slots too (filled when the warp starts), so a handler never asks what kind of operand it has.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "common/base/text.h"
#include "machine/cluster.h"
#include "machine/fault.h"
#include "machine/wake.h"
#include "machine/warp.h"

namespace sim {

/// How the warp continues after an instruction.
enum class Flow : uint8_t {
  Next,    ///< at the next instruction
  Jump,    ///< the handler has set the split's pc
  Choose,  ///< the handler has set the split's pc, and another split may have to run first
  Block,   ///< the split waits at this instruction (machine/wake.h)
  Yield,   ///< at the next instruction, after other warps have run (a fruitless poll)
};

struct Op;
/// Executes an instruction for these lanes of the warp's running split.
using Handler = Flow (*)(Warp&, const Op&, Mask);

/// A register's slot, for the checks for pending registers (exec/core/pending.h).
struct Slot {
  int32_t offset = -1;
  uint16_t bytes = 0;
};
/// The registers that an instruction names. Stored only for kernels with operations that write registers late.
struct RegisterUse {
  std::vector<Slot> reads, writes;
  int32_t low = std::numeric_limits<int32_t>::max(), high = 0;  ///< bounds of all of them, in bytes

  void read(const Slot& slot) { add(reads, slot); }
  void write(const Slot& slot) { add(writes, slot); }

 private:
  void add(std::vector<Slot>& slots, const Slot& slot) {
    slots.push_back(slot);
    low = std::min(low, slot.offset), high = std::max(high, slot.offset + slot.bytes);
  }
};

struct Op {
  static constexpr size_t kOperandBytes = 64;

  Handler run = nullptr;
  int32_t guard = -1;            ///< slot of the guarding predicate, or -1
  Mask guard_flip = 0;           ///< all ones for @!p
  uint32_t source = 0;           ///< index into Program::instructions
  bool is_move = false;          ///< copies, casts or packs registers: may propagate pending ones
  bool touches_pending = false;  ///< handles pending registers itself
  bool pure = false;             ///< depends on registers and this thread's own memory alone
  RegisterUse* uses = nullptr;   ///< owned by the Program
  /// Operands of the type that the function in `run` takes, or a pointer to them if they are too large.
  alignas(8) std::byte operands[kOperandBytes] = {};
};

template <class T>
inline constexpr bool kFitsOp = std::is_trivially_copyable_v<T> && sizeof(T) <= Op::kOperandBytes;

/// The operands of an instruction whose function takes a T.
template <class T>
const T& operands(const Op& op) {
  if constexpr (kFitsOp<T>) {
    return *reinterpret_cast<const T*>(op.operands);
  } else {
    return **reinterpret_cast<const T* const*>(op.operands);
  }
}

/// The handler of an instruction with operands of type T: a function Flow f(Warp&, const T& operands, Mask), as
/// `execution<f>`. Decoder::emit takes both, so that their types agree.
template <class T>
struct Execution {
  Handler run = nullptr;
};
template <class T>
T operand_type(Flow (*)(Warp&, const T&, Mask));
template <auto F>
using OperandsOf = decltype(operand_type(F));
template <auto F>
Flow execute(Warp& warp, const Op& op, Mask mask) {
  return F(warp, operands<OperandsOf<F>>(op), mask);
}
template <auto F>
inline constexpr Execution<OperandsOf<F>> execution{execute<F>};

/// Operands of an instruction without operands.
struct NoOperands {};
inline Flow no_effect(Warp&, const NoOperands&, Mask) { return Flow::Next; }
inline constexpr Handler kNoEffect = execute<no_effect>;

template <class T>
inline T* lanes(Warp& warp, int32_t slot) {
  return reinterpret_cast<T*>(warp.registers + slot);
}
/// A number of up to 64 bits from a slot with 64-bit lanes (`wide`) or 32-bit ones.
inline uint64_t number(Warp& warp, int32_t slot, bool wide, int lane) {
  return wide ? lanes<uint64_t>(warp, slot)[lane] : lanes<uint32_t>(warp, slot)[lane];
}

inline Mask& predicate(Warp& warp, int32_t slot) { return *reinterpret_cast<Mask*>(warp.registers + slot); }
/// Writes the predicate in the lanes of `mask`.
inline void set_predicate(Warp& warp, int32_t slot, Mask mask, Mask truth) {
  Mask& p = predicate(warp, slot);
  p = (p & ~mask) | (truth & mask);
}

/// A predicate operand, %p or !%p.
struct PredicateOperand {
  int32_t slot = -1;
  Mask flip = 0;  ///< all ones for !%p
  bool exists() const { return slot >= 0; }
  Mask read(Warp& warp) const { return predicate(warp, slot) ^ flip; }
};

/// An address operand, [register + offset] or [variable + offset].
struct Address {
  int32_t slot = -1;
  bool wide = false;  ///< the slot holds 64-bit lanes
  int64_t offset = 0;
  uint64_t of(Warp& warp, int lane) const { return number(warp, slot, wide, lane) + static_cast<uint64_t>(offset); }
};

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

/// Blocks the running split: `return block(w, Wait::..)`. The functions of machine/wake.h end the wait.
inline Flow block(Warp& warp, Wait why, uint32_t first = 0, uint32_t second = 0) {
  warp.split().block(why, first, second);
  return Flow::Block;
}

/// The second argument of Wait::Gather: lanes meet at one instruction, at any bar.warp.sync, or at any instruction of
/// one named barrier (plus its number).
enum Meet : uint32_t { kMeetHere, kMeetAnywhere, kMeetAtBarrier };

/// Splits off the lanes of the running split that are not in `mask`. They take no part in an instruction that may
/// block, and continue after it.
void isolate(Warp& warp, Mask mask);

/// Collective instructions: has every lane in `needed` reached this instruction? If not, the split waits for the others
/// (Flow::Block must be returned); if so, all of them are merged into the running split, and *mask grows to them.
bool gather(Warp& warp, Mask needed, Mask* mask);
/// The same for an .aligned instruction, which requires all lanes of the warp to execute it together.
bool gather_all(Warp& warp, Mask* mask);

inline Cluster& cluster_of(Warp& warp) { return *warp.cta->cluster; }

/// This warp has arrived at a barrier, or announced bytes to it. Others can observe that, but a warp may do it for
/// ever.
inline void note_arrival(Warp& warp) {
  warp.executed_at_effect = warp.executed;
  ++cluster_of(warp).changes;
}

/// This warp has had an effect that others can observe.
inline void note_effect(Warp& warp) {
  note_arrival(warp);
  ++cluster_of(warp).progress;
}

/// This warp has polled something and found it unchanged. After a few polls without any change in the cluster it
/// yields.
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

}  // namespace sim
