#include "engine/grid.h"

#include <algorithm>
#include <cstdio>

#include "engine/default_arithmetic.h"
#include "engine/progress.h"
#include "engine/side_by_side.h"
#include "exec/core/program.h"

namespace sim {
namespace {

constexpr uint64_t kQuantum = 64;  // steps of a cluster before the next one runs
// Rounds for which a write is held back for other clusters: one that polls for the write never becomes idle.
constexpr uint32_t kLongestHold = 64;

/// Runs all clusters of all started launches alternately on one thread.
class Alternating {
 public:
  Alternating(std::span<GridLaunch> launches, const Schedule& schedule)
      : schedule_(schedule),
        random_(schedule.seed),
        launches_(launches.begin(), launches.end()),
        progress_(Progress::terminal(), cluster_count(launches), Progress::Clock::now()) {
    for (const GridLaunch& launch : launches) {
      room_ = std::max(room_, launch.resident * launch.room_per_cluster);
      launch.launch->together = std::min(launch.resident, launch.launch->cluster_count());
      if (schedule.policy == SchedulePolicy::Seeded) launch.launch->refusals.emplace(schedule.seed);
      for (LaunchWatcher* const watcher : launch.launch->watchers) watcher->in_turns();
    }
  }

  std::optional<Failure> run() {
    std::optional<Failure> failure;
    try {
      while (round()) {}
    } catch (Failure& problem) { failure = std::move(problem); }
    for (const Slot& slot : slots_) slot.engine->retire();
    for (const GridLaunch& launch : launches_) {
      for (LaunchWatcher* const watcher : launch.launch->watchers) watcher->turns_are_over();
    }
    return failure;
  }

 private:
  struct Slot {
    std::unique_ptr<ClusterEngine> engine;
    size_t launch = 0;
    bool active = false;
    uint32_t misses = 0;  ///< rounds that it still skips
    uint32_t held = 0;    ///< consecutive rounds in which only a held write was left
  };

  /// Whether clusters of this launch may start now.
  bool may_start(size_t launch) {
    if (launch == 0 || launches_[launch - 1].launch->done()) return true;
    const Launch& before = *launches_[launch - 1].launch;
    if (before.next_cluster < before.cluster_count() || !may_start(launch - 1)) return false;
    for (const Slot& slot : slots_) {
      if (slot.active && slot.launch == launch - 1 && !slot.engine->cluster().lets_dependents_start()) return false;
    }
    // A seeded schedule does not always start them at once.
    return schedule_.policy != SchedulePolicy::Seeded || random_.below(8) == 0;
  }

  /// Starts as many clusters as there is room for, in the order of launches and clusters.
  void fill() {
    for (size_t index = 0; index < launches_.size(); ++index) {
      const GridLaunch& next = launches_[index];
      if (next.launch->next_cluster >= next.launch->cluster_count()) continue;
      if (!may_start(index)) return;
      while (next.launch->next_cluster < next.launch->cluster_count()) {
        uint64_t taken = 0;
        uint32_t mine = 0;
        for (const Slot& slot : slots_) {
          if (!slot.active) continue;
          taken += launches_[slot.launch].room_per_cluster;
          mine += slot.launch == index;
        }
        const bool alone = taken == 0;
        if (!alone && (mine >= next.resident || taken + next.room_per_cluster > room_)) return;
        Slot& slot = free_slot(index);
        slot.engine->start(next.launch->next_cluster++);
        slot.active = true;
      }
    }
  }

  Slot& free_slot(size_t launch) {
    for (Slot& slot : slots_) {
      if (!slot.active && slot.launch == launch) return slot;
    }
    Launch& of = *launches_[launch].launch;
    slots_.push_back({std::make_unique<ClusterEngine>(of, schedule_), launch, false});
    slots_.back().engine->share_thread();
    return slots_.back();
  }

  /// Steps of a cluster per round. In a seeded schedule some clusters get far ahead of others.
  uint64_t quantum() {
    if (launches_.size() > 1) return 1;
    return schedule_.policy == SchedulePolicy::Seeded ? uint64_t{1} << random_.below(7) : kQuantum;
  }

  /// Runs this cluster for a quantum. Returns whether it could run.
  bool run_slot(Slot& slot) {
    if (slot.misses > 0) {
      --slot.misses;
      return true;
    }
    if (schedule_.policy == SchedulePolicy::Seeded && random_.below(16) == 0) slot.misses = 1u << random_.below(6);
    const ClusterEngine::State state = slot.engine->run(quantum());
    slot.held = state == ClusterEngine::State::Held ? slot.held + 1 : 0;
    if (slot.held > kLongestHold) slot.engine->let_write();
    if (const std::string text = slot.engine->take_output(); !text.empty())
      std::fwrite(text.data(), 1, text.size(), stdout);
    if (state != ClusterEngine::State::Done) return state == ClusterEngine::State::Running;
    slot.active = false;
    if (!launches_[slot.launch].launch->done()) return true;
    for (Slot& other : slots_) {
      if (other.active && other.launch == slot.launch + 1) other.engine->launch_before_ended();
    }
    return true;
  }

  /// Runs every cluster for a quantum, those of later launches first, so that these do early whatever they do not wait
  /// for. Returns whether a cluster is left.
  bool round() {
    fill();
    bool any_moved = false;
    uint64_t active = 0;
    for (size_t launch = launches_.size(); launch-- > 0;) {
      for (Slot& slot : slots_) {
        if (!slot.active || slot.launch != launch) continue;
        ++active;
        any_moved |= run_slot(slot);
      }
    }
    if (!any_moved) {
      const auto held = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.held > 0; });
      if (held != slots_.end()) {
        held->engine->let_write();
        any_moved = true;
      }
    }
    // Polling warps look again after every round in which a cluster has run. Otherwise only time can pass.
    for (Slot& slot : slots_) {
      if (!slot.active) continue;
      if (any_moved)
        slot.engine->poke();
      else
        slot.engine->pass_time(active);
    }
    uint32_t ended = 0;
    for (const GridLaunch& each : launches_) ended += each.launch->ended.load();
    progress_.have_ended(ended, Progress::Clock::now());
    return active > 0;
  }

  const Schedule& schedule_;
  Random random_;
  std::vector<GridLaunch> launches_;
  uint64_t room_ = 0;
  std::vector<Slot> slots_;
  Progress progress_;
};

}  // namespace

uint32_t cluster_count(std::span<const GridLaunch> launches) {
  uint32_t count = 0;
  for (const GridLaunch& launch : launches) count += launch.launch->cluster_count();
  return count;
}

std::optional<Failure> run_launches(std::span<GridLaunch> launches, const Schedule& schedule, int threads) {
  const DefaultArithmetic arithmetic;
  const bool must_alternate = std::any_of(launches.begin(), launches.end(), [](const GridLaunch& grid) {
    return grid.launch->program->needs_order || grid.launch->program->cancels_clusters;
  });
  if (must_alternate) return Alternating(launches, schedule).run();
  return SideBySide(launches, schedule, threads).run();
}

}  // namespace sim
