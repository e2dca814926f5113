// Signs of life on standard error while something takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace harness {

/// Shows what is being done and for how long, from the third second on: one line that is rewritten if standard error is
/// a terminal, else a new line every five seconds. A thread of its own does the showing, so that long calls into the
/// CUDA runtime need not come up for air.
class Progress {
 public:
  Progress();
  ~Progress();

  void set(const std::string& activity);  ///< what is being done from now on
  void clear();                           ///< nothing is; removes the line, so that other output can follow

 private:
  void show_until_stopped();
  void erase_line();

  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string activity_;
  Clock::time_point start_, last_shown_;
  bool line_visible_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace harness
