#include "engine/progress.h"

#include <unistd.h>

namespace sim {

std::FILE* Progress::terminal() { return isatty(STDERR_FILENO) == 1 ? stderr : nullptr; }

void Progress::have_ended(uint32_t clusters, Clock::time_point now) {
  ended_ = clusters;
  if (terminal_ == nullptr || ended_ == 0 || now < next_) return;
  next_ = now + std::chrono::seconds(1);
  written_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = elapsed * (clusters_ - ended_) / ended_;
  std::fprintf(terminal_, "\r\033[Ksim: %.0f %%, about %.0f s left", 100.0 * ended_ / clusters_, left);
  std::fflush(terminal_);
}

Progress::~Progress() {
  if (!written_) return;
  std::fputs("\r\033[K", terminal_);
  std::fflush(terminal_);
}

}  // namespace sim
