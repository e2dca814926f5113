// Signals to mbarriers: at once, or through the cluster.
#pragma once

#include <memory>
#include <string>

#include "exec/core/op.h"

namespace sim {

/// Effects on mbarriers, wherever they come from. `offset` is that in the CTA; throw Fault on misuse. `mark`: what a
/// watcher has attached to an arrival.
enum class BarrierEffect { Arrive, ArriveDrop, ExpectTx, CompleteTx };
void apply(Cluster& cluster, uint32_t cta_rank, uint32_t offset, BarrierEffect effect, uint32_t amount,
           const Origin& origin, bool asynchronous, const std::shared_ptr<Mark>& mark = nullptr);

/// What an instruction does to a barrier: it changes the byte count, then it arrives.
struct BarrierSignal {
  enum class Tx : uint8_t { None, Expect, Complete } tx = Tx::None;
  uint32_t bytes = 0;
  bool arrives = false;
  uint32_t arrivals = 1;
  bool drops = false;  ///< arrive_drop
};

/// `asynchronous`: not the act of a thread; reports say so.
void deliver(Cluster& cluster, uint32_t rank, uint32_t offset, const BarrierSignal& signal, const Origin& origin,
             bool asynchronous, const std::shared_ptr<Mark>& mark);

/// A signal of this lane to the barrier at a shared address: at once if that is its own CTA's.
void signal_barrier(Warp& w, int lane, uint32_t address, const BarrierSignal& signal);

/// A signal on its way: to another CTA, or from tcgen05.commit.
class RemoteSignal final : public AsyncOperation {
 public:
  uint32_t rank = 0, offset = 0;
  BarrierSignal signal;
  bool asynchronous = false;
  Warp* issuer = nullptr;          ///< whose thread sent it, if a thread did; counted in Warp::signals_in_flight
  uint64_t cluster_phase = ~0ull;  ///< of the cluster barrier at which that thread had still to arrive then
  void complete(Cluster& cluster) override;
  bool only_arrives() const override { return true; }
  std::string describe() const override {
    return "signal to the mbarrier of CTA " + std::to_string(rank) + " +" + base::hex(offset);
  }
};

}  // namespace sim
