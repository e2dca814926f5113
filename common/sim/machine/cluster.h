// A cluster: the CTAs that can reach one another's shared memory. It is the unit that the engine runs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/async.h"
#include "machine/cta.h"
#include "machine/fault.h"
#include "machine/global_memory.h"
#include "machine/gpu.h"
#include "machine/habit.h"
#include "machine/random.h"
#include "machine/shared_name.h"
#include "machine/watcher.h"

namespace sim {

struct Program;  // exec/core/program.h

/// Work of all warps that can run, since the last progress: instructions, and the cost of waking warps.
struct NoProgress {
  uint64_t without_effect = 0;    ///< an arrival at a barrier counts as an effect
  uint64_t without_progress = 0;  ///< an arrival does not count as progress: Cluster::progress
};

/// What all clusters of a launch share.
struct Launch {
  const Program* program = nullptr;
  const Gpu* gpu = nullptr;
  GlobalMemory* memory = nullptr;
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  uint32_t smem_bytes = 0;  ///< of one CTA: reserved, static and dynamic
  uint32_t dynamic_smem = 0;
  uint32_t local_bytes = 0;  ///< of one thread: the kernel's own, followed by the stack if the kernel makes calls
  std::vector<uint8_t> parameters;
  uint64_t exact_budget =
      ~0ull;                    ///< multiply-adds of a cluster up to which tensor-core arithmetic is exact; fast after
  uint64_t number = 0;          ///< of the launch in this process
  uint64_t grid_workspace = 0;  ///< global address of a cooperative grid's barrier, as cooperative groups expect it
  std::vector<LaunchWatcher*> watchers;
  std::vector<SharedName> shared_names;  ///< empty unless the program has declared some
  /// False: TMA and tensor cores do everything except moving and multiplying data. For watchers that record demands on
  /// the hardware and ignore results.
  bool moves_data = true;

  /// A wgmma is executed for the four warps of its warpgroup at once. Hardware does so; the ISA does not promise it.
  bool warpgroups_as_one = true;
  /// In the default schedule, which resembles hardware: a violation of the ISA that hardware tolerates is a remark and
  /// not an error. Of each habit the remark of the first cluster is kept.
  bool lenient = false;
  Habits tolerated;  ///< by request of the program: in no schedule an error or a remark
  struct Remark {
    uint32_t cluster = ~0u;
    Finding finding;
  };
  std::mutex remark_mutex;
  std::map<Habit, Remark> remarks;

  uint32_t threads_per_cta() const { return block[0] * block[1] * block[2]; }
  uint32_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
  uint32_t cluster_count() const { return grid[0] * grid[1] * grid[2] / cluster_size(); }

  /// The preceding launch, if it may still be running; null: there is none to wait for.
  const Launch* predecessor = nullptr;
  std::atomic<uint32_t> ended = 0;  ///< clusters
  bool done() const { return ended.load() == cluster_count(); }

  uint32_t together = 1;   ///< number of clusters that alternate at a time
  NoProgress no_progress;  ///< of all clusters (ordered mode)
  uint64_t frees = 0;      ///< allocations that the kernel itself has freed so far (ordered mode)
  /// The next cluster to start (ordered mode). Cluster launch control takes clusters from here.
  uint32_t next_cluster = 0;
  /// In a seeded schedule, a request may be refused although clusters are left, as happens on hardware.
  std::optional<Random> refusals;
  /// When one cluster is executed by itself to find its demands: the number of requests that are still granted.
  std::optional<uint32_t> grants;
  /// A warp's part of a wgmma begins only when all four warps have issued it. Hardware does so; the ISA does not
  /// promise it.
  bool warpgroups_begin_as_one = true;
  bool elects_last = false;  ///< elect.sync elects the highest lane: the ISA does not say which
  bool cancel_cluster(uint32_t* number) {
    if (grants) {
      *number = 0;
      return *grants > 0 && (*grants)-- > 0;
    }
    if (next_cluster >= cluster_count() || (refusals && refusals->below(8) == 0)) return false;
    *number = next_cluster++;
    ++ended;
    return true;
  }
};

struct ClusterBarrier {
  uint32_t phase = 0;
  uint32_t arrived = 0;  ///< threads, in this phase
  struct Waiter {
    Warp* warp;
    uint8_t split;
  };
  std::vector<Waiter> waiters;
};

struct Cluster {
  Launch* launch = nullptr;
  Scheduler* scheduler = nullptr;
  Watchers watchers;
  uint32_t number = 0;  ///< %clusterid, linear
  std::vector<Cta> ctas;
  uint32_t live_ctas = 0;
  uint32_t live_threads = 0;
  ClusterBarrier barrier;
  /// Counts everything that a polling warp of this cluster could observe: stores, arrivals, completions.
  uint64_t changes = 0;
  /// Counts the cluster's progress: changes of memory, operations that begin, output. Arrivals at barriers do not
  /// count.
  uint64_t progress = 0;
  /// A cache of the allocations that this cluster touched last; valid while Launch::frees equals `recent_frees`.
  std::array<const GlobalMemory::Allocation*, 4> recent{};
  uint32_t next_recent = 0;  ///< the entry to replace next
  uint64_t recent_frees = 0;
  uint64_t multiply_adds = 0;  ///< executed by tensor-core instructions so far
  std::string output;          ///< of printf; written to the terminal in the order of the clusters
  /// Instructions that all clusters of its engine have executed so far; counted if a watcher wants EventKind::Work.
  uint64_t warp_instructions = 0, lane_instructions = 0;
  /// By CTA and named barrier: the warps that have arrived in its phase, a bit each.
  std::vector<std::array<uint32_t, 16>> arrived_warps;
  /// mbarrier.inval: its pc, by CTA and offset, for reports.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> invalidated;
  /// Lines of global memory as a CTA's first ld.global.nc has found them: its cache is not coherent. By CTA and host
  /// address.
  using Line = std::array<uint8_t, 128>;
  std::map<std::pair<uint32_t, uint64_t>, Line> read_only_lines;

  /// Does an instruction with this many multiply-adds get exact arithmetic? The answer depends on this cluster's
  /// history alone, so it is the same however the host's threads run.
  bool exact_arithmetic(uint64_t count) {
    multiply_adds += count;
    return multiply_adds <= launch->exact_budget;
  }

  /// Whether no further instruction will get exact arithmetic.
  bool exact_arithmetic_is_over() const { return multiply_adds >= launch->exact_budget; }

  /// Have all CTAs permitted dependent launches to start, or exited?
  bool lets_dependents_start() const {
    return std::all_of(ctas.begin(), ctas.end(),
                       [](const Cta& cta) { return cta.lets_dependents_start || cta.exited; });
  }

  const Costs& costs() const { return launch->gpu->costs; }
};

}  // namespace sim
