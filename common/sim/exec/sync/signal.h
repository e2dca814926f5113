// Signals to mbarriers: at once, or through the cluster.
#pragma once

#include <memory>
#include <string>

#include "exec/core/op.h"

namespace sim {

/// Effects on mbarriers. Below, `offset` is the one in the CTA, and `mark` is what a watcher has attached to an
/// arrival; the functions throw Fault on misuse.
enum class BarrierEffect { Arrive, ArriveDrop, ExpectTx, CompleteTx };
void apply(Cluster& cluster, uint32_t cta_rank, uint32_t offset, BarrierEffect effect, uint32_t amount,
           const Origin& origin, bool asynchronous, const std::shared_ptr<Mark>& mark = nullptr);

/// The effect of an instruction on a barrier: first the change of the byte count, then the arrival.
struct BarrierSignal {
  enum class Tx : uint8_t { None, Expect, Complete } tx = Tx::None;
  uint32_t bytes = 0;
  bool arrives = false;
  uint32_t arrivals = 1;
  bool drops = false;  ///< arrive_drop
};

/// `asynchronous`: the signal comes from an operation, not from a thread; reports distinguish the two.
void deliver(Cluster& cluster, uint32_t rank, uint32_t offset, const BarrierSignal& signal, const Origin& origin,
             bool asynchronous, const std::shared_ptr<Mark>& mark);

/// The cluster barrier's phase, if this lane has not arrived in it yet: its completion will come after what the lane
/// does now.
uint64_t open_cluster_phase(Warp& w, int lane);

/// Signals the barrier at a shared address for this lane; at once if the barrier is its own CTA's.
void signal_barrier(Warp& w, int lane, uint32_t address, const BarrierSignal& signal);

/// A signal in flight: to another CTA, or from tcgen05.commit.
class RemoteSignal final : public AsyncOperation {
 public:
  uint32_t rank = 0, offset = 0;
  BarrierSignal signal;
  uint64_t commit = 0;             ///< of tcgen05.commit: a number, greater than those of its thread's earlier ones
  Warp* issuer = nullptr;          ///< the sending thread's warp, or null; counted in Warp::signals_in_flight
  uint64_t cluster_phase = ~0ull;  ///< open_cluster_phase of the sending thread
  void complete(Cluster& cluster) override;
  bool only_arrives() const override { return true; }
  std::string describe() const override {
    return "signal to the mbarrier of CTA " + std::to_string(rank) + " +" + base::hex(offset);
  }

 private:
  bool is_overtaken(Cluster& cluster) const;
};

}  // namespace sim
