#include "engine/interpreter.h"

#include "exec/core/op.h"
#include "exec/core/pending.h"
#include "exec/core/program.h"

namespace sim {
namespace {

/// std::has_single_bit without a population count, which is a function call in code for any x86-64 processor.
bool is_single(uint32_t bits) { return bits != 0 && (bits & (bits - 1)) == 0; }

/// Does `a` run before `b`? The deepest call runs first, and in it the lowest pc, so that lanes on the longer path
/// catch up.
bool runs_first(const Split& a, const Split& b) { return a.depth != b.depth ? a.depth > b.depth : a.pc < b.pc; }

/// Chooses the split to run and merges splits with the same pc. Every eighth choice is round robin, so that lanes that
/// the first split waits for do not starve. `stop` becomes the pc at which the choice must be made anew.
bool pick(Warp& warp, uint32_t* stop) {
  *stop = ~0u;
  if (is_single(warp.used)) {
    warp.current = static_cast<uint8_t>(std::countr_zero(warp.used));
    return warp.split().wait == Wait::None;
  }
  int first = -1;
  int ready = 0;
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const int slot = std::countr_zero(rest);
    Split& split = warp.splits[slot];
    if (split.wait != Wait::None) continue;
    bool merged = false;
    for (uint32_t earlier = warp.used & ((1u << slot) - 1); earlier; earlier &= earlier - 1) {
      Split& other = warp.splits[std::countr_zero(earlier)];
      if (other.wait != Wait::None || other.pc != split.pc || other.depth != split.depth) continue;
      other.mask |= split.mask;
      split.mask = 0;
      warp.used &= ~(1u << slot);
      merged = true;
      break;
    }
    if (merged) continue;
    ++ready;
    if (first < 0 || runs_first(split, warp.splits[first])) first = slot;
  }
  if (first < 0) return false;
  int chosen = first;
  if (ready > 1 && ++warp.picks % 8 == 0) {
    // Round robin over the ready splits.
    for (int step = 1; step <= 32; ++step) {
      const int slot = (warp.current + step) % 32;
      if ((warp.used >> slot & 1) && warp.splits[slot].wait == Wait::None) {
        chosen = slot;
        break;
      }
    }
  }
  warp.current = static_cast<uint8_t>(chosen);
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const int slot = std::countr_zero(rest);
    const Split& other = warp.splits[slot];
    if (slot != chosen && other.wait == Wait::None && other.depth == warp.split().depth && other.pc > warp.split().pc &&
        other.pc < *stop)
      *stop = other.pc;
  }
  return true;
}

/// Executes an instruction, in a warp that may be alone.
Flow step(Warp& warp, const Op& op, Mask mask) {
  const Traits& traits = cluster_of(warp).launch->program->traits[warp.split().pc];
  if (warp.alone && traits.alone != nullptr)
    return traits.is_aligned && !gather(warp, kAllLanes, &mask) ? Flow::Block : traits.alone(warp, op, mask);
  const Flow flow = op.run(warp, op, mask);
  if (!warp.alone || flow != Flow::Block || warp.split().wait == Wait::Gather) return flow;
  warp.split().wait = Wait::None;
  return Flow::Next;
}

constexpr uint64_t kSplitSlice = 256;  // instructions before another ready split of the warp may run

/// FOLLOWED: a watcher wants a StepEvent of every instruction, or the warp is alone. CHECKED: of some, before they are
/// executed.
template <bool COUNTED, bool CHECKED, bool FOLLOWED>
void run(Warp& warp, uint64_t horizon) {
  Cluster& cluster = cluster_of(warp);
  const Op* const ops = cluster.launch->program->ops.data();
  [[maybe_unused]] const uint8_t* const steps = cluster.watchers.steps();
  while (warp.time < horizon) {
    uint32_t stop;
    if (!pick(warp, &stop)) return;
    Split& split = warp.split();
    const uint32_t used = warp.used;
    const uint64_t slice_ends = is_single(used) ? ~0ull : warp.executed + kSplitSlice;
    for (;;) {
      const Op& op = ops[split.pc];
      Mask mask = split.mask;
      if (op.guard >= 0) mask &= predicate(warp, op.guard) ^ op.guard_flip;
      if constexpr (FOLLOWED) cluster.watchers.tell(StepEvent{warp, op, split.pc, split.mask, mask});
      ++warp.time;
      ++warp.executed;
      if constexpr (COUNTED) {
        ++cluster.warp_instructions;
        cluster.lane_instructions += static_cast<uint64_t>(std::popcount(mask));
      }
      if (mask == 0) {
        ++split.pc;
      } else {
        if constexpr (CHECKED) {
          if (steps[split.pc]) cluster.watchers.tell_some(StepEvent{warp, op, split.pc, split.mask, mask});
        }
        if (is_near_pending(warp, op)) [[unlikely]] {
          const PendingCheck check = check_pending(warp, op, mask);
          if (check == PendingCheck::Deferred) {
            if constexpr (FOLLOWED) cluster.watchers.tell(StepEvent{warp, op, split.pc, split.mask, mask, true});
            ++split.pc;
            continue;
          }
          if (check == PendingCheck::Stall) {
            split.block(Wait::Scoreboard);
            break;
          }
        }
        [[maybe_unused]] const uint32_t pc = split.pc;
        const Flow flow = FOLLOWED ? step(warp, op, mask) : op.run(warp, op, mask);
        if constexpr (FOLLOWED) cluster.watchers.tell(StepEvent{warp, op, pc, mask, mask, true});
        if (flow == Flow::Next) [[likely]] {
          ++split.pc;
        } else if (flow == Flow::Block || flow == Flow::Choose) {
          break;
        } else if (flow == Flow::Yield) {
          ++split.pc;
          split.block(Wait::Poll);
          break;
        }
        if (warp.used != used) break;
      }
      if (warp.time >= horizon) return;
      if (split.pc >= stop || warp.executed >= slice_ends) break;
    }
    if (warp.used == 0) return;
  }
}

}  // namespace

void run_warp(Warp& warp, uint64_t horizon) {
  const Watchers& watchers = cluster_of(warp).watchers;
  if (watchers.want(EventKind::Step) || warp.alone)
    run<false, false, true>(warp, horizon);
  else if (watchers.steps() != nullptr)
    watchers.want(EventKind::Work) ? run<true, true, false>(warp, horizon) : run<false, true, false>(warp, horizon);
  else
    watchers.want(EventKind::Work) ? run<true, false, false>(warp, horizon) : run<false, false, false>(warp, horizon);
}

}  // namespace sim
