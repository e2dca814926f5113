// Replays what the clusters of a launch demand, all in one time: waits, and the service of each unit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/gpu.h"
#include "timing/constants.h"
#include "timing/demand.h"
#include "timing/power_model.h"
#include "timing/replay_log.h"

namespace sim::timing {

/// What a launch demands. Clusters of one kind demand the same, but for where their boxes lie.
struct GridDemands {
  uint32_t cluster_size = 1, resident = 1;  ///< CTAs; clusters that the GPU holds at once
  uint32_t ctas_per_sm = 1;
  Sites sites;
  std::vector<ClusterDemands> kinds;
  std::vector<uint32_t> executed;             ///< by kind: the cluster that it is known from
  std::vector<uint32_t> kind_of;              ///< by cluster
  std::vector<std::vector<BoxPlace>> places;  ///< by cluster: of all its loads, by rank, then by warp, then in order
  /// Where clusters take over others' work (cluster launch control), by kind: the work of how many others. Kind 0 is
  /// that of none, the last kind that of most. The places of a cluster are those of its own work then. Empty: none
  /// does.
  std::vector<uint32_t> grants;
  double from_dram = 0;  ///< of the bytes that ordinary loads ask L2 for: those that come from DRAM
  bool only_last_loads =
      false;  ///< each cluster is as the last of those that it counts, but one alone loads what all wrote
  std::vector<std::string> uncounted;  ///< instructions that it has and whose time is not known
  bool overlaps = false;               ///< it may start before the launch before it has ended
};

struct PredictedTimes {
  Activity activity;        ///< of all launches together; cycles from the first CTA's start to the last one's end
  double tensor_share = 0;  ///< of the cycles, in which tensor cores are busy, all SMs together
  double l2_share = 0, dram_share = 0;
  /// Of what an SM's schedulers can issue, its shared memory and L1 can serve, and its ordinary accesses can get through to L2.
  double issue_share = 0, shared_share = 0, lines_share = 0;
  int64_t dram_read = 0, dram_written = 0;
  int64_t cluster_cycles = 0;  ///< of the longest cluster
};

/// Of the SMs: the mean, and how far those of the fastest GPC and the slowest are apart, in parts of it.
struct ModelClock {
  double ghz = 0, spread = 0;
};

/// All launches of one call, in order. `clock`: of the SMs, for DRAM has its own. Throws std::runtime_error if they wait for
/// one another for ever.
/// `log`: what it is to note for a trace; may be null.
PredictedTimes replay(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& constants,
                      const ModelClock& clock, ReplayLog* log = nullptr);

}  // namespace sim::timing
