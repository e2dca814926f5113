// A class of clusters, prepared for contention: the warps that run as one, and the mbarriers.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/demand.h"

namespace sim::timing {

/// Warps of one warpgroup with the same demands in every step: they are timed as one.
struct WarpClass {
  uint32_t rank, first_warp, warps;
  const std::vector<DemandStep>* steps;
  uint32_t first_place;  ///< index of its first load among those of the cluster
  uint32_t loads;
  bool leads;       ///< contains the first warp of its warpgroup, which issues for all four
  uint32_t leader;  ///< index of the class that contains it
  std::vector<uint32_t> members;
};

struct ClusterClass {
  std::vector<WarpClass> gangs;
  std::vector<uint32_t> warps;    ///< by rank: number of warps
  uint32_t barriers = 0;          ///< mbarriers of the cluster
  uint32_t slots = 1;             ///< 8-byte slots of shared memory that may hold an mbarrier
  std::vector<uint32_t> numbers;  ///< by rank and slot: the mbarrier's number
};

/// The result points into `demands`, which must outlive it.
ClusterClass prepare(const ClusterDemands& demands, const Forms& forms);

}  // namespace sim::timing
