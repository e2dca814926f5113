// The demands of launches on the hardware, for the timing model: found by execution without data.
#pragma once

#include <vector>

#include "engine/grid.h"
#include "timing/contention.h"
#include "timing/trace.h"

namespace sim {

/// Executes one cluster of each kind as a whole; of all others only the warps that load, to find the loads'
/// coordinates. Clusters are of one kind if they load boxes of the same size in the same order. `threads`: of the host.
/// Throws Failure. `traced` may be null; it gets the traces of the clusters that are executed as a whole, by kind.
timing::GridDemands demands_of(const GridLaunch& grid, int threads, std::vector<Trace::Part>* traced = nullptr);

}  // namespace sim
