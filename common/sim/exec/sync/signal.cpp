#include "exec/sync/signal.h"

#include "exec/core/submit.h"
#include "machine/address.h"

namespace sim {

void deliver(Cluster& cluster, uint32_t rank, uint32_t offset, const BarrierSignal& signal, const Origin& origin,
             bool asynchronous) {
  using Tx = BarrierSignal::Tx;
  if (signal.tx != Tx::None) {
    apply(cluster, rank, offset, signal.tx == Tx::Expect ? BarrierEffect::ExpectTx : BarrierEffect::CompleteTx,
          signal.bytes, origin, asynchronous);
  }
  if (signal.arrives) {
    apply(cluster, rank, offset, signal.drops ? BarrierEffect::ArriveDrop : BarrierEffect::Arrive, signal.arrivals,
          origin, asynchronous);
  }
}

void signal_barrier(Warp& w, int lane, uint32_t address, const BarrierSignal& signal) {
  Cluster& cluster = cluster_of(w);
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  if (rank == w.cta->rank) {
    deliver(cluster, rank, offset, signal, origin_of(w, lane), false);
    return;
  }
  auto remote = std::make_unique<RemoteSignal>();
  remote->rank = rank, remote->offset = offset, remote->signal = signal, remote->issuer = &w;
  ++w.signals_in_flight;
  submit(w, lane, std::move(remote), {.latency = static_cast<uint64_t>(cluster.costs().remote_arrive)});
}

void RemoteSignal::complete(Cluster& cluster) {
  deliver(cluster, rank, offset, signal, origin, asynchronous);
  if (issuer == nullptr || --issuer->signals_in_flight > 0) return;
  for_waiting(*issuer, Wait::Signals, [&](uint8_t split) { retry(*issuer, split, 0); });
}

}  // namespace sim
