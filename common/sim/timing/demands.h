// What launches demand of the machine, for the timing model: executed, but without data.
#pragma once

#include <vector>

#include "engine/grid.h"
#include "timing/replay.h"
#include "timing/trace.h"

namespace sim {

/// Executes one cluster of each kind as a whole, and of all others the warps that load, to learn where from. Clusters
/// are of one kind if they load boxes of the same size in the same order. `threads`: of the host. Throws Failure.
/// `traced`: may be null; what the clusters that are executed as a whole leave in a trace, by kind.
timing::GridDemands demands_of(const GridLaunch& grid, int threads, std::vector<Trace::Part>* traced = nullptr);

}  // namespace sim
