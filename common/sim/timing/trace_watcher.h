// Records the clusters of one engine for a trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "machine/cluster.h"
#include "timing/trace.h"

namespace sim {

class ClusterTracer final : public Watcher {
 public:
  ClusterTracer(const Cluster& cluster, Trace& trace)
      : Watcher({EventKind::Life, EventKind::Schedule, EventKind::Barrier, EventKind::Report}),
        cluster_(cluster),
        trace_(trace) {}

  void on(const LifeEvent& event) override;
  void on(const ScheduleEvent& event) override;
  void on(const BarrierEvent& event) override;
  void on(const ReportEvent& event) override;

 private:
  /// Clears all state for the next cluster.
  void start();
  /// The cluster has ended or failed at `now`: open waits end then. Returns the events.
  std::vector<TraceEvent> finish(uint64_t now);

  void runs(const Warp& warp);
  void ran(const Warp& warp);
  void woken(const Warp& warp);
  void submitted(const AsyncOperation& operation, uint64_t at, uint64_t begin, uint64_t free);
  void takes_effect(uint64_t number, uint64_t now);
  /// What the operation is about to read in shared memory.
  void read(TraceEvent& event) const;
  /// The operation has taken effect: there is no actor until the next one is set.
  void is_done() { actor_ = {}, acting_ = nullptr; }

  uint32_t linear(uint32_t rank) const;
  TraceEvent& add(TraceEvent::Kind kind, uint32_t rank, uint64_t begin, uint64_t end);
  /// The actor now.
  Actor actor() const;

  const Cluster& cluster_;
  Trace& trace_;
  std::vector<TraceEvent> events_;
  std::vector<uint32_t> operations_;      ///< by number: its event
  std::vector<uint32_t> submitted_;       ///< by rank: the operations of this CTA so far
  std::map<const Warp*, uint32_t> last_;  ///< by warp: its last event, which may still grow
  const Warp* acting_ = nullptr;          ///< the warp that runs
  uint64_t runs_from_ = 0;
  uint32_t first_pc_ = 0;
  Actor actor_;  ///< the operation that takes effect
};

/// Traces a launch.
class TraceWatcher final : public LaunchWatcher {
 public:
  explicit TraceWatcher(Trace& trace) : trace_(trace) {}
  std::unique_ptr<Watcher> watch(Cluster& cluster) override { return std::make_unique<ClusterTracer>(cluster, trace_); }

 private:
  Trace& trace_;
};

}  // namespace sim
