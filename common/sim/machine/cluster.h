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

/// Instructions, and what it costs to wake warps, of all warps that could get further, since the last progress.
struct NoProgress {
  uint64_t without_effect = 0;    ///< arrivals at barriers are effects
  uint64_t without_progress = 0;  ///< they are not: Cluster::progress
};

/// What all clusters of a launch share.
struct Launch {
  const Program* program = nullptr;
  const Gpu* gpu = nullptr;
  GlobalMemory* memory = nullptr;
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  uint32_t smem_bytes = 0;  ///< of one CTA: reserved, static and dynamic
  uint32_t dynamic_smem = 0;
  uint32_t local_bytes = 0;  ///< of one thread: the kernel's own, and behind it the stack, if it makes calls
  std::vector<uint8_t> parameters;
  uint64_t exact_budget =
      ~0ull;                    ///< multiply-adds of a cluster up to which tensor-core arithmetic is exact; fast after
  uint64_t number = 0;          ///< of the launch in this process
  uint64_t grid_workspace = 0;  ///< global address of a cooperative grid's barrier, as cooperative groups expect it
  std::vector<LaunchWatcher*> watchers;
  std::vector<SharedName> shared_names;  ///< if the program has told any
  /// False: TMA and tensor cores do all but move and multiply data. For watchers of what is demanded, not of what comes
  /// out.
  bool moves_data = true;

  /// A wgmma is executed for the four warps of its warpgroup at once, as hardware does and the ISA does not promise.
  bool warpgroups_as_one = true;
  /// Whatever hardware lets pass although the ISA forbids it is a remark, not an error, in the schedule that resembles
  /// hardware, and in no schedule if the program asks for it. Of each habit the first cluster's remark is kept.
  bool lenient = false;
  Habits tolerated;
  struct Remark {
    uint32_t cluster = ~0u;
    std::string text;
  };
  std::mutex remark_mutex;
  std::map<Habit, Remark> remarks;

  uint32_t threads_per_cta() const { return block[0] * block[1] * block[2]; }
  uint32_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
  uint32_t cluster_count() const { return grid[0] * grid[1] * grid[2] / cluster_size(); }

  /// The launch before it, if that may still be running; null: nothing to wait for.
  const Launch* predecessor = nullptr;
  std::atomic<uint32_t> ended = 0;  ///< clusters
  bool done() const { return ended.load() == cluster_count(); }

  uint32_t together = 1;   ///< clusters at a time that alternate
  NoProgress no_progress;  ///< of all clusters (ordered mode)
  uint64_t frees = 0;      ///< allocations that the kernel itself has freed so far (ordered mode)
  /// The next cluster that has not started (ordered mode). Cluster launch control takes clusters from here.
  uint32_t next_cluster = 0;
  /// In a seeded schedule: a request may be refused although clusters are left, as hardware does now and then.
  std::optional<Random> refusals;
  /// Where one cluster is executed by itself, to know what it demands: so many of its requests are granted, then none.
  std::optional<uint32_t> grants;
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
  /// Counts everything that a polling warp of this cluster could notice: stores, arrivals, completions.
  uint64_t changes = 0;
  /// Counts what brings the cluster further: memory that changes, operations that begin, output. Not arrivals at barriers.
  uint64_t progress = 0;
  /// The allocations that this cluster touched last, as of so many Launch::frees.
  std::array<const GlobalMemory::Allocation*, 4> recent{};
  uint32_t recent_turn = 0;
  uint64_t recent_frees = 0;
  uint64_t multiply_adds = 0;  ///< executed by tensor-core instructions so far
  std::string output;          ///< of printf; written out in the order of the clusters
  /// Executed so far, by all clusters of its engine: if a watcher wants them (EventKind::Work).
  uint64_t warp_instructions = 0, lane_instructions = 0;

  /// Which arithmetic does an instruction with this many multiply-adds get? Depends on this cluster's history alone, so
  /// the answer is the same however the host's threads run.
  bool exact_arithmetic(uint64_t count) {
    multiply_adds += count;
    return multiply_adds <= launch->exact_budget;
  }

  /// From now on no instruction will get exact arithmetic.
  bool exact_arithmetic_is_over() const { return multiply_adds >= launch->exact_budget; }

  /// Have all CTAs let dependent launches start, or left?
  bool lets_dependents_start() const {
    return std::all_of(ctas.begin(), ctas.end(),
                       [](const Cta& cta) { return cta.lets_dependents_start || cta.exited; });
  }

  const Costs& costs() const { return launch->gpu->costs; }
};

}  // namespace sim
