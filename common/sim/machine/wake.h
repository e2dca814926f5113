// How lanes are woken: the one place that ends a wait.
//
// A split that waits stands at the instruction that made it wait (Split::pc). Code that fulfils a wait calls one of
// two:
//   resume  the instruction is over: the split goes on behind it.
//   retry   the instruction is executed again: what has changed may not be enough, or it is only now that it can begin.
// Both tell the scheduler, which may have the warp's clock wait `delay` cycles more. A warp that runs needs no telling:
// its own splits are released by `go_on` and `look_again`.
#pragma once

#include <bit>
#include <cstdint>

#include "machine/warp.h"

namespace sim {

/// The split's instruction is over. If it waited for a predicate's sake (Split::result), that becomes true.
void go_on(Warp& warp, uint8_t split);
/// The split executes the instruction at which it stands.
void look_again(Warp& warp, uint8_t split);

void resume(Warp& warp, uint8_t split, uint64_t delay);
void retry(Warp& warp, uint8_t split, uint64_t delay);

/// Calls f(index of the split) for every split of the warp that waits for this.
template <class F>
void for_waiting(Warp& warp, Wait what, F f) {
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const auto index = static_cast<uint8_t>(std::countr_zero(rest));
    if (warp.splits[index].wait == what) f(index);
  }
}

/// Is any split of the warp waiting for this?
inline bool is_waiting(const Warp& warp, Wait what) {
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    if (warp.splits[static_cast<size_t>(std::countr_zero(rest))].wait == what) return true;
  }
  return false;
}

}  // namespace sim
