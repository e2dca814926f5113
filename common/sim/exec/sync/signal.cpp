#include "exec/sync/signal.h"

#include <algorithm>
#include <utility>

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
  if (cta_rank >= cluster.ctas.size()) { throw Fault{faults::signal_to_no_cta, {cta_rank, cluster.ctas.size()}}; }
  Cta& cta = cluster.ctas[cta_rank];
  if (cta.exited) {
    const bool is_own = origin.cta_rank == cta_rank && asynchronous && effect == BarrierEffect::Arrive;
    const Fault gone{is_own                    ? faults::commit_after_exit
                     : cluster.ctas.size() > 1 ? faults::signal_after_exit_in_cluster
                                               : faults::signal_after_exit,
                     {name_of(cta), name_of_shared(cta, offset)}};
    if (!is_own) throw gone;
    return tolerate_violation(cluster, Habit::ExitBeforeOwnCommit, gone, nullptr, &origin);
  }
  Mbarrier* barrier = cta.find_barrier(offset);
  if (barrier == nullptr) throw no_mbarrier(cta, offset);
  const Watchers& watchers = cluster.watchers;
  if (mark) {
    watchers.tell(SignalEvent{
        .what = SignalEvent::What::Delivered, .cluster = cluster, .rank = cta_rank, .offset = offset, .mark = mark});
  }
  bool advance = false;
  bool is_possible = false;
  switch (effect) {
    case BarrierEffect::Arrive: is_possible = barrier->arrive(amount, &advance); break;
    case BarrierEffect::ArriveDrop: is_possible = barrier->arrive_drop(amount, &advance); break;
    case BarrierEffect::ExpectTx: is_possible = barrier->expect_tx(amount, &advance); break;
    case BarrierEffect::CompleteTx: is_possible = barrier->complete_tx(amount, &advance); break;
  }
  if (!is_possible) {
    Fault fault{effect == BarrierEffect::ExpectTx     ? faults::too_many_bytes_expected
                : effect == BarrierEffect::CompleteTx ? faults::too_many_bytes_delivered
                                                      : faults::too_many_arrivals,
                {name_of_shared(cta, offset), name_of(cta)}};
    fault.phase = state_of(cluster, *barrier);
    throw fault;
  }
  ++cluster.changes;
  const BarrierName name{BarrierName::Kind::Mbarrier, cta_rank, offset};
  if (watchers.want(EventKind::Barrier)) {
    watchers.tell(BarrierEvent{
        event_of(effect), cluster, name, amount, {barrier->phase, barrier->pending, barrier->tx, advance}});
  }
  using Kind = Contribution::Kind;
  const Kind kind = effect == BarrierEffect::ExpectTx     ? Kind::ExpectTx
                    : effect == BarrierEffect::CompleteTx ? Kind::CompleteTx
                                                          : Kind::Arrive;
  barrier->record({kind, origin.cta_rank, static_cast<int16_t>(asynchronous ? -1 : origin.warp), amount, origin.pc},
                  advance);
  if (!advance) return;
  watchers.tell(PhaseEvent{cluster, name});
  // A waiting warp waits for the phase that has just completed: a wait for any other phase does not block.
  for (const Mbarrier::Waiter& waiter : std::exchange(barrier->waiters, {})) {
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

/// Whether this commit comes to an mbarrier of its CTA that has been invalidated since a later one has arrived.
bool RemoteSignal::is_overtaken(Cluster& cluster) const {
  Cta& own = cluster.ctas[origin.cta_rank];
  uint64_t& last = own.last_commits[origin.warp * 32u + origin.lane];
  last = std::max(last, commit);
  return commit < last && rank == origin.cta_rank && !own.exited && cluster.invalidated.contains({rank, offset});
}

void RemoteSignal::complete(Cluster& cluster) {
  const bool asynchronous = commit != 0;
  if (asynchronous && is_overtaken(cluster)) {
    const Fault gone = no_mbarrier(cluster.ctas[rank], offset);
    return tolerate_violation(cluster, Habit::ExitBeforeOwnCommit, gone, nullptr, &origin);
  }
  if (asynchronous && rank < cluster.ctas.size() && cluster.ctas[rank].exited &&
      cluster.barrier.phase > cluster_phase) {
    const Fault gone{faults::exit_before_commit, {name_of(cluster.ctas[rank])}};
    return tolerate_violation(cluster, Habit::ExitBeforeOwnCommit, gone, nullptr, &origin);
  }
  // A cluster barrier after the signal let the other CTA exit. Its arrival was relaxed, because a release waits for
  // signals.
  if (issuer != nullptr && rank < cluster.ctas.size() && cluster.ctas[rank].exited &&
      cluster.barrier.phase > cluster_phase) {
    const Fault gone{faults::exit_before_relaxed_arrival, {name_of(cluster.ctas[rank])}};
    tolerate_violation(cluster, Habit::RelaxedClusterExit, gone, nullptr, &origin);
    --issuer->signals_in_flight;
    return;
  }
  deliver(cluster, rank, offset, signal, origin, asynchronous, mark);
  if (issuer == nullptr || --issuer->signals_in_flight > 0) return;
  for_waiting(*issuer, Wait::Signals, [&](uint8_t split) { retry(*issuer, split, 0); });
}

}  // namespace sim
