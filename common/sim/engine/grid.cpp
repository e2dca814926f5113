#include "engine/grid.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "exec/program.h"
#include "timing/counters.h"

namespace sim {
namespace {

constexpr uint64_t kQuantum = 64;  // turns of a cluster before the next one gets its own (ordered mode)

std::optional<Failure> run_parallel(Launch& launch, const Schedule& schedule, int threads) {
  std::atomic<uint32_t> next{0};
  std::atomic<uint32_t> stop{launch.cluster_count()};  // clusters from here on need not run: an earlier one has failed
  std::mutex mutex;
  std::optional<Failure> failure;
  const auto work = [&] {
    ClusterEngine engine(launch, schedule);
    for (;;) {
      const uint32_t number = next.fetch_add(1);
      if (number >= stop.load()) break;
      try {
        engine.start(number);
        for (;;) {
          const ClusterEngine::State state = engine.run(1u << 16);
          if (state == ClusterEngine::State::Done) break;
          if (state == ClusterEngine::State::Idle) engine.pass_time();
          if (number > stop.load()) break;
        }
      } catch (Failure& problem) {
        const std::lock_guard lock(mutex);
        if (number < stop.load()) {
          stop = number;
          failure = std::move(problem);
        }
      }
    }
    if (launch.counters != nullptr) {
      const std::lock_guard lock(mutex);
      launch.counters->add(*engine.counters());
    }
  };
  const int helpers = std::min<int>(threads, static_cast<int>(std::min<uint32_t>(launch.cluster_count(), 1024))) - 1;
  std::vector<std::thread> pool;
  for (int i = 0; i < helpers; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return failure;
}

std::optional<Failure> run_ordered(Launch& launch, const Schedule& schedule, uint32_t resident, uint32_t* next) {
  struct Slot {
    std::unique_ptr<ClusterEngine> engine;
    bool active = false;
  };
  std::vector<Slot> slots(std::min(resident, launch.cluster_count()));
  const auto finish = [&] {
    if (launch.counters == nullptr) return;
    for (Slot& slot : slots) {
      if (slot.engine) launch.counters->add(*slot.engine->counters());
    }
  };
  try {
    for (;;) {
      bool any_active = false, any_moved = false;
      for (Slot& slot : slots) {
        if (!slot.active) {
          if (*next >= launch.cluster_count()) continue;
          if (!slot.engine) slot.engine = std::make_unique<ClusterEngine>(launch, schedule);
          slot.engine->start((*next)++);
          slot.active = true;
        }
        any_active = true;
        switch (slot.engine->run(kQuantum)) {
          case ClusterEngine::State::Done:
            slot.active = false;
            any_moved = true;
            break;
          case ClusterEngine::State::Running: any_moved = true; break;
          case ClusterEngine::State::Idle: break;
        }
      }
      if (!any_active) break;
      // Whoever polls looks again after every round in which somebody moved. If nobody did, only time can pass.
      for (Slot& slot : slots) {
        if (!slot.active) continue;
        if (any_moved) slot.engine->poke();
        else slot.engine->pass_time();
      }
    }
  } catch (Failure& problem) {
    finish();
    return std::move(problem);
  }
  finish();
  return std::nullopt;
}

}  // namespace

std::optional<Failure> run_grid(Launch& launch, const Schedule& schedule, int threads, uint32_t resident) {
  if (!launch.program->needs_order) return run_parallel(launch, schedule, threads);
  return run_ordered(launch, schedule, resident, &launch.next_cluster);
}

}  // namespace sim
