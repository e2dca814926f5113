#include "engine/grid.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "engine/progress.h"
#include "exec/core/program.h"
#include "timing/counters.h"

namespace sim {
namespace {

/// Arithmetic is IEEE's whatever the program has set: one that was linked with -ffast-math flushes subnormals.
class DefaultArithmetic {
 public:
  DefaultArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&before_); }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

/// What the kernel's printf writes, in the order of the clusters, as soon as all clusters before have ended.
class Output {
 public:
  void end(uint32_t cluster, std::string text) {
    waiting_[cluster] = std::move(text);
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == turn_;
         next = waiting_.erase(next), ++turn_)
      print(next->second);
  }
  ~Output() {
    for (const auto& [cluster, text] : waiting_) print(text);
  }

 private:
  static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  std::map<uint32_t, std::string> waiting_;
  uint32_t turn_ = 0;
};

constexpr uint64_t kQuantum = 64;  // turns of a cluster before the next one gets its own (ordered mode)

std::optional<Failure> run_parallel(Launch& launch, const Schedule& schedule, int threads) {
  std::atomic<uint32_t> next{0};
  std::atomic<uint32_t> stop{launch.cluster_count()};  // clusters from here on need not run: an earlier one has failed
  std::mutex mutex;
  std::optional<Failure> failure;
  Output output;
  Progress progress(isatty(STDERR_FILENO) == 1 ? stderr : nullptr, launch.cluster_count(), Progress::Clock::now());
  const auto work = [&] {
    const DefaultArithmetic arithmetic;
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
        const std::lock_guard lock(mutex);
        output.end(number, engine.take_output());
        progress.cluster_ended(Progress::Clock::now());
      } catch (Failure& problem) {
        const std::lock_guard lock(mutex);
        output.end(number, engine.take_output());
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
  const DefaultArithmetic arithmetic;
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
        const ClusterEngine::State state = slot.engine->run(kQuantum);
        if (const std::string text = slot.engine->take_output(); !text.empty())
          std::fwrite(text.data(), 1, text.size(), stdout);
        switch (state) {
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
        if (any_moved)
          slot.engine->poke();
        else
          slot.engine->pass_time();
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
