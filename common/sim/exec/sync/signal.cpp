#include "exec/sync/signal.h"

#include "check/observer.h"
#include "check/report.h"
#include "exec/core/submit.h"
#include "machine/address.h"

namespace sim {

void deliver(Cluster& cluster, uint32_t rank, uint32_t offset, const BarrierSignal& signal, const Origin& origin,
             bool asynchronous, const order::Operation* watched) {
  const order::Signal* const brings = watched != nullptr ? &watched->signal : nullptr;
  using Tx = BarrierSignal::Tx;
  if (signal.tx != Tx::None) {
    apply(cluster, rank, offset, signal.tx == Tx::Expect ? BarrierEffect::ExpectTx : BarrierEffect::CompleteTx,
          signal.bytes, origin, asynchronous, signal.arrives ? nullptr : brings);
  }
  if (signal.arrives) {
    apply(cluster, rank, offset, signal.drops ? BarrierEffect::ArriveDrop : BarrierEffect::Arrive, signal.arrivals,
          origin, asynchronous, brings);
  }
}

void signal_barrier(Warp& w, int lane, uint32_t address, const BarrierSignal& signal) {
  Cluster& cluster = cluster_of(w);
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  std::shared_ptr<order::Operation> watched;
  if (cluster.observer != nullptr) {
    watched = std::make_shared<order::Operation>();
    watched->signal = cluster.observer->signal(w, lane);
  }
  if (rank == w.cta->rank) {
    deliver(cluster, rank, offset, signal, origin_of(w, lane), false, watched.get());
    return;
  }
  auto remote = std::make_unique<RemoteSignal>();
  remote->watched = std::move(watched);
  remote->rank = rank, remote->offset = offset, remote->signal = signal, remote->issuer = &w;
  if (w.cluster_phase[static_cast<size_t>(lane)] != cluster.barrier.phase + 1)
    remote->cluster_phase = cluster.barrier.phase;
  ++w.signals_in_flight;
  submit(w, lane, std::move(remote), {.latency = static_cast<uint64_t>(cluster.costs().remote_arrive)});
}

void RemoteSignal::complete(Cluster& cluster) {
  // A cluster barrier came after it, and let the other CTA go: it was relaxed, for a release waits for signals.
  if (issuer != nullptr && rank < cluster.ctas.size() && cluster.ctas[rank].exited &&
      cluster.barrier.phase > cluster_phase) {
    const Fault gone{Status::LaunchFailure,
                     subject(cluster.ctas[rank]) +
                         " has exited before an arrival at its mbarrier: the cluster barrier after the arrival is "
                         "relaxed, and barrier.cluster.arrive.release is required"};
    if (!forgive(cluster, order::Habit::RelaxedClusterExit, gone, nullptr, &origin)) throw gone;
    --issuer->signals_in_flight;
    return;
  }
  deliver(cluster, rank, offset, signal, origin, asynchronous, watched.get());
  if (issuer == nullptr || --issuer->signals_in_flight > 0) return;
  for_waiting(*issuer, Wait::Signals, [&](uint8_t split) { retry(*issuer, split, 0); });
}

}  // namespace sim
