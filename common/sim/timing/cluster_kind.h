// A kind of cluster, made ready to be replayed: which warps run as one, and which mbarriers there are.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/demand.h"

namespace sim::timing {

/// Warps that demand the same, step by step: they run as one. Those of a warpgroup only.
struct WarpClass {
  uint32_t rank, first_warp, warps;
  const std::vector<DemandStep>* steps;
  uint32_t first_place;  ///< index of its first load among those of the cluster
  uint32_t loads;
  bool leads;       ///< has the first warp of its warpgroup, which issues for all four
  uint32_t leader;  ///< index of the gang that does
  std::vector<uint32_t> members;
};

struct ClusterClass {
  std::vector<WarpClass> gangs;
  std::vector<uint32_t> warps;    ///< by rank: that exist
  uint32_t barriers = 0;          ///< mbarriers of the cluster
  uint32_t slots = 1;             ///< of shared memory in which there may be one
  std::vector<uint32_t> numbers;  ///< by rank and slot: the mbarrier's number
};

/// What it points to belongs to `demands`, which must outlive it.
ClusterClass prepare(const ClusterDemands& demands, const Sites& sites);

}  // namespace sim::timing
