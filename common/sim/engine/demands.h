// What launches demand of the machine, for the timing model: executed, but without data.
#pragma once

#include "engine/grid.h"
#include "timing/replay.h"

namespace sim {

/// Executes one cluster of each kind as a whole, and of all others the warps that load, to learn where from. Clusters are of one
/// kind if they load boxes of the same size in the same order. `threads`: of the host. Throws Failure.
timing::GridDemands demands_of(const GridLaunch& grid, int threads);

}  // namespace sim
