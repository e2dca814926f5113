// Reports: what a kernel did wrong, or what its warps wait for, in the words of its source.
#pragma once

#include <string>

#include "common/base/demangle.h"
#include "machine/cluster.h"

namespace sim {

/// `warp` is the warp whose instruction failed; or `origin` is whoever issued the asynchronous operation that failed.
std::string explain_fault(const Cluster& cluster, const Fault& fault, const Warp* warp, const Origin* origin,
                          const char* kind = "error");

/// Nothing can move and nothing is in flight: who waits for what, what is missing, who has arrived.
std::string explain_deadlock(const Cluster& cluster);

/// A warp repeats itself. `proven`: it came by with exactly the same registers and nobody else can move.
std::string explain_spin(const Cluster& cluster, const Warp& warp, bool proven);

using base::readable_name;

}  // namespace sim
