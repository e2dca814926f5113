#include "exec/sync/signal.h"

#include "exec/core/report.h"
#include "exec/core/submit.h"
#include "machine/address.h"

namespace sim {
namespace {

BarrierEvent::What event_of(BarrierEffect effect) {
  switch (effect) {
    case BarrierEffect::Arrive: return BarrierEvent::What::Arrive;
    case BarrierEffect::ArriveDrop: return BarrierEvent::What::ArriveDrop;
    case BarrierEffect::ExpectTx: return BarrierEvent::What::ExpectTx;
    case BarrierEffect::CompleteTx: break;
  }
  return BarrierEvent::What::CompleteTx;
}

}  // namespace

void apply(Cluster& cluster, uint32_t cta_rank, uint32_t offset, BarrierEffect effect, uint32_t amount,
           const Origin& origin, bool asynchronous, const std::shared_ptr<Mark>& mark) {
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
                         (is_own ? "a thread must wait for its last commit before the CTA ends"
                          : cluster.ctas.size() > 1
                              ? "the cluster needs a barrier after the last such signal has arrived (cluster target "
                                "block not present)"
                              : "one of its threads must wait for the last such signal before it ends")};
    if (!is_own) throw gone;
    return tolerate_violation(cluster, Habit::ExitBeforeOwnCommit, gone, nullptr, &origin);
  }
  Mbarrier* barrier = cta.find_barrier(offset);
  if (barrier == nullptr) {
    throw Fault{Status::LaunchFailure, where() + " is not valid: " + why_not_valid(cta, offset)};
  }
  const Watchers& watchers = cluster.watchers;
  if (mark) {
    watchers.tell(SignalEvent{
        .what = SignalEvent::What::Delivered, .cluster = cluster, .rank = cta_rank, .offset = offset, .mark = mark});
  }
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
  const BarrierName name{BarrierName::Kind::Mbarrier, cta_rank, offset};
  if (watchers.want(EventKind::Barrier)) {
    watchers.tell(BarrierEvent{
        event_of(effect), cluster, name, amount, {barrier->phase, barrier->pending, barrier->tx, advance}});
  }
  using Kind = Mbarrier::Event::Kind;
  const Kind kind = effect == BarrierEffect::ExpectTx     ? Kind::ExpectTx
                    : effect == BarrierEffect::CompleteTx ? Kind::CompleteTx
                                                          : Kind::Arrive;
  barrier->record({kind, origin.cta_rank, static_cast<int16_t>(asynchronous ? -1 : origin.warp), amount, origin.pc},
                  advance);
  if (!advance) return;
  watchers.tell(PhaseEvent{cluster, name});
  // A waiting warp waits for the phase that has just completed: a wait for any other phase does not block.
  std::vector<Mbarrier::Waiter> woken;
  woken.swap(barrier->waiters);
  if (!woken.empty()) barrier->observed = true;
  for (const Mbarrier::Waiter& waiter : woken) {
    if (watchers.want(EventKind::Wait)) {
      const Split& split = waiter.warp->splits[waiter.split];
      watchers.tell(WaitEvent{WaitEvent::What::Wakes, Wait::Mbarrier, *waiter.warp, split.mask, split.pc, name, 0,
                              split.arguments[1]});
    }
    resume(*waiter.warp, waiter.split, static_cast<uint64_t>(cluster.costs().mbarrier));
  }
}

void deliver(Cluster& cluster, uint32_t rank, uint32_t offset, const BarrierSignal& signal, const Origin& origin,
             bool asynchronous, const std::shared_ptr<Mark>& mark) {
  using Tx = BarrierSignal::Tx;
  if (signal.tx != Tx::None) {
    apply(cluster, rank, offset, signal.tx == Tx::Expect ? BarrierEffect::ExpectTx : BarrierEffect::CompleteTx,
          signal.bytes, origin, asynchronous, signal.arrives ? nullptr : mark);
  }
  if (signal.arrives) {
    apply(cluster, rank, offset, signal.drops ? BarrierEffect::ArriveDrop : BarrierEffect::Arrive, signal.arrivals,
          origin, asynchronous, mark);
  }
}

uint64_t open_cluster_phase(Warp& w, int lane) {
  const uint32_t phase = cluster_of(w).barrier.phase;
  return w.cluster_phase[static_cast<size_t>(lane)] == phase + 1 ? ~uint64_t{0} : phase;
}

void signal_barrier(Warp& w, int lane, uint32_t address, const BarrierSignal& signal) {
  Cluster& cluster = cluster_of(w);
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  SignalEvent told{SignalEvent::What::Thread, cluster, rank, offset, &w, lane};
  if (cluster.watchers.want(EventKind::Signal)) {
    if (signal.tx == BarrierSignal::Tx::Expect) told.expected = signal.bytes, told.expects = true;
    if (signal.arrives) told.arrivals = signal.arrivals;
    cluster.watchers.tell(told);
  }
  if (rank == w.cta->rank) {
    deliver(cluster, rank, offset, signal, origin_of(w, lane), false, told.mark);
    return;
  }
  auto remote = std::make_unique<RemoteSignal>();
  remote->mark = std::move(told.mark);
  remote->rank = rank, remote->offset = offset, remote->signal = signal, remote->issuer = &w;
  remote->cluster_phase = open_cluster_phase(w, lane);
  ++w.signals_in_flight;
  submit(w, lane, std::move(remote), {.latency = static_cast<uint64_t>(cluster.costs().remote_arrive)});
}

void RemoteSignal::complete(Cluster& cluster) {
  if (asynchronous && rank < cluster.ctas.size() && cluster.ctas[rank].exited &&
      cluster.barrier.phase > cluster_phase) {
    const Fault gone{Status::LaunchFailure, subject(cluster.ctas[rank]) +
                                                " has exited before a tcgen05.commit has arrived at its mbarrier: one "
                                                "of its threads must wait for the last commit before it ends"};
    return tolerate_violation(cluster, Habit::ExitBeforeOwnCommit, gone, nullptr, &origin);
  }
  // A cluster barrier after the signal let the other CTA exit. Its arrival was relaxed, because a release waits for
  // signals.
  if (issuer != nullptr && rank < cluster.ctas.size() && cluster.ctas[rank].exited &&
      cluster.barrier.phase > cluster_phase) {
    const Fault gone{Status::LaunchFailure,
                     subject(cluster.ctas[rank]) +
                         " has exited before an arrival at its mbarrier: the cluster barrier after the arrival is "
                         "relaxed, and barrier.cluster.arrive.release is required"};
    tolerate_violation(cluster, Habit::RelaxedClusterExit, gone, nullptr, &origin);
    --issuer->signals_in_flight;
    return;
  }
  deliver(cluster, rank, offset, signal, origin, asynchronous, mark);
  if (issuer == nullptr || --issuer->signals_in_flight > 0) return;
  for_waiting(*issuer, Wait::Signals, [&](uint8_t split) { retry(*issuer, split, 0); });
}

}  // namespace sim
