// A loop over independent pieces of work on all cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace harness {

/// Calls `body(i)` once for every i in [0, count), in any order, from as many threads as there are cores. Pieces are
/// handed out one by one, so they may differ in cost. `body` must not throw.
template <typename Body>
void parallel_for(std::int64_t count, const Body& body) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  };
  std::vector<std::jthread> helpers;
  const std::int64_t threads = std::thread::hardware_concurrency();
  for (std::int64_t t = 1; t < threads && t < count; ++t) helpers.emplace_back(work);
  work();
}

}  // namespace harness
