// Wakes lanes. Only these functions end a wait.
//
// The pc of a waiting split is still that of the waiting instruction. Code that fulfils the condition calls one of two:
//   resume  the instruction is complete: the split continues at the next one.
//   retry   the instruction is executed again: the change may not suffice, or the instruction can begin only now.
// Both notify the scheduler, which wakes the warp after `delay` cycles. The running warp needs no notification:
// `go_on` and `look_again` release its own splits.
#pragma once

#include <bit>
#include <cstdint>

#include "machine/warp.h"

namespace sim {

/// Completes the split's instruction. If the wait has a result predicate (Split::result), it becomes true.
void go_on(Warp& warp, uint8_t split);
/// Makes the split execute its current instruction again.
void look_again(Warp& warp, uint8_t split);

void resume(Warp& warp, uint8_t split, uint64_t delay);
void retry(Warp& warp, uint8_t split, uint64_t delay);

/// Calls f(index of the split) for every split of the warp that waits for `what`.
template <class F>
void for_waiting(Warp& warp, Wait what, F f) {
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const auto index = static_cast<uint8_t>(std::countr_zero(rest));
    if (warp.splits[index].wait == what) f(index);
  }
}

/// Whether a split of the warp waits for `what`.
inline bool is_waiting(const Warp& warp, Wait what) {
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    if (warp.splits[static_cast<size_t>(std::countr_zero(rest))].wait == what) return true;
  }
  return false;
}

}  // namespace sim
