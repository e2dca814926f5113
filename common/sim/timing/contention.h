// Contention of all clusters of a launch for the GPU's units, in one common time: waits, and the service of each unit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/gpu.h"
#include "timing/account.h"
#include "timing/constants.h"
#include "timing/contention_log.h"
#include "timing/demand.h"
#include "timing/power_model.h"

namespace sim::timing {

/// The demands of a launch. Clusters of one kind have the same demands except for the coordinates of their boxes.
struct GridDemands {
  uint32_t cluster_size = 1, resident = 1;  ///< CTAs; clusters that the GPU holds at once
  uint32_t ctas_per_sm = 1;
  Forms forms;
  std::vector<ClusterDemands> kinds;
  std::vector<uint32_t> executed;             ///< by kind: the cluster that was executed for it
  std::vector<uint32_t> kind_of;              ///< by cluster
  std::vector<std::vector<BoxPlace>> places;  ///< by cluster: of all its loads, by rank, then by warp, then in order
  /// With cluster launch control, by kind: the number of other clusters whose work it takes over. It is 0 for kind 0
  /// and largest for the last kind. The places of a cluster are then those of its own work. Empty: no cluster takes
  /// over work.
  std::vector<uint32_t> grants;
  double from_dram = 0;  ///< share of the bytes requested by ordinary loads that comes from DRAM
  bool only_last_loads =
      false;  ///< each cluster is executed as the last that it counts; but only one loads what all wrote
  std::vector<std::string> uncounted;  ///< its instructions without a known time
  bool overlaps = false;               ///< it may start before its predecessor has ended
};

struct PredictedTimes {
  Activity activity;        ///< of all launches together; cycles from the first CTA's start to the last one's end
  double tensor_share = 0;  ///< busy cycles of tensor cores, all SMs together
  double l2_share = 0, link_share = 0, dram_share = 0;
  /// Utilisation of an SM's issue slots, of its shared memory and L1, and of its ordinary accesses' path to L2.
  double issue_share = 0, shared_share = 0, lines_share = 0;
  int64_t dram_read = 0, dram_written = 0;
  int64_t link_bytes = 0;      ///< from one half of L2 to the other
  int64_t cluster_cycles = 0;  ///< of the longest cluster
  Shares account;              ///< of the tensor cores' time; all MMAs count as useful that execute at the full rate
};

/// Clock of the SMs: the mean, and the relative difference between the fastest and the slowest GPC.
struct ModelClock {
  double ghz = 0, spread = 0;
};

/// Lets all launches of one call contend, in order. `clock`: of the SMs; DRAM has its own. Throws std::runtime_error if
/// clusters wait for one another for ever. `log` gets the events for a trace; it may be null.
PredictedTimes contend(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& constants,
                       const ModelClock& clock, ContentionLog* log = nullptr);

}  // namespace sim::timing
