// The end of lanes, warps and CTAs, and the barriers that their end may complete.
#pragma once

#include "exec/core/op.h"

namespace sim {

/// These lanes of the warp's running split exit. Completes barriers that waited only for them; checks what a CTA must
/// have finished when its last warp exits. The split is gone if no lane is left.
void exit_lanes(Warp& warp, Mask mask);

/// Completes the cluster barrier's phase if every thread that is left has arrived.
void check_cluster_barrier(Cluster& cluster);
/// Completes phases of the CTA's named barriers that wait for all threads, if all that are left have arrived.
void check_cta_barriers(Cta& cta);
/// Grants registers to warps blocked in setmaxnreg.inc, in order, as far as the pool goes.
void check_register_pool(Cta& cta);

}  // namespace sim
