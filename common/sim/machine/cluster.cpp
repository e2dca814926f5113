#include "machine/cluster.h"

#include "check/observer.h"
#include "check/report.h"
#include "machine/wake.h"
#include "timing/demand.h"
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

bool forgive(const Cluster& cluster, order::Habit habit, const Fault& what, const Warp* warp, const Origin* origin) {
  const Launch& launch = *cluster.launch;
  if (launch.tolerated.contains(habit)) return true;
  if (!launch.lenient) return false;
  Fault named = what;
  named.message += std::string(" (habit ") + order::text_of(habit).name + ")";
  cluster.scheduler->remark(habit, named, warp, origin);
  return true;
}

void apply(Cluster& cluster, uint32_t cta_rank, uint32_t offset, BarrierEffect effect, uint32_t amount,
           const Origin& origin, bool asynchronous, const order::Signal* signal) {
  if (cta_rank >= cluster.ctas.size()) {
    throw Fault{Status::IllegalAddress, "CTA rank " + std::to_string(cta_rank) + " does not exist in this cluster of " +
                                            std::to_string(cluster.ctas.size())};
  }
  Cta& cta = cluster.ctas[cta_rank];
  const auto where = [&] { return "the mbarrier at " + name_of_shared(cta, offset) + " of " + name_of(cta); };
  if (cta.exited) {
    const bool is_own = origin.cta_rank == cta_rank && asynchronous && effect == BarrierEffect::Arrive;
    const Fault gone{Status::LaunchFailure,
                     subject(cta) + " has exited, but " + where() + " is still signalled: " +
                         (is_own ? "somebody must wait for its last commit before"
                                 : "the cluster needs a barrier after the last such signal has arrived (cluster target "
                                   "block not present)")};
    if (is_own && forgive(cluster, order::Habit::ExitBeforeOwnCommit, gone, nullptr, &origin)) return;
    throw gone;
  }
  Mbarrier* barrier = cta.find_barrier(offset);
  if (barrier == nullptr) {
    throw Fault{Status::LaunchFailure, where() +
                                           " is not initialised: mbarrier.init, fence.mbarrier_init and a barrier "
                                           "of all CTAs concerned must come first"};
  }
  if (cluster.observer != nullptr && signal != nullptr) cluster.observer->delivered(cta, offset, *signal);
  bool advance = false;
  const char* error = nullptr;
  switch (effect) {
    case BarrierEffect::Arrive: error = barrier->arrive(amount, &advance); break;
    case BarrierEffect::ArriveDrop: error = barrier->arrive_drop(amount, &advance); break;
    case BarrierEffect::ExpectTx: error = barrier->expect_tx(amount, &advance); break;
    case BarrierEffect::CompleteTx: error = barrier->complete_tx(amount, &advance); break;
  }
  if (error != nullptr) {
    std::string why = where() + ": " + error;
    if (effect == BarrierEffect::Arrive || effect == BarrierEffect::ArriveDrop)
      why += ": " + describe_phase(cluster, *barrier) +
             ". A wait (mbarrier.try_wait) for this phase is missing before the arrival of the next, or mbarrier.init "
             "counts too few";
    throw Fault{Status::LaunchFailure, why};
  }
  ++cluster.changes;
  if (cluster.recorder != nullptr) {
    cluster.recorder->barrier(name_of(effect), {BarrierName::Kind::Mbarrier, cta_rank, offset}, amount,
                              {barrier->phase, barrier->pending, barrier->tx, advance});
  }
  using Kind = Mbarrier::Event::Kind;
  const Kind kind = effect == BarrierEffect::ExpectTx     ? Kind::ExpectTx
                    : effect == BarrierEffect::CompleteTx ? Kind::CompleteTx
                                                          : Kind::Arrive;
  barrier->record({kind, origin.cta_rank, static_cast<int16_t>(asynchronous ? -1 : origin.warp), amount, origin.pc},
                  advance);
  if (!advance) return;
  if (cluster.observer != nullptr) cluster.observer->phase_completed(cta, offset);
  // Whoever waits here waits for the phase that has just completed: any other would not have made it wait.
  std::vector<Mbarrier::Waiter> woken;
  woken.swap(barrier->waiters);
  if (!woken.empty()) barrier->observed = true;
  for (const Mbarrier::Waiter& waiter : woken) {
    if (cluster.observer != nullptr) {
      const Split& split = waiter.warp->splits[waiter.split];
      cluster.observer->waited(*waiter.warp, split.mask, offset, split.pc);
    }
    if (cluster.demands != nullptr) {
      const Split& split = waiter.warp->splits[waiter.split];
      cluster.demands->note_at(*waiter.warp, split.pc, timing::Step::What::Wait, cta_rank, offset / 8,
                               split.arguments[1]);
    }
    resume(*waiter.warp, waiter.split, static_cast<uint64_t>(cluster.costs().mbarrier));
  }
}

}  // namespace sim
