// How far a long launch is, for a user at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace sim {

/// A line such as "sim: 37 %, about 20 s left", written anew every second from the third one on, and wiped out in the
/// end.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// Standard error, if somebody sees it at once; else null.
  static std::FILE* terminal();

  /// Nothing is written if `terminal` is null. `clusters`: of the launch, at least 1.
  Progress(std::FILE* terminal, uint32_t clusters, Clock::time_point now)
      : terminal_(terminal), clusters_(clusters), start_(now), next_(now + std::chrono::seconds(3)) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more cluster has ended. Not for several threads at once.
  void cluster_ended(Clock::time_point now) { have_ended(ended_ + 1, now); }
  /// So many have ended by now, all in all.
  void have_ended(uint32_t clusters, Clock::time_point now);

 private:
  std::FILE* terminal_;
  uint32_t clusters_, ended_ = 0;
  Clock::time_point start_, next_;
  bool written_ = false;
};

}  // namespace sim
