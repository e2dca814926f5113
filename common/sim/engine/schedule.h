// How a launch is scheduled.
#pragma once

#include <cstdint>

#include "machine/random.h"

namespace sim {

enum class SchedulePolicy : uint8_t {
  Default,  ///< every operation takes its modelled time; deterministic
  Seeded,   ///< the same, with times and the order of warps shuffled by a seed
  Latest,   ///< asynchronous operations take effect only when no warp can run
};

/// Instructions without a new effect before a warp is reported without a proof that it never ends.
inline constexpr uint64_t kPatience = 200'000'000;

struct Schedule {
  SchedulePolicy policy = SchedulePolicy::Default;
  uint64_t seed = 0;
  uint64_t patience = kPatience;
  bool fuses = true;  ///< MMAs in a row may compute at once; false: a watcher looks at memory before each
};

}  // namespace sim
