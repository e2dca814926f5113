#include "timing/demand.h"

#include <utility>

#include "machine/cta.h"
#include "timing/ordinary_loads.h"

namespace sim::timing {

WarpDemands& Recorder::demands_of(const Warp& warp) { return demands_[warp.cta->rank][warp.index]; }

void Recorder::note(Warp& warp, Step::What what, uint32_t rank, uint32_t slot, uint32_t value) {
  note_at(warp, warp.split().pc, what, rank, slot, value);
}

void Recorder::note_at(Warp& warp, uint32_t pc, Step::What what, uint32_t rank, uint32_t slot, uint32_t value) {
  if (warp.alone && what != Step::What::Load) return;
  uint64_t& before = executed_[&warp];
  const auto issued = static_cast<uint32_t>(warp.executed - std::exchange(before, warp.executed));
  auto& [steps, pcs, places] = demands_of(warp);
  // Accesses in a row are one step; but the loads of a loop's next turn wait for those of the one before.
  const bool is_load = what == Step::What::GlobalLoad || what == Step::What::CachedLoad;
  const bool is_access = is_load || what == Step::What::Shared || what == Step::What::GlobalStore;
  if (is_access && !steps.empty() && steps.back().what == what && steps.back().slot == slot &&
      (!is_load || pc > pcs.back())) {
    steps.back().value += value;
    steps.back().issued += issued;
    return;
  }
  steps.push_back({what, static_cast<uint8_t>(rank), static_cast<uint16_t>(slot), value, issued});
  pcs.push_back(pc);
}

template <class Site>
uint32_t Recorder::number(std::vector<Site>& all, std::map<Site, uint32_t>& known, const Site& site) {
  for (size_t i = known.size(); i < all.size(); ++i) known.emplace(all[i], static_cast<uint32_t>(i));
  const auto [at, fresh] = known.emplace(site, static_cast<uint32_t>(all.size()));
  if (fresh) all.push_back(site);
  return at->second;
}

void Recorder::note_load(Warp& warp, const LoadSite& site, int32_t x, int32_t y) {
  const uint32_t index = number(sites_.loads, loads_, site);
  note(warp, Step::What::Load, 0, 0, index);
  demands_of(warp).places.push_back({index, x, y});
}
void Recorder::note_ordinary_load(Warp& warp, std::span<const uint64_t> sectors, uint64_t allocation,
                                  uint64_t allocation_bytes) {
  if (loads_of_lanes_ == nullptr) return;
  const OrdinaryLoads::Missed missed = loads_of_lanes_->load(warp.cta->rank, sectors, allocation, allocation_bytes);
  if (missed.lines > 0) {
    note(warp, Step::What::GlobalLoad, 0, static_cast<uint32_t>(missed.sectors * SECTOR_BYTES / missed.lines),
         missed.lines);
  } else {
    uint32_t lines = 0;
    for (size_t i = 0; i < sectors.size(); ++i) lines += i == 0 || sectors[i] / 4 != sectors[i - 1] / 4;
    note(warp, Step::What::CachedLoad, 0, 0, lines);
  }
}
void Recorder::note_store(Warp& warp, const StoreSite& site) {
  note(warp, Step::What::Store, 0, 0, number(sites_.stores, stores_, site));
}
void Recorder::note_mma(Warp& warp, const MmaSite& site, uint32_t leader) {
  note(warp, Step::What::Mma, leader, 0, number(sites_.mmas, mmas_, site));
}

}  // namespace sim::timing
