// Progress in a browser: a message instead of a line on a terminal.
#include "engine/progress.h"

#include <emscripten.h>

EM_JS(void, tell_progress, (unsigned ended, unsigned clusters), {
  if (Module["onProgress"]) Module["onProgress"](ended, clusters);
});

namespace sim {

std::FILE* Progress::terminal() { return stderr; }

void Progress::have_ended(uint32_t clusters, Clock::time_point now) {
  ended_ = clusters;
  if (!written_ || now >= next_)
    tell_progress(ended_, clusters_);
  else
    return;
  written_ = true;
  next_ = now + std::chrono::milliseconds(100);
}

Progress::~Progress() = default;

}  // namespace sim
