// A discrete-event loop over the warps and asynchronous operations of one cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule.h"
#include "machine/cluster.h"

namespace sim {

/// An operation in flight, with the scheduler's data.
struct Scheduled {
  std::unique_ptr<AsyncOperation> operation;
  uint64_t time = 0;      ///< cycle from which it may take effect
  uint64_t sequence = 0;  ///< order of submission
  OrderQueue* order = nullptr;
  /// Until when the latest schedule holds it back: not at all; until no warp of any cluster can run; until nothing else
  /// can happen.
  enum class Held : uint8_t { No, ForWarps, ForAll } held = Held::No;
};

/// An error of a cluster.
struct Failure {
  Status status;
  Finding finding;
};

class ClusterEngine final : public Scheduler {
 public:
  /// Launch::watchers observe its clusters.
  ClusterEngine(Launch& launch, const Schedule& schedule);
  ~ClusterEngine() override;

  /// Brings cluster `number` of the grid into its initial state. The engine can be reused for one cluster after
  /// another.
  void start(uint32_t number);

  /// From the next cluster on, only these watchers observe.
  void watch(std::initializer_list<Watcher*> watchers);
  /// Ends the engine's work: its watchers add their results to the launch's.
  void retire();
  /// Executes these warps of cluster `number`, of every CTA, each by itself (Warp::alone): their loads do not depend on
  /// other warps. Throws Failure if one cannot run to its end.
  void walk(uint32_t number, std::span<const uint32_t> warps);

  enum class State : uint8_t {
    Running,  ///< the quantum is used up
    Idle,     ///< only polling warps are left: nothing can change unless another cluster does something
    Held,     ///< only a held write to global memory is left; other clusters may run first
    Done,     ///< all CTAs have exited and nothing is in flight
  };
  /// Runs up to `quantum` steps. A step is a slice of a warp or one asynchronous operation. Throws Failure.
  State run(uint64_t quantum);

  /// From now on, this cluster alternates on one host thread with others, which may observe its writes.
  void share_thread() { shares_thread_ = true; }
  /// The cluster is Held, and its next write to global memory may take effect.
  void let_write() { may_write_ = true; }
  /// Called when the cluster is Idle and other clusters may have changed something.
  void poke();
  /// Called when every cluster is Idle: advances the time of polling warps. Throws Failure (a deadlock report) after
  /// enough fruitless calls; the more clusters alternate on this thread, the fewer.
  void pass_time(uint64_t clusters);

  /// Whether a lane waits for the preceding launch.
  bool waits_for_launch() const;
  /// The preceding launch has ended.
  void launch_before_ended();

  const Cluster& cluster() const { return cluster_; }
  /// Takes the output that the cluster has printed so far.
  std::string take_output() { return std::exchange(cluster_.output, {}); }

  // Scheduler
  void submit(std::unique_ptr<AsyncOperation> operation, const Latency& when) override;
  void wake(Warp& warp, uint64_t delay) override;
  bool times_out(Warp& warp, bool in_doubt) override;
  void remark(Habit habit, const Fault& what, const Warp* warp, const Origin* origin) override;

 private:
  struct ReadyWarp {
    uint64_t time, tie;
    Warp* warp;
    bool operator>(const ReadyWarp& other) const { return time != other.time ? time > other.time : tie > other.tie; }
  };
  /// Whether `a` takes effect after `b`. The latest schedule takes the newest operation first, so that completion of
  /// one does not imply completion of independent earlier ones. Operations that it holds back follow last, the oldest
  /// first.
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
  /// run_warp; a fault ends the cluster.
  void run_until(Warp& warp, uint64_t horizon);
  void run_slice(const ReadyWarp& ready);
  void complete_next();
  /// One round of a warp's loop: from its current instruction until it reaches that again, or for `steps` instructions.
  struct Lap {
    bool goes_on = false;  ///< meanwhile it has not exited, waited or changed memory
    bool repeats = false;  ///< a round ended with the initial registers and local memory
    bool looks_around = false, watches_clock = false;
    int instructions = 0;  ///< of one round; 0: no round was completed
  };
  Lap watch_lap(Warp& warp, int steps);
  /// Reports a warp that has long had no effect, if it will never have one. May run it further.
  void check_spin(Warp& warp);
  /// Reports all warps if, for the whole patience, they have done nothing but meet at barriers.
  void check_rounds(Warp& warp);
  NoProgress& no_progress();
  /// At most `most` instructions, fewer if many warps share the patience.
  uint64_t share_of_patience(uint64_t most) const;
  bool wake_pollers(bool force);
  bool time_out_waiters();
  void restart_idle();
  bool any_warp_polls() const;
  /// Notifies watchers that the cluster has ended.
  void notify_end(LifeEvent::What what);
  void notify_warp(ScheduleEvent::What what, const Warp& warp) {
    if (cluster_.watchers.want(EventKind::Schedule)) cluster_.watchers.tell(ScheduleEvent{what, cluster_, &warp});
  }
  [[noreturn]] void deadlock();
  [[noreturn]] void fail(const Fault& fault, const Warp* warp, const Origin* origin);

  Launch& launch_;
  Schedule schedule_;
  Random random_{0};
  bool shares_thread_ = false;
  bool may_write_ = false;  ///< to global memory, although other clusters can run
  uint64_t slow_pcs_ = 0;   ///< seed: which instructions' operations a seeded schedule often holds back here
  Cluster cluster_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<std::unique_ptr<uint8_t[]>> storage_;  // registers and local memory of the CTAs
  std::priority_queue<ReadyWarp, std::vector<ReadyWarp>, std::greater<>> ready_;
  std::vector<std::shared_ptr<Scheduled>> operations_;  // a heap; of an order queue only the first
  uint64_t now_ = 0, sequence_ = 0, tie_ = 0, in_flight_ = 0;
  bool walking_ = false;
  bool completing_ = false;         // an operation is taking effect: operations that it submits start now
  uint64_t idle_changes_ = 0;       // Cluster::changes when polling warps were last woken
  uint64_t timed_out_changes_ = 0;  // the same, when waits for mbarriers last timed out
  uint32_t time_outs_ = 0;          // since then
  std::map<std::pair<const Warp*, uint32_t>, uint8_t> early_returns_;  // calls of times_out that returned True, by pc
  bool may_poll_ = false;                                              // a warp has begun to poll since then
  uint64_t idle_rounds_ = 0, idle_step_ = 64, idle_work_ = 0;  // idle_work_: instructions, and the cost of waking
  NoProgress no_progress_;                                     // of this cluster, where clusters are independent
  uint64_t progress_ = 0;                                      // Cluster::progress after the last slice of a warp
};

}  // namespace sim
