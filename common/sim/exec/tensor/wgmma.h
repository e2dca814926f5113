// What other instructions must know of wgmmas in flight.
#pragma once

#include <cstdint>

#include "machine/cluster.h"

namespace sim {

/// Bytes of this CTA's shared memory are about to be overwritten. In the schedules in which each warp of a warpgroup
/// completes its wgmmas by itself, throws Fault if one warp has read them for a wgmma and another has still to do so.
/// On hardware the four complete as one.
void check_warpgroups_have_read(Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, const char* what);

}  // namespace sim
