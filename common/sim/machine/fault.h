// An error of the kernel. Thrown while an instruction executes; the engine adds the location.
#pragma once

#include <optional>
#include <string>

#include "machine/habit.h"
#include "machine/status.h"

namespace sim {

struct Fault {
  Status status;                    ///< the error code that the host program gets
  std::string message;              ///< one sentence: what happened and what is required
  int lane = -1;                    ///< the first lane concerned, or -1 for the whole warp
  std::optional<Habit> habit = {};  ///< hardware tolerates the violation
};

}  // namespace sim
