// The events of a cluster under contention, for a trace: those of an execution, at the times of the timing model.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "timing/account.h"
#include "timing/demand.h"
#include "timing/memory_model.h"
#include "timing/trace.h"

namespace sim::timing {

/// Warps that are timed as one: those of one CTA with the same demands.
struct GangMembers {
  uint32_t rank;
  std::vector<uint32_t> warps;
};

/// Of one cluster. Gangs and steps are indices.
struct ClusterLog {
  struct Passed {
    uint32_t gang, step;
    Tick begun, ended;  ///< when its instructions had been issued, and when the warp continued
    bool blocked;       ///< it had to be woken
  };
  /// A unit's work on one operation.
  struct Work {
    uint32_t gang, step;
    Tick issued, begin, end, seen;
    std::vector<std::pair<Part, Tick>> rests{};  ///< of an MMA: why its tensor core did nothing before
  };
  /// An effect on a barrier.
  struct Told {
    enum class Effect : uint8_t { Init, Arrive, Expect, Complete };
    static constexpr uint32_t kNoWork = ~0u;
    Effect effect;
    BarrierName barrier;
    uint32_t gang, step;
    uint32_t work;   ///< index of the operation that causes it; kNoWork: the gang does
    int64_t amount;  ///< arrivals of one warp, threads, or bytes
    uint32_t phase;
    int32_t needed;  ///< arrivals or threads of a phase
    Tick time;
  };
  uint32_t launch, number;
  uint32_t kind = 0;  ///< index among the kinds of its grid; final only at the end, with cluster launch control
  Tick begin = 0;
  std::vector<GangMembers> gangs;
  std::vector<Passed> passed;
  std::vector<Work> works;
  std::vector<Told> told;
};

/// Logs of the clusters that a trace shows. `start` discards those of an earlier pass.
class ContentionLog {
 public:
  void want(uint32_t launch, uint32_t cluster) { wanted_.emplace_back(launch, cluster); }
  void start() { logs_.clear(), residences_.clear(), queues_.clear(); }
  /// The log of a cluster; nullptr: the trace does not show it.
  ClusterLog* follow(uint32_t launch, uint32_t cluster);
  const ClusterLog* of(uint32_t launch, uint32_t cluster) const;
  /// A CTA of any cluster, in the trace or not, has left its SM.
  void note_residence(uint32_t launch, uint32_t sm, uint32_t cluster, uint32_t rank, Tick begin, Tick end);
  std::vector<Residence> residences(uint32_t launch) const;
  /// Records the outstanding work of L2 and DRAM, unless it was recorded shortly before.
  void note_queues(const MemoryModel& memory, Tick now);
  const std::vector<QueueSample>& queues() const { return queues_; }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> wanted_;
  std::deque<ClusterLog> logs_;
  std::vector<std::vector<Residence>> residences_;  ///< by launch
  std::vector<QueueSample> queues_;
};

/// The events of a logged cluster. Those of its execution supply the data that operations move.
Trace::Part events_of(const ClusterLog& log, const ClusterDemands& demands, Trace::Part executed);

}  // namespace sim::timing
