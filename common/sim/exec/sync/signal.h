// Signals that travel to an mbarrier.
#pragma once

#include <string>

#include "exec/core/op.h"

namespace sim {

/// An arrival, or a change of the byte count, at a barrier of the cluster: from another CTA, or from tcgen05.commit.
class RemoteSignal final : public AsyncOperation {
 public:
  uint32_t rank = 0, offset = 0, count = 0, bytes = 0;
  bool arrives = false, expects = false, drops = false;
  bool asynchronous = false;  ///< not the act of a thread: reports say so
  Warp* issuer = nullptr;     ///< whose thread sent it, if a thread did; counted in Warp::signals_in_flight
  void complete(Cluster& cluster) override {
    if (expects) apply(cluster, rank, offset, BarrierEffect::ExpectTx, bytes, origin, asynchronous);
    if (arrives)
      apply(cluster, rank, offset, drops ? BarrierEffect::ArriveDrop : BarrierEffect::Arrive, count, origin,
            asynchronous);
    if (!expects && bytes > 0) apply(cluster, rank, offset, BarrierEffect::CompleteTx, bytes, origin, asynchronous);
    if (issuer == nullptr || --issuer->signals_in_flight > 0) return;
    for_waiting(*issuer, Wait::Signals, [&](uint8_t split) { retry(*issuer, split, 0); });
  }
  std::string describe() const override {
    return "signal to the mbarrier of CTA " + std::to_string(rank) + " +" + hex(offset);
  }
};

}  // namespace sim
