// Runs all clusters of a launch: side by side on host threads, or in order on one where they can affect one another.
#pragma once

#include <optional>

#include "engine/cluster_engine.h"
#include "engine/schedule.h"
#include "machine/cluster.h"

namespace sim {

/// Returns the failure of the first cluster (by number) that failed, or nothing.
/// `resident`: how many clusters the device can hold at once (ordered mode). `threads` >= 1: host threads.
std::optional<Failure> run_grid(Launch& launch, const Schedule& schedule, int threads, uint32_t resident);

}  // namespace sim
