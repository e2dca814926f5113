#include "exec/core/lifetime.h"

#include "exec/core/groups.h"
#include "exec/core/report.h"

namespace sim {

void exit_lanes(Warp& warp, Mask mask) {
  Split& split = warp.split();
  Cta& cta = *warp.cta;
  Cluster& cluster = *cta.cluster;
  cluster.watchers.tell(LaneEvent{LaneEvent::What::Exit, warp, mask});
  split.mask &= ~mask;
  warp.live &= ~mask;
  if (split.mask == 0) warp.used &= ~(1u << warp.current);
  cluster.live_threads -= static_cast<uint32_t>(std::popcount(mask));
  // Exited threads count as arrived. Those that had already arrived in the current phase must not count twice.
  for (Mask rest = mask; rest; rest &= rest - 1) {
    if (warp.cluster_phase[static_cast<size_t>(first_lane(rest))] == cluster.barrier.phase + 1)
      --cluster.barrier.arrived;
  }
  note_effect(warp);
  // Lanes that wait for these at a collective instruction test again.
  for_waiting(warp, Wait::Gather, [&](uint8_t split) { look_again(warp, split); });
  if (warp.live == 0) {
    if (uint32_t reads = bulk_reads_in_flight(warp); reads > 0) {
      const Fault early{faults::exit_before_own_stores, {reads}};
      tolerate_violation(cluster, Habit::ExitWithOwnStores, early, &warp, nullptr);
    }
    // Its registers stay with the CTA and are lost to setmaxnreg: on an H200, 40 and 240 hang although idle warps exit.
    cluster.watchers.tell(LaneEvent{LaneEvent::What::WarpExits, warp});
    --cta.live_warps;
    check_cta_barriers(cta);
    if (cta.live_warps == 0) {
      if (cta.tmem.live_columns() > 0) { throw Fault{faults::exit_with_tensor_memory, {cta.tmem.describe()}}; }
      cluster.watchers.tell(LaneEvent{LaneEvent::What::CtaExits, warp});
      cta.exited = true;
      --cluster.live_ctas;
    }
  }
  check_cluster_barrier(cluster);
}

}  // namespace sim
