#include "progress.h"

#include <unistd.h>

#include <cstdio>

#include "common/base/signals.h"

namespace harness {
namespace {

using namespace std::chrono_literals;
constexpr auto PATIENCE = 3s;
constexpr auto TERMINAL_INTERVAL = 200ms;
constexpr auto LOG_INTERVAL = 5s;

}  // namespace

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) != 0) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { show_until_stopped(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    erase_line();
  }
  wake_.notify_all();
  thread_.join();
}

void Progress::set(const std::string& activity) {
  const std::lock_guard lock(mutex_);
  if (activity_.empty()) start_ = last_shown_ = Clock::now();
  activity_ = activity;
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  erase_line();
  activity_.clear();
}

void Progress::erase_line() {
  if (line_visible_) std::fputs("\r\033[K", stderr);
  line_visible_ = false;
}

void Progress::show_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, TERMINAL_INTERVAL, [this] { return stopping_; })) {
    const auto now = Clock::now();
    if (activity_.empty() || now - start_ < PATIENCE) continue;
    const long seconds = static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(now - start_).count());
    if (terminal_) {
      std::fprintf(stderr, "\r\033[K%s, %ld s", activity_.c_str(), seconds);
      line_visible_ = true;
    } else if (now - last_shown_ >= LOG_INTERVAL) {
      std::fprintf(stderr, "%s, %ld s\n", activity_.c_str(), seconds);
      last_shown_ = now;
    }
  }
}

}  // namespace harness
