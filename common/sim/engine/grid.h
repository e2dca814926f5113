// Runs launches: all their clusters, side by side on host threads, or in order on one where they can affect one another.
#pragma once

#include <optional>
#include <span>

#include "engine/cluster_engine.h"
#include "engine/schedule.h"
#include "machine/cluster.h"

namespace sim {

/// A launch, and how much of the device its clusters take.
struct GridLaunch {
  Launch* launch = nullptr;
  uint32_t resident = 1;  ///< clusters that the device can hold at once; at least 1
  /// What one takes of the device's SMs. An SM counts as so many, which 1 to 32 CTAs can share.
  static constexpr uint64_t kSm = 144'403'552'893'600;
  uint64_t room_per_cluster = kSm;
};

/// Of all of them.
uint32_t cluster_count(std::span<const GridLaunch> launches);

/// Runs launches of one stream to their ends. Each but the first may overlap the one before it: its clusters start as soon
/// as all CTAs of that have let them (griddepcontrol.launch_dependents) or left, and there is room.
/// Returns the failure of the first cluster (by launch and number) that failed, or nothing. `threads` >= 1: host threads.
std::optional<Failure> run_launches(std::span<GridLaunch> launches, const Schedule& schedule, int threads);

}  // namespace sim
