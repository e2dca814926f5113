// barrier.cluster: arrive and wait.
#include "exec/core/families.h"
#include "exec/core/lifetime.h"

namespace sim {
namespace {

constexpr BarrierName kClusterBarrier{.kind = BarrierName::Kind::Cluster};

struct Arrive {
  bool aligned;
  bool releases;  ///< not .relaxed
};
Flow arrive(Warp& w, const Arrive& o, Mask m) {
  if (o.aligned && !gather_all(w, &m)) return Flow::Block;
  // A release: earlier signals of this warp must have arrived.
  if (o.releases && w.signals_in_flight > 0) return block(w, Wait::Signals);
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    if (w.cluster_phase[static_cast<size_t>(lane)] != 0) { throw Fault{faults::cluster_arrival_twice, {}, lane}; }
    w.cluster_phase[static_cast<size_t>(lane)] = cluster.barrier.phase + 1;
  }
  cluster.barrier.arrived += static_cast<uint32_t>(std::popcount(m));
  note_arrival(w);
  if (cluster.watchers.want(EventKind::Barrier)) {
    const uint32_t arrived = cluster.barrier.arrived, needed = cluster.live_threads;
    cluster.watchers.tell(
        BarrierEvent{.what = BarrierEvent::What::Arrive,
                     .cluster = cluster,
                     .barrier = kClusterBarrier,
                     .amount = static_cast<uint32_t>(std::popcount(m)),
                     .state = {cluster.barrier.phase, static_cast<int32_t>(needed - std::min(needed, arrived)), 0,
                               arrived >= needed},
                     .warp = &w,
                     .lanes = m});
  }
  check_cluster_barrier(cluster);
  return Flow::Next;
}

struct WaitFor {
  bool aligned;
};
Flow wait(Warp& w, const WaitFor& o, Mask m) {
  if (o.aligned && !gather_all(w, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  bool done = true;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t phase = w.cluster_phase[static_cast<size_t>(lane)];
    if (phase == 0) throw Fault{faults::cluster_wait_without_arrival, {}, lane};
    done &= cluster.barrier.phase >= phase;
  }
  for (Mask rest = m; rest; rest &= rest - 1) w.cluster_phase[static_cast<size_t>(first_lane(rest))] = 0;
  if (done) {
    cluster.watchers.tell(
        WaitEvent{WaitEvent::What::Passes, Wait::ClusterBarrier, w, m, w.split().pc, kClusterBarrier});
    return Flow::Next;
  }
  isolate(w, m);
  cluster.barrier.waiters.push_back({&w, w.current});
  return block(w, Wait::ClusterBarrier);
}

constexpr Mnemonic kMnemonics[] = {
    {"barrier.cluster.arrive",
     [](Decoder& d) { d.emit<arrive>({.aligned = d.has("aligned"), .releases = !d.has("relaxed")}); }},
    {"barrier.cluster.wait", [](Decoder& d) { d.emit<wait>({.aligned = d.has("aligned")}); }},
};
constexpr std::string_view kIgnored[] = {"release", "acquire"};

}  // namespace

void check_cluster_barrier(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0 || barrier.arrived < cluster.live_threads) return;
  barrier.arrived = 0;
  ++barrier.phase;
  ++cluster.changes;
  cluster.watchers.tell(PhaseEvent{cluster, kClusterBarrier});
  std::vector<ClusterBarrier::Waiter> woken;
  woken.swap(barrier.waiters);
  for (const ClusterBarrier::Waiter& waiter : woken) {
    const Split& split = waiter.warp->splits[waiter.split];
    cluster.watchers.tell(
        WaitEvent{WaitEvent::What::Wakes, Wait::ClusterBarrier, *waiter.warp, split.mask, split.pc, kClusterBarrier});
    resume(*waiter.warp, waiter.split, static_cast<uint64_t>(cluster.costs().cluster_barrier));
  }
}

constinit const Family families::cluster_barrier{
    .mnemonics = kMnemonics,
    .ignored = kIgnored,
    .manner = {.orders = Manner::Orders::Barrier, .acquires = true, .releases = true, .alone = kNoEffect}};

}  // namespace sim
