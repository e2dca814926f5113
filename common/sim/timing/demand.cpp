#include "timing/demand.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "exec/async/destination.h"
#include "machine/cta.h"
#include "timing/counters.h"
#include "timing/ordinary_loads.h"

namespace sim::timing {

WarpDemands& DemandWatcher::demands_of(const Warp& warp) { return demands_[warp.cta->rank][warp.index]; }

void DemandWatcher::note(const Warp& warp, DemandStep::What what, uint32_t rank, uint32_t slot, uint32_t value) {
  note_at(warp, warp.splits[warp.current].pc, what, rank, slot, value);
}

void DemandWatcher::note_at(const Warp& warp, uint32_t pc, DemandStep::What what, uint32_t rank, uint32_t slot,
                            uint32_t value) {
  if (warp.alone && what != DemandStep::What::Load) return;
  uint64_t& before = executed_[&warp];
  const auto issued = static_cast<uint32_t>(warp.executed - std::exchange(before, warp.executed));
  auto& [steps, pcs, places] = demands_of(warp);
  // Successive accesses are one step; but the loads of a loop's next iteration wait for those of the previous one.
  const bool is_load = what == DemandStep::What::GlobalLoad || what == DemandStep::What::CachedLoad;
  const bool is_access = is_load || what == DemandStep::What::Shared || what == DemandStep::What::GlobalStore;
  if (is_access && !steps.empty() && steps.back().what == what && steps.back().slot == slot &&
      (!is_load || pc > pcs.back())) {
    steps.back().value += value;
    steps.back().issued += issued;
    return;
  }
  steps.push_back({what, static_cast<uint8_t>(rank), static_cast<uint16_t>(slot), value, issued});
  pcs.push_back(pc);
}

template <class Form>
uint32_t DemandWatcher::number(std::vector<Form>& all, std::map<Form, uint32_t>& known, const Form& form) {
  for (size_t i = known.size(); i < all.size(); ++i) known.emplace(all[i], static_cast<uint32_t>(i));
  const auto [at, fresh] = known.emplace(form, static_cast<uint32_t>(all.size()));
  if (fresh) all.push_back(form);
  return at->second;
}

void DemandWatcher::note_load(const IssueEvent& event) {
  const TensorMap& map = event.box->map;
  LoadForm form{.tensor = map.address,
                .rows = event.box->rows,
                .row_bytes = event.box->inner_bytes,
                .fetch_bytes = 32u << map.l2_promotion,
                .to = {},
                .slot = static_cast<uint16_t>(event.to->barrier / 8),
                .row_step = map.rank > 1 ? map.strides[0] : 0};
  for (const Credit& credit : event.to->credits)
    form.to.push_back({static_cast<uint8_t>(credit.destination), static_cast<uint8_t>(credit.barrier_rank)});
  const uint32_t index = number(forms_.loads, loads_, form);
  note(event.warp, DemandStep::What::Load, 0, 0, index);
  demands_of(event.warp)
      .places.push_back(
          {index, static_cast<int32_t>(event.box->start()), static_cast<int32_t>(event.box->coordinate[1])});
}

void DemandWatcher::note_ordinary_load(const AccessEvent& event) {
  if (loads_of_lanes_ == nullptr) return;
  const std::vector<uint64_t> sectors = touched_sectors(event.address, event.lanes, event.bytes);
  const OrdinaryLoads::Missed missed =
      loads_of_lanes_->load(event.warp.cta->rank, sectors, event.allocation, event.allocation_bytes);
  if (missed.lines > 0) {
    note(event.warp, DemandStep::What::GlobalLoad, 0,
         static_cast<uint32_t>(missed.sectors * kSectorBytes / missed.lines), missed.lines);
  } else {
    uint32_t lines = 0;
    for (size_t i = 0; i < sectors.size(); ++i) lines += i == 0 || sectors[i] / 4 != sectors[i - 1] / 4;
    note(event.warp, DemandStep::What::CachedLoad, 0, 0, lines);
  }
}

void DemandWatcher::on(const AccessEvent& event) {
  if (!event.is_done || !event.is_own_instruction) return;
  switch (event.memory) {
    case AccessEvent::Memory::Local: break;
    case AccessEvent::Memory::Shared: {
      const uint32_t wavefronts = shared_wavefronts(offsets_of(event).data(), event.lanes, event.bytes);
      note(event.warp, DemandStep::What::Shared, 0, 0, wavefronts);
      if (!event.warp.alone)
        demands_of(event.warp).steps.back().conflicts += wavefronts - shared_passes(event.lanes, event.bytes);
      break;
    }
    case AccessEvent::Memory::Global:
    case AccessEvent::Memory::Constant: {
      if (event.role == Role::Load) {
        note_ordinary_load(event);
        break;
      }
      // L2 executes atomic operations; L1 does not keep their lines.
      const Touched all = touched(event.address, event.lanes, event.bytes);
      const uint64_t bytes = event.role == Role::Store ? static_cast<uint64_t>(std::popcount(event.lanes)) *
                                                             event.bytes / std::max<uint64_t>(all.lines, 1)
                                                       : 0;
      note(event.warp, DemandStep::What::GlobalStore, 0, static_cast<uint32_t>(bytes),
           static_cast<uint32_t>(all.lines));
      break;
    }
  }
}

void DemandWatcher::on(const LaneEvent& event) {
  if (event.what == LaneEvent::What::WarpExits) note(event.warp, DemandStep::What::Exit);
  if (event.what == LaneEvent::What::NextLaunch) note(event.warp, DemandStep::What::GridDepLaunch);
}

void DemandWatcher::on(const SignalEvent& event) {
  switch (event.what) {
    case SignalEvent::What::Thread:
      if (event.expects) note(*event.warp, DemandStep::What::Expect, event.rank, event.offset / 8, event.expected);
      if (event.arrivals > 0) note(*event.warp, DemandStep::What::Arrive, event.rank, event.offset / 8, event.arrivals);
      break;
    case SignalEvent::What::Tensor:
      note(*event.warp, DemandStep::What::MmaArrive, event.rank, event.offset / 8, event.ranks);
      break;
    case SignalEvent::What::Copies:
    case SignalEvent::What::Delivered: break;
  }
}

void DemandWatcher::on(const BarrierEvent& event) {
  switch (event.barrier.kind) {
    case BarrierName::Kind::Mbarrier:
      if (event.what == BarrierEvent::What::Init)
        note(*event.warp, DemandStep::What::Init, event.barrier.cta, event.barrier.id / 8, event.amount);
      break;
    case BarrierName::Kind::Named:
      note(*event.warp, DemandStep::What::BarrierArrive, 0, event.barrier.id, event.expected / 32);
      break;
    case BarrierName::Kind::Cluster: note(*event.warp, DemandStep::What::ClusterArrive, 0, 0, event.amount); break;
    case BarrierName::Kind::None: break;
  }
}

void DemandWatcher::on(const WaitEvent& event) {
  using What = DemandStep::What;
  const bool asks = event.what == WaitEvent::What::Asks;
  const auto note_wait = [&](What what, uint32_t rank = 0, uint32_t slot = 0, uint32_t value = 0) {
    note_at(event.warp, event.pc, what, rank, slot, value);
  };
  switch (event.why) {
    case Wait::Mbarrier:
      if (event.what == WaitEvent::What::Wakes || (asks && event.passed == event.lanes))
        note_wait(What::Wait, event.barrier.cta, event.barrier.id / 8, event.second);
      break;
    case Wait::CtaBarrier: note_wait(What::BarrierWait, 0, event.barrier.id); break;
    case Wait::ClusterBarrier: note_wait(What::ClusterWait); break;
    case Wait::BulkGroup:
      if (!asks) note_wait(What::BulkWait, 0, event.second, event.first);
      break;
    case Wait::WgmmaGroup: note_wait(What::GroupWait, 0, 0, event.first); break;
    case Wait::TmemLoad:
    case Wait::TmemStore:
      if (!asks) note_wait(What::TmemWait);
      break;
    case Wait::Launch: note_wait(What::GridDepWait); break;
    default: break;
  }
}

void DemandWatcher::on(const IssueEvent& event) {
  if (event.role == Role::Cancel)
    note(event.warp, DemandStep::What::Ask, event.warp.cta->rank, event.to->barrier / 8,
         event.to_all ? ~0u : 1u << event.warp.cta->rank);
  if (event.box == nullptr) return;
  if (event.role == Role::BulkLoad) note_load(event);
  if (event.role == Role::BulkStore) {
    const StoreForm form{event.box->rows, event.box->inner_bytes};
    note(event.warp, DemandStep::What::Store, 0, 0, number(forms_.stores, stores_, form));
  }
}

void DemandWatcher::on(const CommitEvent& event) {
  if (event.what == CommitEvent::What::Bulk) note(event.warp, DemandStep::What::BulkCommit);
  if (event.what == CommitEvent::What::Wgmma) note(event.warp, DemandStep::What::Commit);
}

void DemandWatcher::on(const TensorEvent& event) {
  using What = TensorEvent::What;
  switch (event.what) {
    case What::Wgmma:
    case What::Mma: {
      const MmaForm form{event.m, event.n, event.k, event.ctas, event.a_elsewhere, event.what == What::Wgmma};
      note(*event.warp, DemandStep::What::Mma, event.leader, 0, number(forms_.mmas, mmas_, form));
      break;
    }
    case What::Load:
    case What::Store: note(*event.warp, DemandStep::What::TmemLoad, 0, 0, event.amount); break;
    case What::Allocate: note_at(*event.warp, event.pc, DemandStep::What::TmemAlloc, 0, 0, event.amount); break;
    case What::Deallocate: note_at(*event.warp, event.pc, DemandStep::What::TmemDealloc, 0, 0, event.amount); break;
    case What::Move:
    case What::Multiplies: break;
  }
}

}  // namespace sim::timing
