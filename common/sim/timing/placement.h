// The topology of a GPU's SMs: the group, which clusters cannot leave, the GPC, the TPC, the half of L2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/gpu.h"

namespace sim::timing {

struct SmPlace {
  uint32_t group = 0, gpc = 0, tpc = 0;
};

struct SmPlacement {
  /// Clusters are distributed over groups cyclically; CTAs without clusters fill one group after the other, as observed
  /// on an H200.
  explicit SmPlacement(const Gpu& gpu);

  std::size_t groups = 1;
  std::vector<SmPlace> sms;
  std::vector<uint32_t> by_group;     ///< SMs, those of a group together
  std::vector<uint32_t> half_of_gpc;  ///< of L2
};

}  // namespace sim::timing
