#include "engine/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/default_arithmetic.h"

namespace sim {
namespace {

constexpr uint64_t kSteps = 1u << 16;  // of a cluster, between two checks whether it is still needed

}  // namespace

SideBySide::SideBySide(std::span<GridLaunch> launches, const Schedule& schedule, int threads)
    : schedule_(schedule),
      random_(schedule.seed),
      threads_(threads),
      progress_(Progress::terminal(), cluster_count(launches), Progress::Clock::now()) {
  for (const GridLaunch& launch : launches) {
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->grid = launch;
    room_ = std::max(room_, launch.resident * launch.room_per_cluster);
  }
}

std::optional<Failure> SideBySide::run() {
  try {
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = *parts_[i];
      const bool is_last = i + 1 == parts_.size();
      if (i == 0 && is_last) {
        start(part, part.count(), false);
        break;
      }
      if (i > 0) {
        const auto lets_start = [](const auto& engine) { return engine->cluster().lets_dependents_start(); };
        Part& before = *parts_[i - 1];
        if (!std::all_of(before.parked.begin(), before.parked.end(), lets_start)) finish(i - 1);
        make_room(before, part);
      }
      if (is_last) {
        start(part, std::min(part.count(), room(part)), false);
        continue;
      }
      // The next launch may begin only once all CTAs of this one have started.
      if (part.count() > room(part)) {
        if (i > 0) finish(i - 1);
        start(part, part.count() - std::min(part.count(), room(part)), false);
      }
      start(part, part.count(), true);
    }
    finish(parts_.size() - 1);
  } catch (Failure& failure) { return std::move(failure); }
  return std::nullopt;
}

void SideBySide::make_room(Part& before, const Part& part) {
  if (schedule_.policy == SchedulePolicy::Seeded) go_on(before, random_.below(before.parked.size() + 1));
  if (room(part) == 0) go_on(before, (before.parked.size() + 1) / 2);
}

void SideBySide::finish(size_t index) {
  Part& part = *parts_[index];
  // A launch that has ended need not have waited for the one before.
  if (index > 0) finish(index - 1);
  if (part.grid.launch->done()) return;
  for (const auto& engine : part.parked) engine->launch_before_ended();
  go_on(part, part.parked.size());
  start(part, part.count(), false);
}

uint32_t SideBySide::room(const Part& part) const {
  uint64_t taken = 0;
  for (const auto& other : parts_) taken += other->parked.size() * other->grid.room_per_cluster;
  const uint64_t free = room_ > taken ? room_ - taken : 0;
  return static_cast<uint32_t>(std::min<uint64_t>(part.grid.resident, free / part.grid.room_per_cluster));
}

namespace {

/// Runs the cluster. Returns whether it has ended, or is no longer needed.
bool advance(ClusterEngine& engine, const Launch& launch, bool until_dependents_start,
             const std::function<bool()>& needed) {
  for (;;) {
    const ClusterEngine::State state = engine.run(until_dependents_start ? 1 : kSteps);
    if (state == ClusterEngine::State::Done || !needed()) return true;
    if (until_dependents_start && engine.cluster().lets_dependents_start()) return false;
    if (state != ClusterEngine::State::Idle) continue;
    if (engine.waits_for_launch() && !launch.predecessor->done()) return false;
    engine.pass_time(1);
  }
}

}  // namespace

void SideBySide::start(Part& part, uint32_t end, bool until_dependents_start) {
  Launch& launch = *part.grid.launch;
  const uint32_t first = std::exchange(part.next, std::max(part.next, end));
  if (end <= first) return;
  std::mutex mutex;
  std::vector<std::unique_ptr<ClusterEngine>> idle;  // engines that have run a cluster to its end
  std::map<uint32_t, std::unique_ptr<ClusterEngine>> stopped;
  std::optional<Failure> failure = for_all(end - first, [&](size_t index, const Needed& needed) {
    const auto number = static_cast<uint32_t>(first + index);
    std::unique_ptr<ClusterEngine> engine;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) engine = std::move(idle.back()), idle.pop_back();
    }
    if (!engine) engine = std::make_unique<ClusterEngine>(launch, schedule_);
    bool ended = true;
    std::optional<Failure> problem;
    try {
      engine->start(number);
      ended = advance(*engine, launch, until_dependents_start, needed);
    } catch (Failure& thrown) { problem = std::move(thrown); }
    const std::lock_guard lock(mutex);
    if (ended) part.output.end(number, engine->take_output());
    if (ended) progress_.cluster_ended(Progress::Clock::now());
    (ended ? idle.emplace_back() : stopped[number]) = std::move(engine);
    if (problem) throw std::move(*problem);
  });
  for (const auto& engine : idle) engine->retire();
  if (failure) throw std::move(*failure);
  for (auto& [number, engine] : stopped) part.parked.push_back(std::move(engine));
}

void SideBySide::go_on(Part& part, size_t count) {
  count = std::min(count, part.parked.size());
  const Launch& launch = *part.grid.launch;
  std::mutex mutex;
  std::optional<Failure> failure = for_all(count, [&](size_t index, const Needed& needed) {
    ClusterEngine& engine = *part.parked[index];
    std::optional<Failure> problem;
    try {
      advance(engine, launch, false, needed);
    } catch (Failure& thrown) { problem = std::move(thrown); }
    const std::lock_guard lock(mutex);
    part.output.end(engine.cluster().number, engine.take_output());
    progress_.cluster_ended(Progress::Clock::now());
    if (problem) throw std::move(*problem);
  });
  const auto end = part.parked.begin() + static_cast<ptrdiff_t>(count);
  std::for_each(part.parked.begin(), end, [](const auto& engine) { engine->retire(); });
  part.parked.erase(part.parked.begin(), end);
  if (failure) throw std::move(*failure);
}

std::optional<Failure> SideBySide::for_all(size_t count, const std::function<void(size_t, const Needed&)>& body) const {
  std::atomic<size_t> next{0};
  std::atomic<size_t> stop{count};  // no cluster from here on need run: an earlier one has failed
  std::mutex mutex;
  std::optional<Failure> failure;
  const auto work = [&] {
    const DefaultArithmetic arithmetic;
    for (;;) {
      const size_t index = next.fetch_add(1);
      if (index >= stop.load()) break;
      try {
        body(index, [&] { return index <= stop.load(); });
      } catch (Failure& problem) {
        const std::lock_guard lock(mutex);
        if (index < stop.load()) {
          stop = index;
          failure = std::move(problem);
        }
      }
    }
  };
  std::vector<std::thread> pool;
  for (size_t i = 1; i < std::min<size_t>(static_cast<size_t>(threads_), count); ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return failure;
}

}  // namespace sim
