#include "engine/cluster_engine.h"

#include <algorithm>
#include <chrono>

#include "common/base/align.h"
#include "engine/interpreter.h"
#include "exec/core/program.h"
#include "exec/core/report.h"
#include "exec/core/special.h"
#include "machine/wake.h"

namespace sim {
namespace {

constexpr uint64_t kSlice = 64;        // cycles that a warp may run ahead of the next event
constexpr uint64_t kLongSlice = 4096;  // the same, if no other event is pending
// Instructions without effect, before a warp is suspected of spinning; before a warp that accesses nothing shared may
// run on by itself; and before a warp that reads the clock has its time skipped. Detection must not take longer with
// many warps than with few: each gets its share of 1/kShareOfPatience of the patience, but at least kFewestSuspicious.
// A warp that does not write is reported without proof if it has executed kIdleLonger.
constexpr uint64_t kSuspicious = 1u << 16, kComputesLong = 1u << 18, kIdleLong = 1u << 22, kIdleLonger = 1u << 24;
constexpr uint64_t kFewestSuspicious = 1u << 10, kShareOfPatience = 32;
// Warps that meet at barriers again and again get kPatienceWithBarriers times the patience: many programs compute in
// registers from one barrier to the next. A slice costs the time of kSliceWork instructions.
constexpr uint64_t kPatienceWithBarriers = 3, kSliceWork = 8;
// Fruitless polling before a deadlock is reported: kMostIdleRounds, or kIdleWork of all clusters and at least
// kFewestIdleRounds.
constexpr uint64_t kMostIdleRounds = 100'000, kFewestIdleRounds = 128;
constexpr uint64_t kIdleWork = 30'000'000;    // instructions: about a second
constexpr uint64_t kWakeWork = 64;            // cost of waking a warp, in instructions
constexpr uint32_t kOutOfPatience = ~0u / 2;  // fruitless polls: without any change one more look suffices
// Cycles that are skipped for a warp that does nothing but read the clock, doubled each time up to the longest; and
// instructions between two skips.
constexpr uint64_t kClockStep = 1u << 22, kLongestClockStep = uint64_t{1} << 40, kClockLap = 512;
constexpr uint8_t kEarlyReturns = 3;          // of each try_wait in a warp, although it could wait
constexpr uint32_t kFruitlessTimeOuts = 128;  // of all waits for mbarriers, while nothing changes in their cluster
constexpr uint64_t kHeldBackOf = 8;           // the latest schedule holds back one operation in so many
constexpr uint64_t kHeldBack = 1u << 20;      // cycles for which a seeded schedule may hold an operation back

}  // namespace

ClusterEngine::ClusterEngine(Launch& launch, const Schedule& schedule) : launch_(launch), schedule_(schedule) {
  cluster_.launch = &launch_;
  cluster_.scheduler = this;
  for (LaunchWatcher* const each : launch.watchers) {
    watchers_.push_back(each->watch(cluster_));
    cluster_.watchers.add(*watchers_.back());
  }
}
ClusterEngine::~ClusterEngine() = default;

void ClusterEngine::watch(std::initializer_list<Watcher*> watchers) {
  watchers_.clear();
  cluster_.watchers = {};
  for (Watcher* const each : watchers) cluster_.watchers.add(*each);
}

void ClusterEngine::retire() {
  for (const auto& each : watchers_) each->retires(cluster_);
}

// ---- starting

void ClusterEngine::start(uint32_t number) {
  random_ = Random(schedule_.seed * 0x9E37'79B9 + launch_.number * 0x85EB'CA6B + number);
  slow_pcs_ = random_.next();
  operations_.clear();
  ready_ = {};
  now_ = sequence_ = tie_ = in_flight_ = 0;
  idle_changes_ = 0;
  may_poll_ = false;
  no_progress_ = {};
  cluster_.progress = progress_ = 0;
  restart_idle();

  cluster_.number = number;
  cluster_.barrier = {};
  cluster_.changes = 0;
  cluster_.multiply_adds = 0;
  cluster_.recent.fill(nullptr);
  cluster_.output.clear();
  cluster_.invalidated.clear();
  cluster_.read_only_lines.clear();
  cluster_.arrived_warps.assign(launch_.cluster_size(), {});
  early_returns_.clear();
  time_outs_ = 0;
  const uint32_t size = launch_.cluster_size();
  cluster_.ctas = std::vector<Cta>(size);
  cluster_.live_ctas = size;
  cluster_.live_threads = size * launch_.threads_per_cta();
  storage_.resize(size);
  for (uint32_t rank = 0; rank < size; ++rank) make_cta(cluster_.ctas[rank], rank);
  cluster_.watchers.tell(LifeEvent{LifeEvent::What::Begins, cluster_});
  for (Cta& cta : cluster_.ctas) {
    for (Warp& warp : cta.warps) push(warp);
  }
}

void ClusterEngine::make_cta(Cta& cta, uint32_t rank) {
  const Program& program = *launch_.program;
  const auto& size = launch_.cluster;
  const std::array<uint32_t, 3> clusters{launch_.grid[0] / size[0], launch_.grid[1] / size[1],
                                         launch_.grid[2] / size[2]};
  const std::array<uint32_t, 3> cluster_index{cluster_.number % clusters[0],
                                              cluster_.number / clusters[0] % clusters[1],
                                              cluster_.number / clusters[0] / clusters[1]};
  cta.cluster = &cluster_;
  cta.rank = rank;
  cta.index = {cluster_index[0] * size[0] + rank % size[0], cluster_index[1] * size[1] + rank / size[0] % size[1],
               cluster_index[2] * size[2] + rank / size[0] / size[1]};
  cta.sm = (cluster_.number * launch_.cluster_size() + rank) % static_cast<uint32_t>(launch_.gpu->sm_count);
  cta.smem.assign(launch_.smem_bytes, 0xFF);  // NaN: uninitialised
  cta.barrier_index.assign(launch_.smem_bytes / 8 + 1, 0);

  const uint32_t threads = launch_.threads_per_cta(), count = (threads + 31) / 32;
  cta.live_warps = count;
  const uint64_t register_bytes = base::round_up(uint64_t{program.register_bytes}, 64);
  const uint64_t per_warp = register_bytes + base::round_up(32ull * launch_.local_bytes, 64);
  auto& storage = storage_[rank];
  if (!storage) storage = std::make_unique_for_overwrite<uint8_t[]>(per_warp * count + 64);
  auto* registers_at = reinterpret_cast<uint8_t*>(base::round_up(reinterpret_cast<uintptr_t>(storage.get()), 64));
  const bool has_stack = launch_.local_bytes > program.local_bytes;  // an unused stack takes no memory of the host
  if (!has_stack) std::memset(registers_at, 0xFF, per_warp * count);
  cta.warps = std::vector<Warp>(count);

  // setmaxnreg: the CTA's registers.
  const uint32_t registers = program.kernel->registers_to_share(static_cast<uint32_t>(launch_.gpu->registers_per_sm));

  for (uint32_t i = 0; i < count; ++i) {
    Warp& warp = cta.warps[i];
    warp.cta = &cta;
    warp.index = i;
    const uint32_t lanes_here = std::min(32u, threads - 32 * i);
    warp.live = lanes_here == 32 ? kAllLanes : (1u << lanes_here) - 1;
    warp.registers = registers_at + i * per_warp;
    warp.local = warp.registers + register_bytes;
    if (has_stack) {
      std::memset(warp.registers, 0xFF, register_bytes);
      for (size_t lane = 0; lane < 32; ++lane)
        std::memset(warp.local + lane * launch_.local_bytes, 0xFF, program.local_bytes);
    }
    warp.max_registers = registers;
    warp.suspicious_after = warp.reads_count_after = share_of_patience(kSuspicious);
    warp.used = 1;
    warp.splits[0].mask = warp.live;
    fill_registers(warp);
  }
}

void ClusterEngine::walk(uint32_t number, std::span<const uint32_t> warps) {
  start(number);
  walking_ = true;
  for (Cta& cta : cluster_.ctas) ++cta.live_warps;  // none exits: others load into it
  for (Cta& cta : cluster_.ctas) {
    for (const uint32_t index : warps) {
      Warp& warp = cta.warps[index];
      warp.alone = true;
      try {
        for (uint64_t polls = 0; warp.used != 0 && polls < kMostIdleRounds; ++polls) {
          while (warp.used != 0 && warp.has_ready_split()) run_warp(warp, warp.time + kLongSlice);
          for_waiting(warp, Wait::Poll, [&](uint8_t split) { look_again(warp, split); });
          if (warp.used != 0 && !warp.has_ready_split()) break;
        }
        if (warp.used != 0) throw Fault{faults::waits_for_other_warps};
      } catch (const Fault& fault) { fail(fault, &warp, nullptr); }
    }
  }
  walking_ = false;
}

// ---- Scheduler

void ClusterEngine::push(Warp& warp) {
  if (walking_ || warp.queued || !warp.has_ready_split()) return;
  warp.queued = true;
  if (schedule_.policy == SchedulePolicy::Seeded) {
    // Occasionally a warp falls far behind.
    if (random_.below(8) == 0) warp.time += random_.below(2000);
    ready_.push({warp.time, random_.next(), &warp});
  } else {
    ready_.push({warp.time, tie_++, &warp});
  }
}

void ClusterEngine::wake(Warp& warp, uint64_t delay) {
  notify_warp(ScheduleEvent::What::Wakes, warp);
  warp.time = std::max(warp.time, now_ + delay);
  push(warp);
}

bool ClusterEngine::times_out(Warp& warp, bool in_doubt) {
  if (schedule_.policy == SchedulePolicy::Default && !in_doubt) return false;
  const uint32_t pc = warp.split().pc;
  uint8_t& count = early_returns_[{&warp, pc}];
  if (count == kEarlyReturns) return false;
  ++count;
  return in_doubt || schedule_.policy == SchedulePolicy::Latest || Random(slow_pcs_ + 8 * pc + count).below(2) == 0;
}

void ClusterEngine::remark(Habit habit, const Fault& what, const Warp* warp, const Origin* origin) {
  const auto make = [&] {
    Finding finding = explain_fault(cluster_, what, warp, origin);
    finding.kind = Finding::Kind::Habit, finding.is_tolerated = true;
    return finding;
  };
  if (cluster_.watchers.want(EventKind::Report))
    cluster_.watchers.tell(ReportEvent{cluster_, make(), now_, warp, origin});
  const std::lock_guard lock(launch_.remark_mutex);
  Launch::Remark& kept = launch_.remarks[habit];
  if (cluster_.number < kept.cluster) kept = {cluster_.number, make()};
}

void ClusterEngine::submit(std::unique_ptr<AsyncOperation> operation, const Latency& when) {
  if (walking_) return operation->complete_alone(cluster_);
  if (!operation->only_arrives()) ++cluster_.progress;
  auto scheduled = std::make_shared<Scheduled>();
  uint64_t start = now_;
  // The issuing warp's clock may be ahead of the last event.
  const Warp& issuer = cluster_.ctas[operation->origin.cta_rank].warps[operation->origin.warp];
  if (!completing_) start = std::max(start, issuer.time);
  const uint64_t issued = start;
  if (when.unit != nullptr) {
    start = std::max(start, when.unit->free_at);
    when.unit->free_at = start + when.busy;
  }
  uint64_t latency = when.latency;
  if (schedule_.policy == SchedulePolicy::Seeded) {
    const uint64_t base = latency + 16;
    const bool is_slow = Random(slow_pcs_ + 2 * operation->origin.pc + completing_).below(12) == 0;
    switch (is_slow && random_.below(2) == 0 ? 5 : random_.below(5)) {
      case 0: latency = 0; break;
      case 1: latency = base / 4; break;
      case 2: break;
      case 3: latency = base * 4; break;
      case 4: latency = random_.below(base * 16); break;
      default: latency = kHeldBack; break;
    }
  }
  if (cluster_.watchers.want(EventKind::Schedule)) {
    cluster_.watchers.tell(ScheduleEvent{.what = ScheduleEvent::What::Submitted,
                                         .cluster = cluster_,
                                         .operation = operation.get(),
                                         .number = sequence_,
                                         .time = issued,
                                         .begin = start,
                                         .end = start + when.busy});
  }
  if (schedule_.policy == SchedulePolicy::Latest) {
    using Held = Scheduled::Held;
    scheduled->held = random_.below(kHeldBackOf) == 0 ? Held::ForAll
                      : operation->writes_globally()  ? Held::ForWarps
                                                      : Held::No;
  }
  scheduled->operation = std::move(operation);
  scheduled->time = start + when.busy + latency;
  scheduled->sequence = sequence_++;
  scheduled->order = when.order;
  ++in_flight_;
  if (when.order != nullptr) {
    when.order->waiting.push_back(scheduled);
    if (when.order->waiting.size() > 1) return;  // it starts when its predecessors are done
  }
  operations_.push_back(std::move(scheduled));
  std::push_heap(operations_.begin(), operations_.end(), later());
}

// ---- the loop

ClusterEngine::State ClusterEngine::run(uint64_t quantum) {
  for (uint64_t step = 0; step < quantum; ++step) {
    if (cluster_.live_ctas == 0 && in_flight_ == 0) {
      notify_end(LifeEvent::What::Ends);
      ++launch_.ended;
      return State::Done;
    }
    if (idle_changes_ != cluster_.changes) wake_pollers(false);
    const bool warp_first = !ready_.empty() && (operations_.empty() || schedule_.policy == SchedulePolicy::Latest ||
                                                ready_.top().time <= operations_.front()->time);
    if (warp_first) {
      const ReadyWarp next = ready_.top();
      ready_.pop();
      run_slice(next);
    } else if (!operations_.empty()) {
      const bool is_held = shares_thread_ && operations_.front()->held != Scheduled::Held::No &&
                           operations_.front()->operation->writes_globally();
      if (is_held && !std::exchange(may_write_, false)) return step == 0 ? State::Held : State::Running;
      complete_next();
    } else if (!wake_pollers(false)) {
      return State::Idle;
    }
  }
  return State::Running;
}

void ClusterEngine::run_until(Warp& warp, uint64_t horizon) {
  try {
    run_warp(warp, horizon);
  } catch (const Fault& fault) { fail(fault, &warp, nullptr); }
}

void ClusterEngine::run_slice(const ReadyWarp& ready) {
  Warp& warp = *ready.warp;
  warp.queued = false;
  now_ = std::max(now_, warp.time);
  uint64_t next_event = ~0ull;
  if (!ready_.empty()) next_event = ready_.top().time;
  if (!operations_.empty() && schedule_.policy != SchedulePolicy::Latest)
    next_event = std::min(next_event, operations_.front()->time);
  uint64_t horizon = next_event == ~0ull ? warp.time + kLongSlice
                                         : std::min(std::max(next_event, warp.time) + kSlice, warp.time + kLongSlice);
  if (schedule_.policy == SchedulePolicy::Seeded) horizon = warp.time + 1 + random_.below(2 * kSlice);
  notify_warp(ScheduleEvent::What::Runs, warp);
  const uint64_t before = warp.executed, changes = cluster_.changes;
  run_until(warp, horizon);
  notify_warp(ScheduleEvent::What::Stops, warp);
  may_poll_ |= is_waiting(warp, Wait::Poll);
  const uint64_t work = warp.executed - before;
  idle_work_ += work + kWakeWork;
  NoProgress& stalled = no_progress();
  stalled.without_effect =
      warp.executed_at_effect > before || warp.used == 0 ? 0 : stalled.without_effect + work + kWakeWork;
  const uint64_t arrivals = cluster_.changes - changes;  // of single lanes, unless there was progress
  stalled.without_progress =
      cluster_.progress != progress_ ? 0 : stalled.without_progress + work + arrivals + kSliceWork;
  progress_ = cluster_.progress;
  if (stalled.without_progress > schedule_.patience) [[unlikely]]
    check_rounds(warp);
  if (warp.idle() > warp.suspicious_after && warp.executed >= warp.spin_check_at && warp.used != 0) check_spin(warp);
  push(warp);
}

void ClusterEngine::complete_next() {
  std::pop_heap(operations_.begin(), operations_.end(), later());
  const std::shared_ptr<Scheduled> done = std::move(operations_.back());
  operations_.pop_back();
  now_ = std::max(now_, done->time);
  --in_flight_;
  const bool is_watched = cluster_.watchers.want(EventKind::Schedule);
  ScheduleEvent event{.what = ScheduleEvent::What::TakesEffect,
                      .cluster = cluster_,
                      .operation = done->operation.get(),
                      .number = done->sequence,
                      .time = now_};
  if (is_watched) cluster_.watchers.tell(event);
  completing_ = true;
  try {
    if (schedule_.fuses && schedule_.policy == SchedulePolicy::Default && done->order != nullptr) {
      const auto& waiting = done->order->waiting;
      for (size_t next = 1; next < waiting.size(); ++next) {
        if (!done->operation->try_fuse(cluster_, *waiting[next]->operation)) break;
      }
    }
    done->operation->complete(cluster_);
  } catch (const Fault& fault) { fail(fault, nullptr, &done->operation->origin); }
  completing_ = false;
  event.what = ScheduleEvent::What::IsDone;
  if (is_watched) cluster_.watchers.tell(event);
  if (done->order != nullptr) {
    auto& waiting = done->order->waiting;
    waiting.pop_front();
    if (!waiting.empty()) {
      waiting.front()->time = std::max(waiting.front()->time, now_);
      operations_.push_back(waiting.front());
      std::push_heap(operations_.begin(), operations_.end(), later());
    }
  }
}

// ---- waits that may never end

bool ClusterEngine::wake_pollers(bool force) {
  if (!force && idle_changes_ == cluster_.changes) return false;
  if (idle_changes_ != cluster_.changes) restart_idle();
  idle_changes_ = cluster_.changes;
  if (!may_poll_) return false;
  may_poll_ = false;
  bool any = false;
  for (Cta& cta : cluster_.ctas) {
    for (Warp& warp : cta.warps) {
      for_waiting(warp, Wait::Poll, [&](uint8_t split) {
        warp.polls = force ? kOutOfPatience : 0;
        any = true;
        retry(warp, split, force ? idle_step_ : 0);
      });
    }
  }
  return any;
}

bool ClusterEngine::waits_for_launch() const {
  for (const Cta& cta : cluster_.ctas) {
    for (const Warp& warp : cta.warps) {
      if (is_waiting(warp, Wait::Launch)) return true;
    }
  }
  return false;
}

void ClusterEngine::launch_before_ended() {
  for (Cta& cta : cluster_.ctas) {
    for (Warp& warp : cta.warps) for_waiting(warp, Wait::Launch, [&](uint8_t split) { resume(warp, split, 0); });
  }
}

bool ClusterEngine::time_out_waiters() {
  if (timed_out_changes_ != cluster_.changes) timed_out_changes_ = cluster_.changes, time_outs_ = 0;
  if (time_outs_ == kFruitlessTimeOuts) return false;
  ++time_outs_;
  bool any = false;
  for (Cta& cta : cluster_.ctas) {
    for (Mbarrier& barrier : cta.barriers) {
      std::erase_if(barrier.waiters, [&](const Mbarrier::Waiter& waiter) {
        Split& split = waiter.warp->splits[waiter.split];
        split.result = -1;                         // the predicate is false already
        resume(*waiter.warp, waiter.split, 8000);  // roughly the time-out of hardware
        any = true;
        return true;
      });
    }
  }
  return any;
}

void ClusterEngine::poke() { wake_pollers(true); }

void ClusterEngine::restart_idle() {
  idle_rounds_ = idle_work_ = 0;
  idle_step_ = 64;
}

void ClusterEngine::pass_time(uint64_t clusters) {
  const bool timed_out = time_out_waiters();
  if (idle_changes_ != cluster_.changes) restart_idle();
  ++idle_rounds_;
  const bool is_over = idle_rounds_ > kMostIdleRounds ||
                       (idle_rounds_ > kFewestIdleRounds && idle_work_ > kIdleWork / std::max<uint64_t>(clusters, 1));
  const bool polls = !is_over && wake_pollers(true);
  if (!timed_out && !polls) deadlock();
  if (idle_rounds_ % 4 == 0 && idle_step_ < (1u << 24)) idle_step_ *= 2;
}

bool ClusterEngine::any_warp_polls() const {
  for (const Cta& cta : cluster_.ctas) {
    for (const Warp& warp : cta.warps) {
      if (is_waiting(warp, Wait::Poll)) return true;
    }
  }
  return false;
}

NoProgress& ClusterEngine::no_progress() { return launch_.program->needs_order ? launch_.no_progress : no_progress_; }

uint64_t ClusterEngine::share_of_patience(uint64_t most) const {
  const uint64_t warps = uint64_t{launch_.together} * launch_.cluster_size() * ((launch_.threads_per_cta() + 31) / 32);
  const uint64_t share = schedule_.patience / (kShareOfPatience * warps) * (most / kSuspicious);
  return std::clamp(share, kFewestSuspicious * (most / kSuspicious), most);
}

ClusterEngine::Lap ClusterEngine::watch_lap(Warp& warp, int steps) {
  const Program& program = *launch_.program;
  const uint64_t changes = cluster_.changes;
  const Split start = warp.split();
  const std::vector<uint8_t> registers(warp.registers, warp.registers + program.register_bytes);
  const std::vector<uint8_t> local(warp.local, warp.local + 32ull * launch_.local_bytes);
  Lap lap;
  constexpr int kClockLaps = 4;  // suffice where the clock makes every lap different
  int laps = 0;
  for (int step = 0; step < steps; ++step) {
    const Op& op = program.ops[warp.split().pc];
    lap.looks_around |= !op.pure;
    lap.watches_clock |= program.traits[warp.split().pc].reads_clock;
    run_until(warp, warp.time + 1);
    if (cluster_.changes != changes || !std::has_single_bit(warp.used) || warp.split().wait != Wait::None) return lap;
    const Split& here = warp.split();
    if (here.pc != start.pc || here.mask != start.mask || here.depth != start.depth) continue;
    if (lap.instructions == 0) lap.instructions = step + 1;
    lap.repeats = std::equal(registers.begin(), registers.end(), warp.registers) &&
                  std::equal(local.begin(), local.end(), warp.local);
    if (lap.repeats || (++laps == kClockLaps && lap.watches_clock)) break;
  }
  lap.goes_on = true;
  return lap;
}

void ClusterEngine::check_spin(Warp& warp) {
  for (;;) {
    if (warp.idle() > schedule_.patience)
      throw Failure{Status::LaunchTimeout, explain_spin(cluster_, warp, Finding::Hang::Idles, warp.idle())};
    warp.spin_check_at = warp.executed + std::min(warp.idle() / 4, kIdleLong);
    // A warp that rewrites old locations may be waiting for others, but it counts as a part of the lack of progress.
    const auto gets_nowhere = [&] {
      const bool takes_part = warp.writes_in_vain || warp.idle() > std::min(kIdleLonger, schedule_.patience / 4);
      return takes_part && no_progress().without_effect > schedule_.patience;
    };
    if (warp.writes_in_vain && gets_nowhere())
      throw Failure{Status::LaunchTimeout, explain_spin(cluster_, warp, Finding::Hang::Idles, warp.idle())};
    if (!std::has_single_bit(warp.used) || warp.split().wait != Wait::None) return;
    // Executes a few rounds of the warp's loop, step by step. If its registers and local memory repeat, it will loop
    // for ever, unless it has read what others could change: then it polls.
    const Lap lap = watch_lap(warp, static_cast<int>(std::clamp<uint64_t>(warp.idle() / 256, 256, 4096)));
    if (warp.idle() <= warp.suspicious_after) {
      no_progress() = {};
      return;
    }
    const bool computes = lap.goes_on && !lap.looks_around;
    if ((!computes || lap.watches_clock) && gets_nowhere())
      throw Failure{Status::LaunchTimeout, explain_spin(cluster_, warp, Finding::Hang::Idles, warp.idle())};
    if (!lap.goes_on) return;
    if (lap.repeats) {
      const bool is_alone = ready_.empty() && in_flight_ == 0 && !launch_.program->needs_order && !any_warp_polls();
      if (computes || is_alone)
        throw Failure{Status::LaunchTimeout, explain_spin(cluster_, warp, Finding::Hang::Repeats, warp.idle())};
      warp.split().block(Wait::Poll);
      may_poll_ = true;
      warp.spin_check_at = warp.executed + 1;
      return;
    }
    constexpr int kShortLap = 64;
    if (lap.watches_clock && warp.idle() > share_of_patience(kIdleLong) && lap.instructions > 0 &&
        lap.instructions <= kShortLap) {
      warp.clock_step = std::clamp(2 * warp.clock_step, kClockStep, kLongestClockStep);
      warp.time += warp.clock_step;
      warp.spin_check_at = warp.executed + kClockLap;
    }
    if (!computes || lap.watches_clock || warp.idle() < share_of_patience(kComputesLong)) return;
    // The warp computes without interaction with others, so it may run on at once: an endless loop is found sooner than
    // if it alternated with other endless ones.
    const uint64_t changes = cluster_.changes, until = warp.executed + kIdleLong;
    while (warp.executed < until) {
      run_until(warp, warp.time + kLongSlice);
      if (cluster_.changes != changes) no_progress() = {};
      if (cluster_.changes != changes || !std::has_single_bit(warp.used) || warp.split().wait != Wait::None) return;
    }
  }
}

void ClusterEngine::check_rounds(Warp& warp) {
  warp.reads_count_after = 0;  // reading further and further is progress, too
  const uint64_t work = no_progress().without_progress;
  if (work > kPatienceWithBarriers * schedule_.patience)
    throw Failure{Status::LaunchTimeout, explain_spin(cluster_, warp, Finding::Hang::Meets, work)};
}

void ClusterEngine::notify_end(LifeEvent::What what) {
  if (!cluster_.watchers.want(EventKind::Life)) return;
  uint64_t end = now_;
  for (const Cta& cta : cluster_.ctas) {
    for (const Warp& warp : cta.warps) end = std::max(end, warp.time);
  }
  cluster_.watchers.tell(LifeEvent{what, cluster_, end});
}

void ClusterEngine::deadlock() {
  Finding finding = explain_deadlock(cluster_);
  cluster_.watchers.tell(ReportEvent{cluster_, finding, now_});
  notify_end(LifeEvent::What::Fails);
  throw Failure{Status::LaunchTimeout, std::move(finding)};
}

void ClusterEngine::fail(const Fault& fault, const Warp* warp, const Origin* origin) {
  Finding finding = explain_fault(cluster_, fault, warp, origin);
  cluster_.watchers.tell(ReportEvent{cluster_, finding, now_, warp, origin});
  notify_end(LifeEvent::What::Fails);
  throw Failure{fault.what->status, std::move(finding)};
}

}  // namespace sim
