#include "machine/cluster.h"

#include "machine/wake.h"
#include "timing/recorder.h"

namespace sim {
namespace {

const char* name_of(BarrierEffect effect) {
  switch (effect) {
    case BarrierEffect::Arrive: return "arrive";
    case BarrierEffect::ArriveDrop: return "arrive_drop";
    case BarrierEffect::ExpectTx: return "expect_tx";
    case BarrierEffect::CompleteTx: return "complete_tx";
  }
  return "";
}

}  // namespace

void apply(Cluster& cluster, uint32_t cta_rank, uint32_t offset, BarrierEffect effect, uint32_t amount,
           const Origin& origin, bool asynchronous) {
  const auto where = [&] {
    return "the mbarrier of CTA " + std::to_string(cta_rank) + " at shared offset " + std::to_string(offset);
  };
  if (cta_rank >= cluster.ctas.size()) {
    throw Fault{Status::IllegalAddress, "CTA rank " + std::to_string(cta_rank) + " does not exist in this cluster of " +
                                            std::to_string(cluster.ctas.size())};
  }
  Cta& cta = cluster.ctas[cta_rank];
  if (cta.exited) {
    throw Fault{Status::LaunchFailure, "CTA " + std::to_string(cta_rank) + " has exited, but " + where() +
                                           " is still signalled: the cluster needs a barrier after the last such "
                                           "signal has arrived (cluster target block not present)"};
  }
  Mbarrier* barrier = cta.find_barrier(offset);
  if (barrier == nullptr) {
    throw Fault{Status::LaunchFailure, where() +
                                           " is not initialised: mbarrier.init, fence.mbarrier_init and a barrier "
                                           "of all CTAs concerned must come first"};
  }
  bool advance = false;
  const char* error = nullptr;
  switch (effect) {
    case BarrierEffect::Arrive: error = barrier->arrive(amount, &advance); break;
    case BarrierEffect::ArriveDrop: error = barrier->arrive_drop(amount, &advance); break;
    case BarrierEffect::ExpectTx: error = barrier->expect_tx(amount, &advance); break;
    case BarrierEffect::CompleteTx: error = barrier->complete_tx(amount, &advance); break;
  }
  if (error != nullptr) throw Fault{Status::LaunchFailure, where() + ": " + error};
  ++cluster.changes;
  if (cluster.recorder != nullptr) {
    cluster.recorder->barrier(name_of(effect), {BarrierName::Kind::Mbarrier, cta_rank, offset}, amount,
                              {barrier->phase, barrier->pending, barrier->tx, advance});
  }
  if (!advance) {
    using Kind = Mbarrier::Event::Kind;
    const Kind kind = effect == BarrierEffect::ExpectTx     ? Kind::ExpectTx
                      : effect == BarrierEffect::CompleteTx ? Kind::CompleteTx
                                                            : Kind::Arrive;
    barrier->record({kind, origin.cta_rank, static_cast<int16_t>(asynchronous ? -1 : origin.warp), amount, origin.pc});
    return;
  }
  // Whoever waits here waits for the phase that has just completed: any other would not have made it wait.
  std::vector<Mbarrier::Waiter> woken;
  woken.swap(barrier->waiters);
  if (!woken.empty()) barrier->observed = true;
  for (const Mbarrier::Waiter& waiter : woken) resume(*waiter.warp, waiter.split, cluster.costs().mbarrier);
}

}  // namespace sim
