#include "check/observer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/async/box.h"
#include "exec/async/destination.h"
#include "exec/core/program.h"
#include "machine/address.h"
#include "machine/global_memory.h"

namespace sim {

// ---- branches

namespace {

/// Whether the branch skips at most one instruction with an effect. In machine code that is a predicate, and lanes stay
/// converged.
bool is_predicate(const Program& program, uint32_t branch, uint32_t target) {
  constexpr uint32_t kLongest = 24;
  if (target <= branch || target - branch > kLongest) return false;
  uint32_t effects = 0;
  for (uint32_t pc = branch + 1; pc < target; ++pc) {
    const Traits& traits = program.traits[pc];
    if (traits.transfers_control || traits.may_wait) return false;
    if (!program.ops[pc].pure && !traits.is_load) ++effects;
  }
  return effects <= 1;
}

}  // namespace

// ---- the launch, and its clusters

std::unique_ptr<Watcher> OrderWatcher::watch(Cluster& cluster) {
  return std::make_unique<Observer>(cluster, check_, detector_.get(), fragments_, reports_);
}

void OrderWatcher::turns_are_over() {
  if (detector_) check_.fold(*detector_);
}

namespace {

EventSet wanted(bool reports) {
  EventSet all{EventKind::Life,  EventKind::SomeSteps, EventKind::Lanes,   EventKind::Access, EventKind::Store,
               EventKind::Fence, EventKind::Signal,    EventKind::Barrier, EventKind::Phase,  EventKind::Wait,
               EventKind::Issue, EventKind::Landing,   EventKind::Commit,  EventKind::Tensor, EventKind::Operands};
  if (reports) all.add({EventKind::Schedule});
  return all;
}

}  // namespace

Observer::Observer(Cluster& cluster, order::LaunchCheck& launch, order::RaceDetector* detector,
                   const Fragments& fragments, bool reports)
    : Watcher(wanted(reports)),
      cluster_(cluster),
      launch_(launch),
      shared_(detector),
      program_(*cluster.launch->program),
      fragments_(fragments),
      registers_(fragments) {}

void Observer::on(const LifeEvent& event) {
  switch (event.what) {
    case LifeEvent::What::Begins: {
      if (shared_ == nullptr) own_ = launch_.make_detector();
      detector_ = shared_ != nullptr ? shared_ : own_.get();
      registers_ = FragmentWatch(fragments_);
      acting_ = nullptr, completes_at_ = 0;
      ctas_.clear();
      for (Cta& cta : event.cluster.ctas) began(cta);
      break;
    }
    case LifeEvent::What::Ends:
      if (shared_ == nullptr) {
        own_->call(nullptr);
        launch_.end(event.cluster.number, std::move(own_));
      }
      break;
    case LifeEvent::What::Fails: break;
  }
}

void Observer::began(Cta& cta) {
  const Launch& launch = *cta.cluster->launch;
  const uint32_t number = cta.index[0] + launch.grid[0] * (cta.index[1] + launch.grid[1] * cta.index[2]);
  ctas_.push_back(&detector_->begin({number, cta.cluster->number}, cta.rank, launch.threads_per_cta()));
  ctas_.back()->memory = cta.smem.data();
}

/// Keeps the acting warp or operation, whose time findings get. Clusters that alternate share the checker.
void Observer::on(const ScheduleEvent& event) {
  using What = ScheduleEvent::What;
  switch (event.what) {
    case What::Runs: acting_ = event.warp, completes_at_ = 0; break;
    case What::Stops: acting_ = nullptr; break;
    case What::TakesEffect: acting_ = nullptr, completes_at_ = event.time; break;
    case What::IsDone: acting_ = nullptr, completes_at_ = 0; break;
    default: return;
  }
  detector_->call(this);
}

void Observer::on_finding(const order::Finding& finding) {
  cluster_.watchers.tell(ReportEvent{cluster_, finding, now()});
}

// ---- lanes

order::By Observer::by(const Warp& warp, Mask lanes, uint32_t pc) const {
  return {checked(*warp.cta), static_cast<uint16_t>(warp.index), lanes, pc};
}

void Observer::on(const StepEvent& event) {
  const std::optional<uint32_t> reader = registers_.executed(event.warp, event.pc);
  if (reader && !is_serial())
    detector_->wgmma_overwritten(by(event.warp, event.warp.splits[event.warp.current].mask, event.pc), *reader);
}

void Observer::on(const LaneEvent& event) {
  using What = LaneEvent::What;
  const auto who = [&] { return by(event.warp, event.lanes); };
  switch (event.what) {
    case What::Part:
      if (!is_predicate(program_, who().pc, event.target)) detector_->part(who(), event.others);
      break;
    case What::MayPart: detector_->may_part(who()); break;
    case What::Aligned: detector_->aligned(who()); break;
    case What::Meet: detector_->meet(who()); break;
    case What::Sync: detector_->sync_warp(who()); break;
    case What::Exit: detector_->exit(who()); break;
    case What::CtaExits: detector_->end(checked(*event.warp.cta)); break;
    case What::Elects: who().threads().elected = event.lanes; break;
    case What::Registers: detector_->set_registers(who(), event.target); break;
    case What::WarpExits:
    case What::NextLaunch: break;
  }
}

void Observer::on(const FenceEvent& event) {
  switch (event.what) {
    case FenceEvent::What::Memory: fence(event.warp, event.lanes); break;
    case FenceEvent::What::WgmmaFence: registers_.fenced(event.warp); break;
    case FenceEvent::What::TensorMapRead: {
      const order::By who = by(event.warp, event.lanes);
      detector_->acquire_map(who, event.map, ordering(who.pc).scope);
      break;
    }
  }
}

void Observer::fence(const Warp& warp, Mask lanes) {
  using Fence = Ordering::Fence;
  const order::By who = by(warp, lanes);
  const Ordering& what = ordering(who.pc);
  switch (what.fence) {
    case Fence::None: break;
    case Fence::Threads:
      detector_->fence(who, what.scope, what.acquires, what.releases, !what.orders(Ordering::kGlobal));
      break;
    case Fence::ProxyAsync:
      detector_->fence_proxy_async(who, what.orders(Ordering::kOwnShared), what.orders(Ordering::kGlobal),
                                   what.orders(Ordering::kPeers));
      break;
    case Fence::BarrierInit: detector_->fence_barrier_init(who); break;
    case Fence::BeforeThreadSync: detector_->fence_before_thread_sync(who); break;
    case Fence::AfterThreadSync: detector_->fence_after_thread_sync(who); break;
    case Fence::TensorMap: detector_->release_maps(who, what.scope); break;
    case Fence::Grid: detector_->grid_wait(who); break;
  }
}

// ---- barriers

void Observer::on(const BarrierEvent& event) {
  using What = BarrierEvent::What;
  const auto who = [&] { return by(*event.warp, event.lanes); };
  switch (event.barrier.kind) {
    case BarrierName::Kind::Mbarrier:
      if (event.what == What::Init) detector_->barrier_init(who(), event.barrier.id);
      if (event.what == What::Invalidate) detector_->barrier_invalidate(who(), event.barrier.id);
      break;
    case BarrierName::Kind::Named:
      // __syncthreads() itself does not require convergence: the compiler chooses the .aligned form where it holds.
      if (event.is_aligned && event.expected != 0) detector_->aligned(who());
      detector_->barrier_arrive(by(*event.warp, event.warp->live), event.barrier.id, event.expected == 0);
      break;
    case BarrierName::Kind::Cluster: detector_->cluster_arrive(who(), ordering(who().pc).releases); break;
    case BarrierName::Kind::None: break;
  }
}

void Observer::on(const PhaseEvent& event) {
  order::CtaKnowledge& cta = *ctas_[event.barrier.cta];
  switch (event.barrier.kind) {
    case BarrierName::Kind::Mbarrier: detector_->phase_complete(cta, event.barrier.id); break;
    case BarrierName::Kind::Named: detector_->barrier_complete(cta, event.barrier.id); break;
    case BarrierName::Kind::Cluster: detector_->cluster_complete(event.cluster.number); break;
    case BarrierName::Kind::None: break;
  }
}

void Observer::on(const SignalEvent& event) {
  using What = SignalEvent::What;
  if (event.what == What::Delivered) {
    detector_->arrived(*ctas_[event.rank], event.offset,
                       static_cast<const order::OperationRecord&>(*event.mark).signal);
    return;
  }
  const order::By who = by(*event.warp, 1u << event.lane);
  auto operation = std::make_shared<order::OperationRecord>();
  switch (event.what) {
    case What::Thread: {
      const Ordering& what = ordering(who.pc);
      operation->signal = detector_->signal(who, what.releases, what.scope);
      break;
    }
    case What::Copies: operation->signal = detector_->copy_signal(who); break;
    case What::Tensor: operation->signal = detector_->tensor_commit(who, event.group); break;
    case What::Delivered: break;
  }
  const uint32_t ranks = event.what == What::Tensor ? event.ranks : 1u << event.rank;
  const bool is_instant = event.what == What::Thread && event.rank == event.warp->cta->rank;
  for (uint32_t rest = is_instant ? 0 : ranks; rest; rest &= rest - 1) {
    const auto rank = static_cast<size_t>(std::countr_zero(rest));
    if (rank < ctas_.size()) detector_->coming(who, *ctas_[rank], event.offset, operation->signal);
  }
  event.mark = std::move(operation);
}

void Observer::on(const WaitEvent& event) {
  const bool asks = event.what == WaitEvent::What::Asks;
  const order::By who = by(event.warp, event.lanes, event.pc);
  if (event.what == WaitEvent::What::Tries) {
    event.in_doubt = event.passed == 0 || detector_->is_in_doubt(who, event.barrier.id);
    return;
  }
  switch (event.why) {
    case Wait::Mbarrier: {
      if (asks) return detector_->may_part(who);
      const Ordering& what = ordering(event.pc);
      detector_->waited(who, event.barrier.id, what.scope, what.acquires);
      break;
    }
    case Wait::CtaBarrier: detector_->barrier_pass(who, event.barrier.id); break;
    case Wait::ClusterBarrier: detector_->cluster_pass(who, ordering(event.pc).acquires); break;
    case Wait::BulkGroup:
      if (asks) detector_->bulk_wait(who, event.first, event.second != 0);
      break;
    case Wait::CopyGroup:
      if (asks) detector_->copy_wait(who, event.first, event.second != 0);
      break;
    case Wait::WgmmaGroup:
      registers_.waited(event.warp, event.first);
      detector_->wgmma_wait(by(event.warp, event.warp.live, event.pc), event.first);
      break;
    case Wait::TmemLoad:
    case Wait::TmemStore:
      if (asks) detector_->tensor_wait(who, event.why == Wait::TmemStore);
      break;
    case Wait::Launch:
      if (asks) fence(event.warp, event.lanes);
      break;
    default: break;
  }
}

// ---- memory

void Observer::on(const AccessEvent& event) {
  if (!event.is_done) return;
  switch (event.memory) {
    case AccessEvent::Memory::Global:
      if (event.role == order::Role::TensorMap)
        map_used(event);
      else
        accessed(event, event.lanes, nullptr, event.address);
      break;
    case AccessEvent::Memory::Shared: accessed_shared(event); break;
    case AccessEvent::Memory::Constant:
    case AccessEvent::Memory::Local: break;
  }
}

void Observer::map_used(const AccessEvent& event) {
  const uint64_t address = event.address[std::countr_zero(event.lanes)];
  if (in_param_window(address)) return;  // no thread can write there
  const GlobalMemory::Allocation* const memory = cluster_.launch->memory->find(address, 1);
  if (memory == nullptr || !memory->constant) detector_->use_map(by(event.warp, event.lanes), address);
}

/// Splits the access by CTA; nearly always there is only one.
void Observer::accessed_shared(const AccessEvent& event) {
  uint64_t offset[32];
  for (Mask rest = event.lanes; rest; rest &= rest - 1)
    offset[first_lane(rest)] = event.address[first_lane(rest)] & kSharedOffsetMask;
  for (Mask rest = event.lanes; rest;) {
    const uint64_t rank = event.address[first_lane(rest)] >> kSharedRankShift;
    Mask together = 0;
    for (Mask others = rest; others; others &= others - 1) {
      if (event.address[first_lane(others)] >> kSharedRankShift == rank) together |= 1u << first_lane(others);
    }
    accessed(event, together, ctas_[rank], offset);
    rest &= ~together;
  }
}

void Observer::accessed(const AccessEvent& event, Mask lanes, order::CtaKnowledge* target, const uint64_t* address) {
  const order::By who = by(event.warp, lanes, event.pc);
  const Ordering& what = ordering(who.pc);
  order::WarpAccess access;
  access.space = target == nullptr ? order::MemoryKind::Global : order::MemoryKind::Shared;
  access.target = target;
  access.address = address;
  access.bytes = event.bytes;
  access.role = event.role;
  access.reads = event.role != order::Role::Store && event.role != order::Role::Allocation;
  access.writes = event.role != order::Role::Load;
  access.read_modify_write = event.role == order::Role::Atomic;
  access.read_only = what.read_only;
  access.strong = what.strong, access.is_volatile = what.is_volatile;
  access.acquires = what.acquires, access.releases = what.releases;
  access.scope = what.scope;
  detector_->access(who, access);
}

void Observer::on(const StoreEvent& event) {
  if (!event.is_done || event.warp == nullptr) return;
  detector_->stored(event.changed);
  if (event.values != nullptr) lanes_stored(event);
}

void Observer::lanes_stored(const StoreEvent& event) {
  const Warp& warp = *event.warp;
  if (ordering(warp.splits[warp.current].pc).strong) return;  // such writes to one address are in some order
  for (Mask rest = event.lanes; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint8_t* const at = event.host[lane];
    if (std::memcmp(at, event.values + static_cast<size_t>(lane) * event.bytes, event.bytes) == 0) continue;
    // Another lane has stored a different value there later. (If no lane has, another thread did: a question of order.)
    Mask others = 0;
    for (Mask each = event.lanes; each; each &= each - 1) {
      const int other = first_lane(each);
      if (other != lane && event.host[other] == at) others |= 1u << other;  // aligned: never a partial overlap
    }
    if (others == 0) continue;
    const std::vector<Cta>& ctas = warp.cta->cluster->ctas;
    const auto target = std::find_if(ctas.begin(), ctas.end(), [&](const Cta& cta) {
      return at >= cta.smem.data() && at < cta.smem.data() + cta.smem.size();
    });
    const bool is_global = target == ctas.end();
    detector_->collide(by(warp, others | 1u << lane), is_global ? nullptr : &checked(*target),
                       is_global ? device_address(at) : static_cast<uint64_t>(at - target->smem.data()),
                       static_cast<uint32_t>(event.bytes));
    return;  // one finding per store is enough
  }
}

// ---- copies

void Observer::on(const IssueEvent& event) {
  const order::By who = by(event.warp, event.lanes);
  switch (event.role) {
    case order::Role::CopyAsync:
      detector_->copy_async(who, event.to_lanes, event.from_lanes, static_cast<uint32_t>(event.bytes), event.reading);
      break;
    case order::Role::BulkStore: {
      const std::vector<order::Range> from = event.box != nullptr
                                                 ? shared_ranges(*event.box, static_cast<uint32_t>(event.from))
                                                 : std::vector<order::Range>{{event.from, event.from + event.bytes}};
      const std::vector<order::Range> to =
          event.box != nullptr ? global_ranges(*event.box, true)
                               : std::vector<order::Range>{{event.to_global, event.to_global + event.bytes}};
      event.operation->mark = detector_->bulk_store(who, from, to, event.reduces);
      break;
    }
    default: event.operation->mark = loads(event, who); break;
  }
}

/// Bulk copies into shared memory.
std::unique_ptr<order::OperationRecord> Observer::loads(const IssueEvent& event, const order::By& who) {
  const Destination& to = *event.to;
  const std::vector<order::Range> ranges = event.box != nullptr
                                               ? shared_ranges(*event.box, to.offset)
                                               : std::vector<order::Range>{{to.offset, to.offset + event.bytes}};
  std::vector<order::RaceDetector::Landing> landings;
  for (const Credit& credit : to.credits)
    landings.push_back({ctas_[credit.destination], ranges, ctas_[credit.barrier_rank], to.barrier});
  std::vector<order::Range> from;
  if (event.box != nullptr)
    from = global_ranges(*event.box, false);
  else if (event.role == order::Role::BulkLoad)
    from = {{event.from, event.from + event.bytes}};
  return detector_->bulk_load(who, event.role, landings,
                              event.from_cta == nullptr ? nullptr : &checked(*event.from_cta), from, event.reduces);
}

void Observer::on(const LandingEvent& event) {
  if (event.mark == nullptr) return;
  auto& operation = static_cast<order::OperationRecord&>(*event.mark);
  switch (event.what) {
    case LandingEvent::What::Lands:
      detector_->landed(operation, event.number, *ctas_[event.barrier.cta], event.barrier.id);
      break;
    case LandingEvent::What::Writes: detector_->writing(operation); break;
    case LandingEvent::What::Written: detector_->written(operation, event.changed); break;
  }
}

void Observer::on(const CommitEvent& event) {
  const order::By who = by(event.warp, event.lanes);
  switch (event.what) {
    case CommitEvent::What::Bulk: detector_->bulk_commit(who); break;
    case CommitEvent::What::Copies: detector_->copy_commit(who); break;
    case CommitEvent::What::Wgmma:
      registers_.committed(event.warp);
      detector_->wgmma_commit(by(event.warp, event.warp.live));
      break;
  }
}

// ---- tensor cores

/// Whether the kernel's machine code waits for each wgmma by itself (nvcc -G).
bool Observer::is_serial() const { return cluster_.launch->program->module->for_debugging; }

void Observer::on(const TensorEvent& event) {
  using What = TensorEvent::What;
  if (event.what == What::Multiplies) return;
  const Warp& warp = *event.warp;
  const order::By who = by(warp, event.lanes, event.pc);
  const auto ranges = [](const std::vector<TensorAccesses::Part>& parts) {
    std::vector<order::Range> all;
    for (const TensorAccesses::Part& part : parts) all.push_back(part.range);
    return all;
  };
  const TensorAccesses& seen = *event.accesses;
  switch (event.what) {
    case What::Wgmma: {
      if (const std::optional<uint32_t> before = registers_.obstacle(warp, who.pc); before && !is_serial())
        detector_->wgmma_unfenced(who, *before);
      registers_.issued(warp, who.pc);
      detector_->wgmma(who, ranges(seen.operands));
      break;
    }
    case What::Mma:
    case What::Move: {
      const auto to_cells = [&](const std::vector<TensorAccesses::Part>& parts) {
        std::vector<order::RaceDetector::TensorRanges> all;
        for (const TensorAccesses::Part& part : parts) {
          if (all.empty() || all.back().cta != ctas_[part.rank]) all.push_back({ctas_[part.rank], {}});
          all.back().ranges.push_back(part.range);
        }
        return all;
      };
      detector_->tensor_operation(who, {.group = seen.group,
                                        .operands = to_cells(seen.operands),
                                        .sources = to_cells(seen.sources),
                                        .results = to_cells(seen.results),
                                        .accumulator = seen.accumulator,
                                        .result = seen.result,
                                        .accumulates = seen.accumulates});
      break;
    }
    case What::Load:
    case What::Store: detector_->tensor_transfer(who, ranges(seen.results), event.what == What::Store); break;
    case What::Allocate:
    case What::Deallocate: {
      const order::Role role = event.what == What::Allocate ? order::Role::Allocation : order::Role::Deallocation;
      detector_->tensor_allocate(who, ranges(seen.results), role,
                                 seen.group == 2 ? ctas_[warp.cta->rank ^ 1] : nullptr);
      break;
    }
    case What::Multiplies: break;
  }
}

}  // namespace sim
