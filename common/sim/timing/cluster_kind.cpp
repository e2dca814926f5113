#include "timing/cluster_kind.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sim::timing {
namespace {

/// Numbers the mbarriers that a step names.
void number_barriers(ClusterClass& kind, const ClusterDemands& demands, const Forms& forms) {
  using What = DemandStep::What;
  std::set<std::pair<uint32_t, uint32_t>> named;
  for (const auto& cta : demands) {
    for (const WarpDemands& warp : cta) {
      for (const DemandStep& step : warp.steps) {
        if (step.what == What::Init || step.what == What::Wait || step.what == What::Arrive ||
            step.what == What::Expect)
          named.emplace(step.rank, step.slot);
        if (step.what == What::MmaArrive || step.what == What::Ask) {
          for (uint32_t rank = 0; rank < demands.size(); ++rank) named.emplace(rank, step.slot);
        }
        if (step.what == What::Load) {
          const LoadForm& form = forms.loads[step.value];
          for (const auto& [rank, barrier_rank] : form.to) named.emplace(barrier_rank, form.slot);
        }
      }
    }
  }
  for (const auto& [rank, slot] : named) kind.slots = std::max(kind.slots, slot + 1);
  kind.numbers.resize(kind.slots * demands.size());
  for (const auto& [rank, slot] : named) kind.numbers[rank * kind.slots + slot] = kind.barriers++;
}

}  // namespace

ClusterClass prepare(const ClusterDemands& demands, const Forms& forms) {
  ClusterClass kind;
  number_barriers(kind, demands, forms);
  uint32_t place = 0;
  for (uint32_t rank = 0; rank < demands.size(); ++rank) {
    kind.warps.push_back(static_cast<uint32_t>(demands[rank].size()));
    for (uint32_t warp = 0; warp < demands[rank].size(); ++warp) {
      const WarpDemands& mine = demands[rank][warp];
      const auto twin = std::find_if(kind.gangs.begin(), kind.gangs.end(), [&](const WarpClass& gang) {
        return gang.rank == rank && gang.first_warp / 4 == warp / 4 && mine.places.empty() && *gang.steps == mine.steps;
      });
      if (twin != kind.gangs.end()) {
        ++twin->warps;
        twin->members.push_back(warp);
        continue;
      }
      kind.gangs.push_back(
          {rank, warp, 1, &mine.steps, place, static_cast<uint32_t>(mine.places.size()), warp % 4 == 0, 0, {warp}});
      place += static_cast<uint32_t>(mine.places.size());
    }
  }
  for (WarpClass& gang : kind.gangs) {
    for (uint32_t i = 0; i < kind.gangs.size(); ++i) {
      const WarpClass& other = kind.gangs[i];
      if (other.leads && other.rank == gang.rank && other.first_warp == gang.first_warp / 4 * 4) gang.leader = i;
    }
  }
  return kind;
}

}  // namespace sim::timing
