#include "machine/wake.h"

#include "machine/cluster.h"

namespace sim {

void go_on(Warp& warp, uint8_t index) {
  Split& split = warp.splits[index];
  look_again(warp, index);
  ++split.pc;
  if (split.result < 0) return;
  *reinterpret_cast<Mask*>(warp.registers + split.result) |= split.mask;
  split.result = -1;
}

void look_again(Warp& warp, uint8_t index) { warp.splits[index].wait = Wait::None; }

void resume(Warp& warp, uint8_t index, uint64_t delay) {
  go_on(warp, index);
  warp.cta->cluster->scheduler->wake(warp, delay);
}

void retry(Warp& warp, uint8_t index, uint64_t delay) {
  look_again(warp, index);
  warp.cta->cluster->scheduler->wake(warp, delay);
}

}  // namespace sim
