// How a launch is scheduled.
#pragma once

#include <cstdint>

#include "machine/random.h"

namespace sim {

enum class SchedulePolicy : uint8_t {
  Default,  ///< everything takes its modelled time; deterministic
  Seeded,   ///< the same, with times and turns shuffled by a seed
  Latest,   ///< asynchronous operations take effect only when no warp can run
};

struct Schedule {
  SchedulePolicy policy = SchedulePolicy::Default;
  uint64_t seed = 0;
};

}  // namespace sim
