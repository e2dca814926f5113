#include "timing/trace_watcher.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "machine/address.h"
#include "report/text.h"

namespace sim {
namespace {

/// The split whose wait blocks the whole warp: other splits wait for its lanes.
const Split* reason_of(const Warp& warp) {
  const Split* reason = nullptr;
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const Split& split = warp.splits[static_cast<size_t>(std::countr_zero(rest))];
    if (reason == nullptr || reason->wait == Wait::Gather) reason = &split;
  }
  return reason;
}

BarrierName barrier_of(const Split& split, const Cta& cta) {
  switch (split.wait) {
    case Wait::Mbarrier:
      return {BarrierName::Kind::Mbarrier, split.arguments[0] >> kSharedRankShift,
              split.arguments[0] & kSharedOffsetMask};
    case Wait::CtaBarrier: return {BarrierName::Kind::Named, cta.rank, split.arguments[0]};
    case Wait::ClusterBarrier: return {BarrierName::Kind::Cluster, 0, 0};
    default: return {};
  }
}

const char* name_of(BarrierEvent::What what) {
  using What = BarrierEvent::What;
  switch (what) {
    case What::Init: return "init";
    case What::Invalidate: return "inval";
    case What::Arrive: return "arrive";
    case What::ArriveDrop: return "arrive_drop";
    case What::ExpectTx: return "expect_tx";
    case What::CompleteTx: return "complete_tx";
    case What::Sync: return "sync";
  }
  return "";
}

}  // namespace

void ClusterTracer::on(const LifeEvent& event) {
  if (event.what == LifeEvent::What::Begins)
    start();
  else
    trace_.add(cluster_, finish(event.time));
}

void ClusterTracer::on(const ScheduleEvent& event) {
  using What = ScheduleEvent::What;
  switch (event.what) {
    case What::Runs: return runs(*event.warp);
    case What::Stops: return ran(*event.warp);
    case What::Wakes: return woken(*event.warp);
    case What::Submitted: return submitted(*event.operation, event.time, event.begin, event.end);
    case What::TakesEffect: return takes_effect(event.number, event.time);
    case What::IsDone: return is_done();
  }
}

void ClusterTracer::start() {
  events_.clear();
  operations_.clear();
  submitted_.assign(cluster_.ctas.size(), 0);
  last_.clear();
  is_done();
}

std::vector<TraceEvent> ClusterTracer::finish(uint64_t now) {
  for (TraceEvent& event : events_) {
    if (event.kind == TraceEvent::Kind::Wait && event.is_open) event.end = std::max(event.begin, now);
    if (event.kind == TraceEvent::Kind::Operation && event.is_open) event.seen = std::max(event.end, now);
  }
  last_.clear();
  is_done();
  return std::exchange(events_, {});
}

uint32_t ClusterTracer::linear(uint32_t rank) const {
  const Cta& cta = cluster_.ctas[rank];
  const auto& grid = cluster_.launch->grid;
  return cta.index[0] + grid[0] * (cta.index[1] + grid[1] * cta.index[2]);
}

TraceEvent& ClusterTracer::add(TraceEvent::Kind kind, uint32_t rank, uint64_t begin, uint64_t end) {
  TraceEvent& event = events_.emplace_back();
  event.kind = kind;
  event.cta = linear(rank);
  event.begin = begin, event.end = end;
  return event;
}

Actor ClusterTracer::actor() const {
  if (acting_ == nullptr) return actor_;
  Actor who;
  who.cta = acting_->cta->rank, who.warp = acting_->index;
  who.pc = acting_->splits[acting_->current].pc;
  who.time = acting_->time;
  return who;
}

void ClusterTracer::runs(const Warp& warp) {
  actor_ = {};
  acting_ = &warp;
  runs_from_ = warp.time;
  first_pc_ = 0;
  for (uint32_t rest = warp.used; rest && first_pc_ == 0; rest &= rest - 1) {
    const Split& split = warp.splits[static_cast<size_t>(std::countr_zero(rest))];
    if (split.wait == Wait::None) first_pc_ = split.pc;
  }
}

void ClusterTracer::ran(const Warp& warp) {
  const uint32_t last_pc = warp.splits[warp.current].pc;
  acting_ = nullptr;
  const auto known = last_.find(&warp);
  TraceEvent* last = known == last_.end() ? nullptr : &events_[known->second];
  if (last != nullptr && last->kind == TraceEvent::Kind::Wait) last->end = runs_from_, last->is_open = false;
  const auto next = [&](TraceEvent::Kind kind, uint64_t begin, uint64_t end, uint32_t pc) -> TraceEvent& {
    last_[&warp] = static_cast<uint32_t>(events_.size());
    TraceEvent& event = add(kind, warp.cta->rank, begin, end);
    event.warp = static_cast<int32_t>(warp.index);
    event.pc = pc;
    return event;
  };
  if (last != nullptr && last->kind == TraceEvent::Kind::Run && last->end == runs_from_)
    last->end = warp.time, last->last_pc = last_pc;
  else
    next(TraceEvent::Kind::Run, runs_from_, warp.time, first_pc_).last_pc = last_pc;
  if (warp.has_ready_split() || warp.live == 0) return;
  const Split& reason = *reason_of(warp);
  TraceEvent& wait = next(TraceEvent::Kind::Wait, warp.time, warp.time, reason.pc);
  wait.wait = reason.wait;
  wait.barrier = barrier_of(reason, *warp.cta);
  wait.amount = reason.arguments[1];
}

void ClusterTracer::woken(const Warp& warp) {
  if (&warp == acting_) return;
  const auto known = last_.find(&warp);
  if (known == last_.end()) return;
  TraceEvent& wait = events_[known->second];
  const bool is_known = wait.actor.operation != Actor::kNone || wait.actor.warp != Actor::kNone;
  if (wait.kind == TraceEvent::Kind::Wait && !is_known) wait.actor = actor();
}

void ClusterTracer::submitted(const AsyncOperation& operation, uint64_t at, uint64_t begin, uint64_t free) {
  operations_.push_back(static_cast<uint32_t>(events_.size()));
  TraceEvent& event = add(TraceEvent::Kind::Operation, operation.origin.cta_rank, begin, std::max(free, begin + 1));
  event.warp = operation.origin.warp;
  event.pc = operation.origin.pc;
  event.issued = at;
  event.actor.operation = actor_.operation;
  event.name = operation.describe();
  event.unit = operation.unit();
  event.footprint = std::make_unique<Footprint>(operation.footprint());
  event.amount = submitted_[operation.origin.cta_rank]++;
}

void ClusterTracer::read(TraceEvent& event) const {
  std::string bytes;
  for (const Footprint::Place& place : event.footprint->places) {
    if (place.space != Footprint::Place::Space::Shared || place.written) continue;
    const std::vector<uint8_t>& memory = cluster_.ctas[place.rank].smem;
    const size_t begin = std::min<size_t>(place.first, memory.size());
    bytes.append(reinterpret_cast<const char*>(memory.data()) + begin,
                 std::min<size_t>(place.count, memory.size() - begin));
  }
  if (bytes.empty()) return;
  event.read = static_cast<uint32_t>(std::hash<std::string>{}(bytes));
  const uint64_t process = cluster_.launch->number * kProcessesPerLaunch + event.cta;
  if (trace_.contents->process == process && trace_.contents->operation == event.amount) event.bytes = std::move(bytes);
}

void ClusterTracer::takes_effect(uint64_t number, uint64_t now) {
  const uint32_t operation = operations_[number];
  TraceEvent& event = events_[operation];
  event.seen = now;
  event.is_open = false;
  if (trace_.contents) read(event);
  acting_ = nullptr;
  actor_ = {};
  actor_.operation = operation, actor_.pc = event.pc, actor_.time = now;
}

void ClusterTracer::on(const ReportEvent& told) {
  if (told.finding.is_of_check()) {
    TraceEvent& event = events_.emplace_back();
    event.kind = TraceEvent::Kind::Report;
    event.begin = event.end = told.time;
    event.pc = ~0u;
    event.name = report::sentence(told.finding);
    for (const Side* side : {&told.finding.first, &told.finding.second}) {
      if (!side->spot) continue;
      event.sides.push_back(*side->spot);
      event.cta = side->spot->cta, event.warp = side->spot->warp, event.pc = side->spot->pc;
    }
    return;
  }
  const Warp* const warp = told.warp;
  const Origin* const origin = told.origin;
  const uint32_t rank = warp != nullptr ? warp->cta->rank : origin != nullptr ? origin->cta_rank : 0;
  const uint64_t time = warp != nullptr ? warp->time : told.time;
  TraceEvent& event = add(TraceEvent::Kind::Report, rank, time, time);
  event.warp = warp != nullptr ? static_cast<int32_t>(warp->index) : origin != nullptr ? origin->warp : -1;
  event.pc = warp != nullptr ? warp->splits[warp->current].pc : origin != nullptr ? origin->pc : ~0u;
  event.actor.operation = actor_.operation;
  event.name = report::sentence(told.finding);
}

void ClusterTracer::on(const BarrierEvent& told) {
  if (told.what == BarrierEvent::What::Invalidate) return;
  const Actor who = actor();
  TraceEvent& event = add(TraceEvent::Kind::Barrier, told.barrier.cta, who.time, who.time);
  event.actor = who;
  event.pc = who.pc;
  event.barrier = told.barrier;
  event.amount = told.amount;
  event.state = told.state;
  event.name = name_of(told.what);
}

}  // namespace sim
