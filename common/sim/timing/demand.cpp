#include "timing/demand.h"

#include <utility>

#include "machine/cta.h"

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
  // Accesses in a row are one step.
  const bool is_access =
      what == Step::What::Shared || what == Step::What::GlobalStore || what == Step::What::GlobalLoad;
  if (is_access && !steps.empty() && steps.back().what == what && steps.back().slot == slot) {
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
void Recorder::note_store(Warp& warp, const StoreSite& site) {
  note(warp, Step::What::Store, 0, 0, number(sites_.stores, stores_, site));
}
void Recorder::note_mma(Warp& warp, const MmaSite& site, uint32_t leader) {
  note(warp, Step::What::Mma, leader, 0, number(sites_.mmas, mmas_, site));
}

}  // namespace sim::timing
