// Findings: an error of a kernel, or what its warps wait for, in terms of its source.
#pragma once

#include <string>

#include "common/base/demangle.h"
#include "machine/cluster.h"
#include "report/faults.h"

namespace sim {

/// `warp` is the warp whose instruction failed; or `origin` is the issuer of the asynchronous operation that failed.
Finding explain_fault(const Cluster& cluster, const Fault& fault, const Warp* warp, const Origin* origin);

/// A violation that hardware tolerates. If this run tolerates it, too, it is reported as a remark, or not at all if the
/// user tolerates the habit; otherwise `what` is thrown. `warp` and `origin` as in Scheduler::remark.
void tolerate_violation(const Cluster& cluster, Habit habit, const Fault& what, const Warp* warp, const Origin* origin);

/// Which warp waits for what, what is missing, which threads have arrived.
Finding explain_deadlock(const Cluster& cluster);
/// A warp without progress after this number of instructions.
Finding explain_spin(const Cluster& cluster, const Warp& warp, Finding::Hang how, uint64_t instructions);

/// There is no mbarrier at this offset.
Fault no_mbarrier(const Cta& cta, uint32_t offset, int lane = -1);
/// What its current phase waits for, and what has happened.
PhaseState state_of(const Cluster& cluster, const Mbarrier& barrier);

/// "CTA (3, 1), rank 1 of its cluster"
std::string name_of(const Cta& cta);
std::string name_of_cta(const std::array<uint32_t, 3>& index, uint32_t rank, uint32_t cluster_size);
/// "smem_full[2] (dynamic shared memory +16)", if the program has declared names (Device::name_shared); "variable +4"
/// in static shared memory; the offset alone elsewhere.
std::string name_of_shared(const Launch& launch, uint32_t offset);
inline std::string name_of_shared(const Cta& cta, uint32_t offset) {
  return name_of_shared(*cta.cluster->launch, offset);
}

using base::readable_name;

}  // namespace sim
