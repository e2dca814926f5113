// The life of CTAs, and order among threads: fences, barriers of warps, CTAs and clusters, mbarriers.
#include "check/order/race_detector.h"

#include <algorithm>
#include <bit>

#include "check/order/judge.h"
#include "check/order/launches.h"

namespace sim::order {

RaceDetector::RaceDetector(Findings& findings, const ProgramNames& names, Clock start)
    : findings_(findings), names_(names), start_(std::move(start)) {}
RaceDetector::~RaceDetector() = default;

// ---- life

CtaKnowledge& RaceDetector::begin(GridPosition place, uint32_t rank, uint32_t threads) {
  auto& slot = ctas_[place.cta];
  slot = std::make_unique<CtaKnowledge>();
  CtaKnowledge& cta = *slot;
  cta.place = place;
  cta.rank = rank;
  const auto count = static_cast<uint16_t>((threads + 31) / 32);
  cta.rows = count;
  cta.warps.reserve(count);
  for (uint16_t i = 0; i < count; ++i) {
    const uint32_t here = std::min(32u, threads - 32u * i);
    cta.warps.emplace_back(place, i, count, here == 32 ? kAll : (1u << here) - 1);
    cta.warps.back().update(kAll, [&](Knowledge& knows, Mask) { knows.now = knows.tensor = start_; });
    cta.warps.back().act();  // its start, which other CTAs may have to know
  }
  return cta;
}

void RaceDetector::exit(const By& by) {
  WarpKnowledge& warp = by.threads();
  warp.close(by.lanes, by.pc, SyncEvent::Kind::Exit);
  by.cta.end = by.cta.end.join(warp.published(by.lanes));
  warp.live &= ~by.lanes;
}

// ---- fences

void RaceDetector::fence(const By& by, Scope scope, bool acquires, bool releases, bool restricted) {
  WarpKnowledge& warp = by.threads();
  if (acquires) {
    warp.update(by.lanes, [&](Knowledge& knows, Mask) {
      if (knows.seen.empty()) return;
      knows.aside.add(knows.seen.aside());
      Clock& acquired = restricted ? knows.aside.shared : knows.now;
      acquired = knows.seen.acquired_by(acquired, by.cta.place, scope);
      if (!restricted) knows.seen.clear();
    });
  }
  if (!releases) return;
  flags_are_heard_ |= scope == Scope::Gpu;
  // The fence covers everything before it; position 1 even if nothing has been done yet.
  const Tick tick = std::max<Tick>(warp.close(by.lanes, by.pc, SyncEvent::Kind::Fence), 1);
  warp.update(by.lanes, [&](Knowledge& knows, Mask) {
    if (scope == Scope::Gpu) {
      knows.self[0].at[kPerformed] = tick;
      for (size_t own = 1; own < kOwn; ++own) knows.self[own].at[kPerformed] = knows.self[own].at[kVisible];
    }
    auto* const fenced = new Fenced{knows.now, knows.self};
    fenced->self[0] = later(fenced->self[0], entry(tick, kDone));
    fenced->restricted = restricted;
    const Ref<const Fenced> shared(fenced);
    for (size_t i = 0; i <= static_cast<size_t>(scope); ++i) knows.fenced[i] = shared;
  });
}

void RaceDetector::fence_proxy_async(const By& by, bool shared, bool global, bool peers) {
  WarpKnowledge& warp = by.threads();
  const Tick tick = warp.close(by.lanes, by.pc, SyncEvent::Kind::ProxyFence, shared, global);
  const Fields readers = (shared ? 1u << kReaderShared : 0u) | (global ? 1u << kReaderGlobal : 0u);
  const Fields fields = (shared ? 1u << kAsyncShared : 0u) | (peers ? 1u << kAsyncPeers | 1u << kReaderShared : 0u) |
                        (global ? 1u << kAsyncGlobal | 1u << kReaderGlobal : 0u);
  warp.update(by.lanes, [&](Knowledge& knows, Mask lanes) {
    const Tick copies = warp.own_position(knows, Own::Copies, lanes, kVisible);
    knows.self[static_cast<size_t>(Own::Threads)] = later(knows.self[0], entry(tick, fields));
    auto& own_copies = knows.self[static_cast<size_t>(Own::Copies)];
    own_copies = later(own_copies, entry(copies, fields));
    knows.now = knows.now.fenced(readers);
  });
  if (!shared) return;
  for (auto& [offset, barrier] : by.cta.barriers) {
    const RecordedAccess& init = accesses_[barrier.init];
    if (init.cta == by.cta.place.cta && init.row == by.warp && init.lanes & by.lanes) barrier.fenced = true;
  }
}

void RaceDetector::fence_barrier_init(const By& by) {
  by.threads().close(by.lanes, by.pc, SyncEvent::Kind::Fence);
  for (auto& [offset, barrier] : by.cta.barriers) {
    const RecordedAccess& init = accesses_[barrier.init];
    if (init.cta == by.cta.place.cta && init.row == by.warp && init.lanes & by.lanes) barrier.fenced = true;
  }
}

void RaceDetector::fence_before_thread_sync(const By& by) {
  WarpKnowledge& warp = by.threads();
  const Tick tick = warp.close(by.lanes, by.pc, SyncEvent::Kind::TensorFence);
  warp.update(by.lanes, [&](Knowledge& knows, Mask lanes) {
    knows.self[static_cast<size_t>(Own::Threads)].at[kCarried] = tick;
    for (const Own own : {Own::TensorLoads, Own::TensorStores}) {
      Tick& carried = knows.self[static_cast<size_t>(own)].at[kCarried];
      carried = std::max(carried, warp.own_position(knows, own, lanes, kHappened));
    }
  });
}

void RaceDetector::fence_after_thread_sync(const By& by) {
  by.threads().update(by.lanes, [](Knowledge& knows, Mask) { knows.tensor = knows.now; });
}

void RaceDetector::grid_wait(const By& by) {
  if (launch_ == nullptr) return;
  by.threads().update(by.lanes, [&](Knowledge& knows, Mask) { knows.now = launch_->after_wait(knows.now); });
}

// ---- lanes of a warp

void RaceDetector::sync_warp(const By& by) {
  WarpKnowledge& warp = by.threads();
  warp.meet(by.lanes, kAllFields, by.pc);
  warp.converge(by.lanes);
}

void RaceDetector::meet(const By& by) {
  if (!std::has_single_bit(by.lanes)) by.threads().meet(by.lanes, kAllButVisible, by.pc);
}

void RaceDetector::aligned(const By& by) {
  WarpKnowledge& warp = by.threads();
  if (!warp.together(by.lanes & warp.live)) {
    if (!findings_.tolerates(Habit::ImplicitReconvergence)) {
      const Findings::Key key = Findings::key(Habit::ImplicitReconvergence, names_.first_of_line(by.pc), 0);
      tell(key, by.cta.place.cluster, 0, [&] {
        Finding finding;
        finding.first = side(by);
        finding.violation = Violation::LanesMayHaveParted;
        finding.missing =
            missing_between(MissingLink::What::Reconvergence, warp.parted_at(by.lanes & warp.live), by.pc);
        return finding;
      });
    }
    warp.converge(by.lanes);  // reported only once
  }
  meet(by);
}

void RaceDetector::may_part(const By& by) {
  if (!std::has_single_bit(by.lanes)) by.threads().part(by.lanes, by.pc);
}

// ---- barriers of CTAs and clusters

Signal RaceDetector::signal(const By& by, bool releases, Scope scope) {
  WarpKnowledge& warp = by.threads();
  Signal signal;
  warp.close(by.lanes, by.pc, releases ? SyncEvent::Kind::Tells : SyncEvent::Kind::TellsRelaxed);
  signal.happened = warp.published(by.lanes);
  warp.act();
  signal.tick = warp.tick;  // the arrival's position
  signal.scope = scope;
  signal.from = by.cta.place;
  signal.warp = by.warp;
  signal.lanes = by.lanes;
  signal.pc = by.pc;
  warp.for_groups(by.lanes, [&](const Knowledge& knows, Mask) {
    signal.flags = signal.flags.join(knows.flags);
    signal.aside.add(knows.aside);
  });
  if (releases) {
    signal.released = signal.happened;
    return signal;
  }
  // A relaxed arrival releases only what came before a fence of its thread.
  warp.for_groups(by.lanes, [&](const Knowledge& knows, Mask lanes) {
    const Ref<const Fenced>& fence = knows.fenced[static_cast<size_t>(scope)];
    if (!fence) return;
    Clock& released = fence->restricted ? signal.aside.own_shared : signal.released;
    released = released.join(warp.released(*fence, lanes));
  });
  return signal;
}

namespace {

void note_participant(CtaKnowledge::Named& barrier, const By& by, bool waits) {
  for (CtaKnowledge::Named::Participant& each : barrier.participants) {
    if (each.warp == by.warp && each.pc == by.pc) {
      each.waits |= waits;
      return;
    }
  }
  barrier.participants.push_back({by.warp, by.pc, waits});
}

}  // namespace

void RaceDetector::barrier_arrive(const By& by, uint32_t id, bool whole_cta) {
  CtaKnowledge::Named& barrier = by.cta.named[id];
  WarpKnowledge& warp = by.threads();
  if (const Knowledge& knows = warp.groups()[0].knows;
      whole_cta && !knows.flags && !knows.aside && by.lanes == warp.exists) {
    warp.close(by.lanes, by.pc, SyncEvent::Kind::Tells);
    if (const std::vector<Clock::Update> own = warp.own_updates(); !own.empty())
      return barrier.open.add({by.cta.place, by.warp, by.lanes, by.pc, Scope::Cta, true, false}, knows.now, warp.warps,
                              own);
  }
  const Signal tells = signal(by, true, Scope::Cta);
  if (!whole_cta) {
    if (barrier.row == 0) barrier.row = by.cta.rows++, barrier.first = barrier.completed;
    // A thread can be sure to arrive in this phase only if it knows that the preceding one is complete.
    check_generation_known(by, id, barrier, tells.happened);
    note_participant(barrier, by, false);
    barrier.counted[0].push_back({by.cta.place.cta, by.warp, by.lanes, tells.tick});
  }
  barrier.open.add(tells);
}

void RaceDetector::barrier_complete(CtaKnowledge& cta, uint32_t id) {
  CtaKnowledge::Named& barrier = cta.named[id];
  ++barrier.completed;
  barrier.last = std::move(barrier.open);
  barrier.open = {};
  if (barrier.row == 0) return;
  std::swap(barrier.counted[0], barrier.counted[1]);
  barrier.counted[0].clear();
  const Entry position = entry(barrier.completed, kAllFields);
  barrier.last.add(
      Clock().with(cta.place.cta, static_cast<uint16_t>(cta.warps.size()), {{barrier.row, kAll, position}}));
}

void RaceDetector::barrier_pass(const By& by, uint32_t id) {
  CtaKnowledge::Named& barrier = by.cta.named[id];
  if (barrier.row != 0) {
    note_participant(barrier, by, true);
    for (const CtaKnowledge::Named::Unknown& each : std::exchange(barrier.unknown, {}))
      unknown_generation({by.cta, each.warp, each.lanes, each.pc}, id);
  }
  by.threads().update(by.lanes, [&](Knowledge& knows, Mask) {
    knows.now = barrier.last.acquired_by(knows.now, by.cta.place, Scope::Cta);
    knows.flags = knows.flags.join(barrier.last.flags());
    knows.aside.add(barrier.last.aside());
    knows.self = {};  // now part of `now`
  });
  by.threads().converge(by.lanes);
}

void RaceDetector::cluster_arrive(const By& by, bool releases) {
  clusters_[by.cta.place.cluster].open.add(signal(by, releases, Scope::Cluster));
}

void RaceDetector::cluster_complete(uint32_t cluster) {
  ClusterBarrier& barrier = clusters_[cluster];
  barrier.last = std::move(barrier.open);
  barrier.open = {};
}

void RaceDetector::cluster_pass(const By& by, bool acquires) {
  const ClusterBarrier& barrier = clusters_[by.cta.place.cluster];
  by.threads().update(by.lanes, [&](Knowledge& knows, Mask) {
    knows.now =
        barrier.last.acquired_by(knows.now, by.cta.place, acquires ? std::optional(Scope::Cluster) : std::nullopt);
    if (acquires) knows.aside.add(barrier.last.aside());
    if (!acquires) knows.seen.add(barrier.last, by.cta.place, Scope::Cluster);
    knows.flags = knows.flags.join(barrier.last.flags());
  });
}

// ---- mbarriers

void RaceDetector::barrier_init(const By& by, uint32_t offset) {
  BarrierChannel& barrier = by.cta.barriers[offset];
  // Lanes of one instruction may initialise the same barrier: the effect is the same.
  const RecordedAccess& first = accesses_[barrier.init];
  const bool is_unused = first.row == by.warp && barrier.counted[0].empty() && barrier.completed == barrier.first &&
                         barrier.waiters.empty() && barrier.coming.empty();
  const bool is_same = is_unused && first.pc == by.pc && !(first.lanes & by.lanes);
  const bool is_habit = is_unused && first.lanes == by.lanes;
  if (barrier.valid && !is_same) initialised_twice(by, offset, barrier, is_habit);
  barrier_write(by, offset, barrier);
  barrier.valid = true;
}

/// Initialisation or invalidation: nothing is known of the barrier's phases any more.
void RaceDetector::barrier_write(const By& by, uint32_t offset, BarrierChannel& barrier) {
  if (barrier.row == 0) barrier.row = by.cta.rows++;
  by.threads().act();
  RecordedAccess access = made_by(by, Role::BarrierInit, Proxy::Generic);
  access.writes = true;
  const uint32_t number = record(std::move(access));
  by.threads().for_groups(by.lanes, [&](const Knowledge& knows, Mask lanes) {
    const Context context{by, by.threads(), knows, lanes, false, false};
    touch(by.cta.shared, {offset, offset + 8u}, number, context);
  });
  barrier.init = number;
  barrier.fenced = false;
  barrier.first = barrier.completed;
  barrier.open = barrier.last = {};
  barrier.waiters.clear();
  barrier.arrivals.clear();
  for (std::vector<Counted>& each : barrier.counted) each.clear();
}

void RaceDetector::barrier_invalidate(const By& by, uint32_t offset) {
  BarrierChannel& barrier = by.cta.barriers[offset];
  by.threads().close();  // includes the thread's own waits
  check_unwaited(by, offset, barrier);
  check_settled(by, offset, barrier);
  barrier_write(by, offset, barrier);
  barrier.valid = false;
}

void RaceDetector::arrived(CtaKnowledge& target, uint32_t offset, const Signal& signal) {
  BarrierChannel& barrier = target.barriers[offset];
  const By by{*ctas_.at(signal.from.cta), signal.warp, signal.lanes, signal.pc};
  const auto comes = std::find_if(barrier.coming.begin(), barrier.coming.end(), [&](const auto& each) {
    return each.cta == signal.from.cta && each.warp == signal.warp && each.pc == signal.pc;
  });
  if (comes != barrier.coming.end()) barrier.coming.erase(comes);
  if (barrier.completed > barrier.first)
    check_phase_known(by, target, offset, barrier, signal.happened, barrier.completed, false);
  else if (!signal.unscoped)
    check_exists(by, target, offset, barrier, signal);
  barrier.open.add(signal);
  if (signal.queue != 0)
    barrier.counted[0].push_back({signal.from.cta, signal.queue, kAll, signal.queue_position});
  else
    barrier.counted[0].push_back({signal.from.cta, signal.warp, signal.lanes, signal.unscoped ? 0 : signal.tick});
  BarrierChannel::Arrival arrival{signal.from.cta,       signal.warp,     signal.lanes, signal.tick,          signal.pc,
                                  barrier.completed + 1, signal.unscoped, signal.queue, signal.queue_position};
  // A thread's later arrival implies its earlier ones.
  const auto same =
      std::find_if(barrier.arrivals.begin(), barrier.arrivals.end(), [&](const BarrierChannel::Arrival& each) {
        return each.cta == arrival.cta && each.row == arrival.row && each.lanes == arrival.lanes &&
               each.asynchronous == arrival.asynchronous;
      });
  if (same != barrier.arrivals.end())
    *same = arrival;
  else
    barrier.arrivals.push_back(arrival);
}

void RaceDetector::phase_complete(CtaKnowledge& target, uint32_t offset) {
  BarrierChannel& barrier = target.barriers[offset];
  // The waits for the preceding phase must be known to have ended: they could find the parity flipped again otherwise.
  for (const BarrierChannel::Waiter& waiter : barrier.waiters) {
    const Mask missing =
        waiter.lanes & ~barrier.open.happened().known(waiter.cta, waiter.warp, waiter.lanes, waiter.tick, kPassed);
    if (missing != 0) lapped(target, offset, barrier, waiter, missing);
  }
  barrier.waiters.clear();
  ++barrier.completed;
  barrier.last = std::move(barrier.open);
  barrier.open = {};
  std::rotate(barrier.counted.begin(), barrier.counted.end() - 1, barrier.counted.end());
  barrier.counted[0].clear();
  const Entry position = entry(barrier.completed, kAllFields);
  barrier.last.add(
      Clock().with(target.place.cta, static_cast<uint16_t>(target.warps.size()), {{barrier.row, kAll, position}}));
}

void RaceDetector::waited(const By& by, uint32_t offset, Scope scope, bool acquires) {
  BarrierChannel& barrier = by.cta.barriers[offset];
  WarpKnowledge& warp = by.threads();
  warp.for_groups(by.lanes, [&](const Knowledge& knows, Mask lanes) {
    if (barrier.completed <= barrier.first + 1) {
      check_exists(by, by.cta, offset, barrier, Context{by, warp, knows, lanes, false, false}, false);
      return;
    }
    // The phase two earlier has the same parity.
    check_phase_known({by.cta, by.warp, lanes, by.pc}, by.cta, offset, barrier, knows.now, barrier.completed - 1, true);
  });
  if (barrier.completed == barrier.first) {  // a fresh barrier: the phase before the first, without arrivals
    note_waiter(by, barrier);
    return;
  }
  warp.update(by.lanes, [&](Knowledge& knows, Mask) {
    knows.now = barrier.last.acquired_by(knows.now, by.cta.place, acquires ? std::optional(scope) : std::nullopt);
    if (!acquires) knows.seen.add(barrier.last, by.cta.place, scope);
    knows.flags = knows.flags.join(barrier.last.flags());
    if (acquires) {
      knows.aside.add(barrier.last.aside());
      knows.aside.scopes = knows.aside.scopes.join(barrier.last.out_of_scope(by.cta.place, scope));
    }
  });
  note_waiter(by, barrier);
  std::erase_if(barrier.arrivals, [&](const BarrierChannel::Arrival& each) { return each.phase <= barrier.completed; });
}

bool RaceDetector::is_in_doubt(const By& by, uint32_t offset) const {
  const auto found = by.cta.barriers.find(offset);
  if (found == by.cta.barriers.end()) return false;
  const BarrierChannel& barrier = found->second;
  if (barrier.completed == barrier.first) return false;  // before the first phase: nothing can be late
  return !knows_last_phase(by, by.cta, barrier);
}

/// Whether all these lanes know that the phase before the current one is complete.
bool RaceDetector::knows_last_phase(const By& by, const CtaKnowledge& target, const BarrierChannel& barrier) {
  bool known = true;
  by.threads().for_groups(by.lanes, [&](const Knowledge& knows, Mask lanes) {
    known &= knows.now.known(target.place.cta, barrier.row, kAll, barrier.completed, kHappened) == kAll ||
             knows_all(by.threads().published(lanes), barrier.counted[1], kHappened);
  });
  return known;
}

void RaceDetector::coming(const By& by, CtaKnowledge& target, uint32_t offset, const Signal& signal) {
  target.barriers[offset].coming.push_back(
      {by.cta.place.cta, by.warp, by.lanes, by.pc, signal.queue, signal.queue_position});
}

void RaceDetector::note_waiter(const By& by, BarrierChannel& barrier) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  barrier.waited_at = by.pc;
  barrier.waiting_warps |= uint64_t{1} << (by.warp % 64);
  for (BarrierChannel::Waiter& each : barrier.waiters) {
    if (each.cta == by.cta.place.cta && each.warp == by.warp && each.tick == warp.tick && each.pc == by.pc) {
      each.lanes |= by.lanes;
      return;
    }
  }
  barrier.waiters.push_back({by.cta.place.cta, by.warp, by.lanes, warp.tick, by.pc, warp.wgmma_issued});
}

}  // namespace sim::order
