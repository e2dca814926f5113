// Checks of other instructions against wgmmas in flight.
#pragma once

#include <cstdint>

#include "machine/cluster.h"

namespace sim {

/// Called before bytes of this CTA's shared memory are overwritten. In schedules in which each warp of a warpgroup
/// completes its wgmmas by itself, throws Fault if one warp has read the bytes for a wgmma and another has still to
/// read them. On hardware the four begin and complete as one. `by`: the storing warp, null: an operation.
void check_warpgroups_have_read(Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, const char* what,
                                const Warp* by = nullptr);

}  // namespace sim
