// A discrete-event loop over the warps and asynchronous operations of one cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule.h"
#include "machine/cluster.h"

namespace sim {

/// An operation in flight, as the scheduler holds it.
struct Scheduled {
  std::unique_ptr<AsyncOperation> operation;
  uint64_t time = 0;      ///< when it may take effect
  uint64_t sequence = 0;  ///< order of submission
  OrderQueue* order = nullptr;
  /// Held back by the latest schedule: not; until no warp of any cluster can move; until nothing else can happen.
  enum class Held : uint8_t { No, ForWarps, ForAll } held = Held::No;
};

/// What went wrong in a cluster, already explained.
struct Failure {
  Status status;
  std::string report;
};

class ClusterEngine final : public Scheduler {
 public:
  /// Its clusters are watched as Launch::watchers want it.
  ClusterEngine(Launch& launch, const Schedule& schedule);
  ~ClusterEngine() override;

  /// Brings cluster `number` of the grid into its initial state. The engine can be reused for one cluster after
  /// another.
  void start(uint32_t number);

  /// From the next cluster on these watch, and none else.
  void watch(std::initializer_list<Watcher*> watchers);
  /// It runs no further cluster: what its watchers have gathered goes to the launch.
  void retire();
  /// Executes these warps of cluster `number`, of every CTA, each by itself (Warp::alone): what they load does not depend on
  /// the others. Throws Failure if one cannot go on.
  void walk(uint32_t number, std::span<const uint32_t> warps);

  enum class State : uint8_t {
    Running,  ///< the quantum is used up
    Idle,     ///< only polling warps are left: nothing can change unless another cluster does something
    Held,     ///< only a write to global memory is left, which other clusters may come before
    Done,     ///< all CTAs have exited and nothing is in flight
  };
  /// Runs up to `quantum` turns (a turn is a slice of a warp or one asynchronous operation). Throws Failure.
  State run(uint64_t quantum);

  /// From now on other clusters, which may see what this one writes, have turns of their own on this thread.
  void share_turns() { shares_turns_ = true; }
  /// The cluster is Held, and its next write to global memory may take effect.
  void let_write() { may_write_ = true; }
  /// Called when the cluster is Idle and other clusters may have changed something.
  void poke();
  /// Called when every cluster is Idle: lets time pass for the pollers; throws Failure (a deadlock report) when that
  /// has been tried for long enough: the more clusters alternate on this thread, the fewer times.
  void pass_time(uint64_t clusters);

  /// Does any lane wait for the launch before?
  bool waits_for_launch() const;
  /// The launch before has ended.
  void launch_before_ended();

  const Cluster& cluster() const { return cluster_; }
  /// What the cluster has printed so far; empty afterwards.
  std::string take_output() { return std::exchange(cluster_.output, {}); }

  // Scheduler
  void submit(std::unique_ptr<AsyncOperation> operation, const Latency& when) override;
  void wake(Warp& warp, uint64_t delay) override;
  void remark(Habit habit, const Fault& what, const Warp* warp, const Origin* origin) override;

 private:
  struct ReadyWarp {
    uint64_t time, tie;
    Warp* warp;
    bool operator>(const ReadyWarp& other) const { return time != other.time ? time > other.time : tie > other.tie; }
  };
  /// Which operation's turn comes after the other's. The latest schedule takes the newest one first: what is independent of
  /// it, and was issued before, is not complete for that. Those that it holds back come when there is nothing else, the
  /// oldest first.
  struct Later {
    bool newest_first;
    bool operator()(const std::shared_ptr<Scheduled>& a, const std::shared_ptr<Scheduled>& b) const {
      if (a->held != b->held) return a->held > b->held;
      if (a->held == Scheduled::Held::ForAll) return a->sequence > b->sequence;
      if (newest_first) return a->sequence < b->sequence;
      return a->time != b->time ? a->time > b->time : a->sequence > b->sequence;
    }
  };
  Later later() const { return {schedule_.policy == SchedulePolicy::Latest}; }

  void make_cta(Cta& cta, uint32_t rank);
  void push(Warp& warp);
  /// run_warp, with its faults told of.
  void run_until(Warp& warp, uint64_t horizon);
  void run_slice(const ReadyWarp& ready);
  void complete_next();
  /// What a warp does from where it stands until it comes by again, or for so many instructions.
  struct Lap {
    bool goes_on = false;  ///< it has not ended, waited or changed anything meanwhile
    bool repeats = false;  ///< with the same registers and memory of its own
    bool looks_around = false, watches_clock = false;
    int instructions = 0;  ///< of one round; 0: none was complete
  };
  Lap watch_lap(Warp& warp, int steps);
  /// Reports a warp that has had no effect for long, if it never will. May let it run on.
  void check_spin(Warp& warp);
  /// Reports everybody, if all have met at barriers for so long that they will hardly do anything else any more.
  void check_rounds(Warp& warp);
  NoProgress& no_progress();
  /// Up to so many instructions, fewer if many warps share the patience.
  uint64_t share_of_patience(uint64_t most) const;
  bool wake_pollers(bool force);
  bool time_out_waiters();
  void restart_idle();
  bool anybody_polls() const;
  /// Watchers are told that the cluster is over.
  void tell_end(LifeEvent::What what);
  void tell_warp(ScheduleEvent::What what, const Warp& warp) {
    if (cluster_.watchers.want(EventKind::Schedule)) cluster_.watchers.tell(ScheduleEvent{what, cluster_, &warp});
  }
  [[noreturn]] void deadlock();
  [[noreturn]] void fail(const Fault& fault, const Warp* warp, const Origin* origin);

  Launch& launch_;
  Schedule schedule_;
  Random random_{0};
  bool shares_turns_ = false;
  bool may_write_ = false;   ///< to global memory, although other clusters could go on
  uint64_t slow_sites_ = 0;  ///< which instructions' operations a seeded schedule likes to hold back in this cluster
  Cluster cluster_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<std::unique_ptr<uint8_t[]>> storage_;  // registers and local memory of the CTAs
  std::priority_queue<ReadyWarp, std::vector<ReadyWarp>, std::greater<>> ready_;
  std::vector<std::shared_ptr<Scheduled>> operations_;  // a heap; in order queues only the first is here
  uint64_t now_ = 0, sequence_ = 0, tie_ = 0, in_flight_ = 0;
  bool walking_ = false;
  bool completing_ = false;    // an operation is taking effect: what it submits starts now
  uint64_t idle_changes_ = 0;  // Cluster::changes when pollers were last woken in vain
  bool may_poll_ = false;      // a warp has begun to poll since then
  uint64_t idle_rounds_ = 0, idle_step_ = 64, idle_work_ = 0;  // idle_work_: instructions, and what wakes cost
  NoProgress no_progress_;                                     // of this cluster, where each is executed by itself
  uint64_t progress_ = 0;                                      // Cluster::progress after the last turn of a warp
};

}  // namespace sim
