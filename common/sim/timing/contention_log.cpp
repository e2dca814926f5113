#include "timing/contention_log.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sim::timing {
namespace {

using What = DemandStep::What;
using Effect = ClusterLog::Told::Effect;

const char* name_of(Effect effect) {
  switch (effect) {
    case Effect::Init: return "init";
    case Effect::Arrive: return "arrive";
    case Effect::Expect: return "expect_tx";
    case Effect::Complete: return "complete_tx";
  }
  return "";
}

uint64_t cycle(Tick time) { return static_cast<uint64_t>(time / kCycle); }

/// The wait of a warp at this step; None: it does not wait.
Wait wait_of(What what) {
  switch (what) {
    case What::Wait: return Wait::Mbarrier;
    case What::BulkWait: return Wait::BulkGroup;
    case What::GroupWait: return Wait::WgmmaGroup;
    case What::TmemWait: return Wait::TmemLoad;
    case What::BarrierWait: return Wait::CtaBarrier;
    case What::ClusterWait: return Wait::ClusterBarrier;
    case What::GridDepWait: return Wait::Launch;
    default: return Wait::None;
  }
}

class Events {
 public:
  Events(const ClusterLog& log, const ClusterDemands& demands, Trace::Part executed)
      : log_(log), demands_(demands), executed_(std::move(executed)) {
    for (size_t i = 0; i < executed_.events.size(); ++i) {
      const TraceEvent& event = executed_.events[i];
      if (event.kind == TraceEvent::Kind::Operation)
        operations_[{event.cta, owner(event.unit, static_cast<uint32_t>(event.warp)), event.pc}].push_back(i);
    }
  }

  std::vector<TraceEvent> all() {
    for (const ClusterLog::Work& work : log_.works) add_work(work);
    for (uint32_t gang = 0; gang < log_.gangs.size(); ++gang) {
      for (const uint32_t warp : log_.gangs[gang].warps) add_warp(gang, warp);
    }
    add_barriers();
    release_waits();
    return std::move(events_);
  }

 private:
  /// The four warps of a warpgroup issue a wgmma together; the execution records it for one of them.
  static uint32_t owner(OperationUnit unit, uint32_t warp) {
    return unit == OperationUnit::TensorCoreOfWarpgroup ? warp / 4 * 4 : warp;
  }

  const std::vector<DemandStep>& steps(uint32_t gang) const { return of(gang).steps; }
  const WarpDemands& of(uint32_t gang) const { return demands_[log_.gangs[gang].rank][log_.gangs[gang].warps.front()]; }
  uint32_t pc_of(uint32_t gang, uint32_t step) const { return of(gang).pcs[step]; }

  TraceEvent& add(TraceEvent::Kind kind, uint32_t rank, Tick begin, Tick end) {
    TraceEvent& event = events_.emplace_back();
    event.kind = kind;
    event.cta = executed_.ctas[rank];
    event.begin = cycle(begin), event.end = cycle(end);
    event.is_open = false;
    return event;
  }

  void add_work(const ClusterLog::Work& work) {
    const uint32_t rank = log_.gangs[work.gang].rank, warp = log_.gangs[work.gang].warps.front();
    const uint32_t pc = pc_of(work.gang, work.step);
    TraceEvent& event = add(TraceEvent::Kind::Operation, rank, work.begin, work.end);
    event.end = std::max(event.end, event.begin + 1);
    event.warp = static_cast<int32_t>(warp);
    event.pc = pc;
    event.issued = cycle(work.issued), event.seen = std::max(cycle(work.seen), event.end);
    event.footprint = std::make_unique<Footprint>();
    for (const auto& [part, length] : work.rests) {
      if (length >= kCycle)
        event.rests.emplace_back(kPartNames[static_cast<size_t>(part)].title, static_cast<uint64_t>(length / kCycle));
    }
    if (TraceEvent* const same = executed(event.cta, warp, pc)) {
      event.name = std::move(same->name), event.unit = same->unit;
      event.footprint = std::move(same->footprint);
    }
  }

  /// The warp's next operation at this instruction in the execution, which issued the same operations in the same
  /// order.
  TraceEvent* executed(uint32_t cta, uint32_t warp, uint32_t pc) {
    for (const uint32_t who : {warp, warp / 4 * 4}) {
      const auto known = operations_.find({cta, who, pc});
      if (known == operations_.end() || known->second.empty()) continue;
      const size_t number = known->second.front();
      known->second.pop_front();
      return &executed_.events[number];
    }
    return nullptr;
  }

  /// A commit occupies no unit and takes no time.
  void add_commit(uint32_t gang, uint32_t warp, const ClusterLog::Passed& passed) {
    const uint32_t rank = log_.gangs[gang].rank, pc = pc_of(gang, passed.step);
    TraceEvent* const same = executed(executed_.ctas[rank], warp, pc);
    if (same == nullptr) return;  // another warp of its warpgroup commits for all
    TraceEvent& event = add(TraceEvent::Kind::Operation, rank, passed.ended, passed.ended);
    event.warp = static_cast<int32_t>(warp);
    event.pc = pc;
    event.issued = event.begin, event.end = event.seen = event.begin + 1;
    event.name = std::move(same->name), event.unit = same->unit;
    event.footprint = std::move(same->footprint);
  }

  void add_warp(uint32_t gang, uint32_t warp) {
    const uint32_t rank = log_.gangs[gang].rank;
    Tick since = log_.begin, until = log_.begin;
    uint32_t first = 0, last = 0;
    const auto add_run = [&] {
      if (cycle(until) <= cycle(since)) return;
      TraceEvent& run = add(TraceEvent::Kind::Run, rank, since, until);
      run.warp = static_cast<int32_t>(warp);
      run.pc = pc_of(gang, first), run.last_pc = pc_of(gang, last);
    };
    for (const ClusterLog::Passed& each : log_.passed) {
      if (each.gang != gang) continue;
      const DemandStep& step = steps(gang)[each.step];
      const Wait wait = wait_of(step.what);
      last = each.step, until = each.ended;
      if (step.what == What::Commit || step.what == What::MmaArrive) add_commit(gang, warp, each);
      // A test of a barrier whose phase is complete takes time, too, but is no wait.
      if (wait == Wait::None || (wait == Wait::Mbarrier && !each.blocked)) continue;
      if (cycle(each.ended) <= cycle(each.begun)) continue;
      until = each.begun;
      add_run();
      waits_.push_back({events_.size(), step});
      TraceEvent& event = add(TraceEvent::Kind::Wait, rank, each.begun, each.ended);
      event.warp = static_cast<int32_t>(warp);
      event.pc = pc_of(gang, each.step);
      event.wait = wait;
      event.barrier = barrier_of(step, rank);
      event.amount = step.value;
      since = until = each.ended;
      first = std::min<uint32_t>(each.step + 1, static_cast<uint32_t>(steps(gang).size() - 1));
    }
    add_run();
  }

  static BarrierName barrier_of(const DemandStep& step, uint32_t rank) {
    using ClusterClass = BarrierName::Kind;
    switch (step.what) {
      case What::Wait: return {ClusterClass::Mbarrier, step.rank, uint32_t{step.slot} * 8};
      case What::BarrierWait: return {ClusterClass::Named, rank, step.slot};
      case What::ClusterWait: return {ClusterClass::Cluster, 0, 0};
      default: return {};
    }
  }

  using Key = std::tuple<BarrierName::Kind, uint32_t, uint32_t>;
  static Key key(const BarrierName& barrier) { return {barrier.kind, barrier.cta, barrier.id}; }

  /// Adds the events of barriers in the order of time, with the counts of each phase.
  void add_barriers() {
    std::map<Key, std::vector<const ClusterLog::Told*>> by_barrier;
    for (const ClusterLog::Told& each : log_.told) by_barrier[key(each.barrier)].push_back(&each);
    for (auto& [name, all] : by_barrier) {
      std::ranges::stable_sort(all, {},
                               [](const ClusterLog::Told* each) { return std::pair(each->phase, each->time); });
      int64_t pending = 0, bytes = 0;
      uint32_t phase = ~0u;
      for (const ClusterLog::Told* each : all) {
        if (std::exchange(phase, each->phase) != each->phase) pending = each->needed, bytes = 0;
        // A gang is several warps; each of them causes the event.
        const auto& warps = log_.gangs[each->gang].warps;
        for (const uint32_t warp :
             each->work == ClusterLog::Told::kNoWork ? std::span(warps) : std::span(warps).first(1)) {
          switch (each->effect) {
            case Effect::Init: break;
            case Effect::Arrive: pending -= each->amount; break;
            case Effect::Expect: bytes += each->amount; break;
            case Effect::Complete: bytes -= each->amount; break;
          }
          add_told(*each, warp, static_cast<int32_t>(pending), static_cast<int32_t>(bytes));
        }
      }
    }
  }

  void add_told(const ClusterLog::Told& told, uint32_t warp, int32_t pending, int32_t bytes) {
    const size_t number = events_.size();
    TraceEvent& event = add(TraceEvent::Kind::Barrier, told.barrier.cta, told.time, told.time);
    event.name = name_of(told.effect);
    event.barrier = told.barrier;
    event.amount = static_cast<uint32_t>(told.amount);
    event.pc = event.actor.pc = pc_of(told.gang, told.step);
    event.actor.time = event.begin;
    if (told.work != ClusterLog::Told::kNoWork)
      event.actor.operation = told.work;  // the operations are the first events
    else
      event.actor.cta = log_.gangs[told.gang].rank, event.actor.warp = warp;
    const bool completes = pending == 0 && bytes == 0 && told.effect != Effect::Init;
    event.state = {told.phase + (completes ? 1 : 0), completes ? told.needed : pending, bytes, completes};
    if (completes) completions_[key(told.barrier)].push_back(number);
  }

  /// Ends each wait at the arrival that completes the phase.
  void release_waits() {
    for (const auto& [number, step] : waits_) {
      TraceEvent& wait = events_[number];
      const auto known = completions_.find(key(wait.barrier));
      if (known == completions_.end()) continue;
      for (const size_t each : known->second) {
        const TraceEvent& completion = events_[each];
        if (completion.begin > wait.end) break;
        if (step.what == What::Wait && ((completion.state.phase - 1) & 1) != step.value) continue;
        wait.actor = completion.actor;
      }
    }
  }

  const ClusterLog& log_;
  const ClusterDemands& demands_;
  Trace::Part executed_;
  std::vector<TraceEvent> events_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::deque<size_t>> operations_;  // by CTA, warp and pc
  std::vector<std::pair<size_t, DemandStep>> waits_;
  std::map<Key, std::vector<size_t>> completions_;
};

}  // namespace

ClusterLog* ContentionLog::follow(uint32_t launch, uint32_t cluster) {
  if (std::ranges::find(wanted_, std::pair(launch, cluster)) == wanted_.end()) return nullptr;
  ClusterLog& log = logs_.emplace_back();
  log.launch = launch, log.number = cluster;
  return &log;
}

const ClusterLog* ContentionLog::of(uint32_t launch, uint32_t cluster) const {
  const auto found =
      std::ranges::find_if(logs_, [&](const ClusterLog& log) { return log.launch == launch && log.number == cluster; });
  return found == logs_.end() ? nullptr : &*found;
}

void ContentionLog::note_residence(uint32_t launch, uint32_t sm, uint32_t cluster, uint32_t rank, Tick begin,
                                   Tick end) {
  if (residences_.size() <= launch) residences_.resize(launch + 1);
  residences_[launch].push_back({sm, cluster, rank, cycle(begin), cycle(end)});
}

std::vector<Residence> ContentionLog::residences(uint32_t launch) const {
  return launch < residences_.size() ? residences_[launch] : std::vector<Residence>();
}

void ContentionLog::note_queues(const MemoryModel& memory, Tick now) {
  constexpr uint64_t kApart = 1000;  // cycles
  if (!queues_.empty() && cycle(now) < queues_.back().cycle + kApart) return;
  queues_.push_back(
      {cycle(now), cycle(memory.l2_ahead(now)), cycle(memory.link_ahead(now)), cycle(memory.dram_ahead(now))});
}

Trace::Part events_of(const ClusterLog& log, const ClusterDemands& demands, Trace::Part executed) {
  std::vector<uint32_t> ctas = executed.ctas;
  return {executed.launch, std::move(ctas), Events(log, demands, std::move(executed)).all()};
}

}  // namespace sim::timing
