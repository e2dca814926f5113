// What a kernel did wrong. Thrown while an instruction executes; the engine adds where it happened.
#pragma once

#include <string>

#include "machine/status.h"

namespace sim {

struct Fault {
  Status status;        ///< what the host program will see
  std::string message;  ///< one sentence: what happened and what is required
  int lane = -1;        ///< the first lane concerned, or -1 for the whole warp
};

}  // namespace sim
