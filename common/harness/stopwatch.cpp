#include "stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "device.h"
#include "inputs.h"

namespace harness {
namespace {

constexpr double SETTLED = 0.005;  // relative change of the first contestant's time from one pass to the next

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Stopwatch::Stopwatch(int sets, cudaStream_t stream) : sets_(sets), stream_(stream) {
  check(cudaEventCreate(&start_), "creating an event");
  check(cudaEventCreate(&stop_), "creating an event");
  check(cudaEventCreate(&between_), "creating an event");
}

Stopwatch::~Stopwatch() {
  if (start_ != nullptr) cudaEventDestroy(start_);
  if (stop_ != nullptr) cudaEventDestroy(stop_);
  if (between_ != nullptr) cudaEventDestroy(between_);
}

void Stopwatch::separate() { check(cudaEventRecord(between_, stream_), "recording an event"); }

double Stopwatch::time_calls(const Contestant& contestant, int untimed, int timed) {
  const auto enqueue = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      contestant.enqueue(next_set_);
      next_set_ = (next_set_ + 1) % sets_;
    }
  };
  enqueue(untimed);
  check(cudaEventRecord(start_, stream_), "recording an event");
  enqueue(timed);
  check(cudaEventRecord(stop_, stream_), "recording an event");
  check(cudaEventSynchronize(stop_), "waiting for the timed kernels");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading the time between two events");
  return std::max(1e-3 * milliseconds, 1e-9) / timed;
}

double Stopwatch::time_slice(Contestant& contestant, double seconds) {
  if (contestant.estimate_s == 0) contestant.estimate_s = time_calls(contestant, 1, 2);
  const int calls = static_cast<int>(std::clamp(seconds / contestant.estimate_s, 3.0, 1e6));
  const double per_call = time_calls(contestant, calls / 3, calls - calls / 3);
  contestant.estimate_s = per_call;
  return per_call;
}

void Stopwatch::warm_up(std::vector<Contestant>& contestants, double shortest, double longest) {
  const double slice = shortest / 10, start = now_s();
  for (double previous = 0;;) {
    double first = 0;
    for (size_t i = 0; i < contestants.size(); ++i) {
      const double per_call = time_slice(contestants[i], slice);
      if (i == 0) first = per_call;
    }
    const double elapsed = now_s() - start;
    if (elapsed >= longest || (elapsed >= shortest && std::abs(first - previous) < SETTLED * first)) return;
    previous = first;
  }
}

std::vector<std::vector<double>> Stopwatch::time_rounds(std::vector<Contestant>& contestants, int rounds,
                                                        double budget_s,
                                                        const std::function<void(int round)>& announce) {
  const double slice = budget_s / (2.0 * rounds * static_cast<double>(contestants.size()));
  std::vector<std::vector<double>> seconds(contestants.size());
  std::vector<size_t> order(contestants.size());
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t random = 0;
  for (int round = 0; round < rounds; ++round) {
    announce(round);
    for (size_t i = order.size(); i > 1; --i) {
      random = mix(random + 1);
      std::swap(order[i - 1], order[random % i]);
    }
    std::vector<double> sum(contestants.size(), 0);
    for (const size_t i : order) sum[i] += time_slice(contestants[i], slice);
    std::reverse(order.begin(), order.end());
    for (const size_t i : order) sum[i] += time_slice(contestants[i], slice);
    for (size_t i = 0; i < sum.size(); ++i) seconds[i].push_back(sum[i] / 2);
  }
  return seconds;
}

}  // namespace harness
