// Runs launches: all their clusters, in parallel on host threads, or on one thread if they can affect one another.
#pragma once

#include <optional>
#include <span>

#include "engine/cluster_engine.h"
#include "engine/schedule.h"
#include "machine/cluster.h"

namespace sim {

/// A launch, and the room that its clusters take on the device.
struct GridLaunch {
  Launch* launch = nullptr;
  uint32_t resident = 1;  ///< clusters that the device can hold at once; at least 1
  /// Room on an SM, in units that any number of CTAs from 1 to 32 divides.
  static constexpr uint64_t kSm = 144'403'552'893'600;
  uint64_t room_per_cluster = kSm;
};

/// The number of clusters of all launches.
uint32_t cluster_count(std::span<const GridLaunch> launches);

/// Runs launches of one stream to their ends. Each but the first may overlap its predecessor: its clusters start as
/// soon as all CTAs of that have permitted it (griddepcontrol.launch_dependents) or exited, and there is room. Returns
/// the failure of the first cluster (by launch and number) that failed, or nothing. `threads` >= 1: host threads.
std::optional<Failure> run_launches(std::span<GridLaunch> launches, const Schedule& schedule, int threads);

}  // namespace sim
