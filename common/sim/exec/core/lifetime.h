// The exit of lanes, warps and CTAs, and the barriers that it may complete.
#pragma once

#include "exec/core/op.h"

namespace sim {

/// Makes these lanes of the warp's running split exit. Completes barriers that waited only for them, and checks that a
/// CTA has finished its operations when its last warp exits. The split is removed if no lane is left.
void exit_lanes(Warp& warp, Mask mask);

/// Completes the cluster barrier's phase if every remaining thread has arrived.
void check_cluster_barrier(Cluster& cluster);
/// Completes phases of the CTA's named barriers that wait for all threads, if all remaining threads have arrived.
void check_cta_barriers(Cta& cta);
/// Grants registers to warps blocked in setmaxnreg.inc, in order, as far as the pool suffices.
void check_register_pool(Cta& cta);

}  // namespace sim
