// A warp: 32 lanes, their registers, and the sets of lanes ("splits") that have diverged from one another.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/async.h"
#include "machine/call_stack.h"

namespace sim {

struct Cta;
struct Mbarrier;
using Mask = uint32_t;
inline constexpr Mask kAllLanes = 0xFFFF'FFFFu;

/// Why a split is blocked. `Gather`: its instruction needs more lanes of the warp. `Scoreboard`: its instruction
/// overwrites a register that an unfinished operation has still to write. `Registers`: it waits in setmaxnreg.
/// `Signals`: it is at a release that must not overtake the warp's own signals to other CTAs. `Launch`: it waits in
/// griddepcontrol.wait.
enum class Wait : uint8_t {
  None,
  Gather,
  Mbarrier,
  CtaBarrier,
  ClusterBarrier,
  BulkGroup,
  CopyGroup,
  WgmmaGroup,
  TmemLoad,
  TmemStore,
  TmemAllocation,
  TmemDeallocation,
  Registers,
  Scoreboard,
  Signals,
  Launch,
  Poll
};

/// Lanes of a warp that share a program counter.
struct Split {
  Mask mask = 0;  ///< 0: this slot is unused
  uint32_t pc = 0;
  uint32_t depth = 0;  ///< of nested calls
  Wait wait = Wait::None;
  uint32_t arguments[2] = {0, 0};  ///< of the wait, for reports and wake-ups: barrier address and parity, ...
  int32_t result = -1;             ///< predicate register that a successful wait sets

  /// The split waits from now on; functions of machine/wake.h end the wait.
  void block(Wait why, uint32_t first = 0, uint32_t second = 0) {
    wait = why;
    arguments[0] = first, arguments[1] = second;
  }
};

/// Bulk copies (or cp.async copies) of one lane, in groups.
struct CopyGroups {
  struct Group {
    uint32_t reads = 0, writes = 0;  ///< operations whose source is still being read / not yet visible
    uint32_t maps = 0;               ///< loads whose tensor map, in global memory, is still being read
  };
  uint64_t first = 0;                                 ///< number of groups[0]
  std::vector<Group> groups;                          ///< committed, oldest first; the last one is open
  std::vector<std::unique_ptr<AsyncOperation>> then;  ///< submitted once no copy of the lane is in flight
};

struct Warp {
  Cta* cta = nullptr;
  uint32_t index = 0;                ///< in the CTA
  Mask live = 0;                     ///< lanes that exist and have not exited
  uint8_t* registers = nullptr;      ///< slots; see exec/core/program.h
  uint8_t* local = nullptr;          ///< local memory, lane after lane: Launch::local_bytes each
  std::unique_ptr<CallStack> calls;  ///< null until the first call that was not inlined
  uint64_t time = 0;                 ///< this warp's clock, in cycles
  uint64_t executed = 0;             ///< instructions
  uint64_t executed_at_effect = 0;   ///< `executed` at the last new effect, or read beyond earlier ones
  /// The range of host memory that an instruction has read or written since the warp became suspected of spinning.
  /// Another access within it is no progress (note_write, note_read in exec/core/access.h).
  struct Reach {
    const uint8_t *low = nullptr, *high = nullptr;
  };
  static constexpr size_t kReaches = 64;
  std::unique_ptr<std::array<Reach, kReaches>> reaches;  ///< by pc % kReaches
  bool writes_in_vain = false;                           ///< its last observed write was within such a range
  uint64_t suspicious_after = 0;   ///< instructions without effect before it is suspected of spinning
  uint64_t reads_count_after = 0;  ///< the same, before reads beyond earlier ones count as progress
  uint64_t spin_check_at = 0;      ///< value of `executed` at which a warp without effects is checked again
  uint64_t clock_step = 0;         ///< cycles that were skipped when it last did nothing but read the clock
  uint64_t idle() const { return executed - executed_at_effect; }

  // Splits. Almost always there is one.
  std::array<Split, 32> splits;
  uint32_t used = 0;    ///< bit i: splits[i] is in use
  uint8_t current = 0;  ///< the running split
  uint8_t picks = 0;    ///< counts choices of a split, for fairness between them
  Split& split() { return splits[current]; }

  /// A new split at `pc` with these lanes of the running one; the caller removes them from the running one.
  Split& fork(Mask mask, uint32_t pc) {
    const int slot = std::countr_one(used);
    used |= 1u << slot;
    splits[slot] = Split{.mask = mask, .pc = pc, .depth = split().depth};
    return splits[slot];
  }
  bool has_ready_split() const {
    for (uint32_t rest = used; rest; rest &= rest - 1) {
      if (splits[std::countr_zero(rest)].wait == Wait::None) return true;
    }
    return false;
  }

  /// The warp is executed without the others: each of its waits succeeds at once, and operations that it starts are
  /// only recorded.
  bool alone = false;

  std::array<uint32_t, 32> cluster_phase{};  ///< by lane: 1 + the cluster barrier's phase of its arrival; 0: none
  uint32_t max_registers = 0;                ///< setmaxnreg: registers per thread of this warp

  // Scheduling.
  bool queued = false;         ///< in the scheduler's ready queue
  uint64_t polled_at = ~0ull;  ///< Cluster::changes at the last fruitless poll
  uint32_t polls = 0;          ///< fruitless polls since then

  // Asynchronous operations of this warp.
  uint32_t tmem_loads = 0, tmem_stores = 0;          ///< in flight
  uint32_t signals_in_flight = 0;                    ///< arrivals on their way to barriers of other CTAs
  OrderQueue tmem_load_order, tmem_store_order;      ///< tcgen05.ld of this warp, and st
  std::array<std::unique_ptr<CopyGroups>, 32> bulk;  ///< by lane, made on first use
  std::array<std::unique_ptr<CopyGroups>, 32> copies;
  std::unique_ptr<struct PendingRegisters>
      pending;  ///< exec/core/pending.h: registers that an unfinished operation will write

  ~Warp();
  Warp();
  Warp(Warp&&) noexcept;
};

}  // namespace sim
