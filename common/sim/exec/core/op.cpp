#include "exec/core/op.h"

namespace sim {

void isolate(Warp& warp, Mask mask) {
  Split& self = warp.split();
  if (mask == self.mask) return;
  warp.fork(self.mask & ~mask, self.pc + 1);
  self.mask = mask;
}

bool gather(Warp& warp, Mask needed, Mask* mask) {
  isolate(warp, *mask);
  Split& self = warp.split();
  const Mask need = needed & warp.live;
  if ((self.mask & need) == need) return true;
  Mask have = self.mask;
  const auto joins = [&](int slot) {
    const Split& other = warp.splits[slot];
    return slot != warp.current && other.wait == Wait::Gather && other.pc == self.pc && (other.mask & need);
  };
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    if (joins(std::countr_zero(rest))) have |= warp.splits[std::countr_zero(rest)].mask;
  }
  if ((have & need) != need) {
    self.block(Wait::Gather, need, kMeetHere);
    return false;
  }
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const int slot = std::countr_zero(rest);
    if (!joins(slot)) continue;
    warp.splits[slot].mask = 0;
    warp.used &= ~(1u << slot);
  }
  self.mask = have;
  *mask = have;
  return true;
}

bool gather_all(Warp& warp, Mask* mask) {
  if (!gather(warp, kAllLanes, mask)) return false;
  cluster_of(warp).watchers.tell(LaneEvent{LaneEvent::What::Aligned, warp, *mask});
  return true;
}

}  // namespace sim
