// Runs the instructions of one warp.
#pragma once

#include <cstdint>

#include "machine/warp.h"

namespace sim {

/// Runs the warp until its clock reaches `horizon` or none of its lanes can go on. Throws Fault; the warp's current
/// split then stands at the instruction concerned.
void run_warp(Warp& warp, uint64_t horizon);

}  // namespace sim
