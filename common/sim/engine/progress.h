// The progress of a long launch, for a user at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace sim {

/// A line such as "sim: 37 %, about 20 s left", rewritten every second from the third one on, and erased at the end.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// Standard error if it is a terminal, else null.
  static std::FILE* terminal();

  /// Nothing is written if `terminal` is null. `clusters`: of the launch, at least 1.
  Progress(std::FILE* terminal, uint32_t clusters, Clock::time_point now)
      : terminal_(terminal), clusters_(clusters), start_(now), next_(now + std::chrono::seconds(3)) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more cluster has ended. Not thread-safe.
  void cluster_ended(Clock::time_point now) { have_ended(ended_ + 1, now); }
  /// `clusters` have ended so far, in total.
  void have_ended(uint32_t clusters, Clock::time_point now);

 private:
  std::FILE* terminal_;
  uint32_t clusters_, ended_ = 0;
  Clock::time_point start_, next_;
  bool written_ = false;
};

}  // namespace sim
