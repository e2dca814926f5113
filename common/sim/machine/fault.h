// An error of the kernel. Thrown while an instruction executes; the engine adds the location.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "machine/finding.h"
#include "machine/habit.h"
#include "machine/status.h"

namespace sim {

/// What can be wrong. report/faults.h names them all, report/faults.cpp has their texts.
struct FaultText {
  const char* name;          ///< in records
  Status status;             ///< the error code that the host program gets
  const char* sentence;      ///< what has happened and what is required; report/text.h lists its parameters
  const char* missing = "";  ///< the instruction that is required, if it is always the same
  bool is_unknown = false;   ///< it says why an instruction is not known
};

struct Fault {
  /// NOLINTNEXTLINE(google-explicit-constructor)
  Fault(const FaultText& which, std::vector<Detail> parameters = {}, int first_lane = -1)
      : what(&which), details(std::move(parameters)), lane(first_lane) {}

  const FaultText* what;
  std::vector<Detail> details;
  int lane;                              ///< the first lane concerned, or -1 for the whole warp
  std::optional<Habit> habit = {};       ///< hardware tolerates the violation
  std::optional<PhaseState> phase = {};  ///< of the mbarrier that it concerns
};

}  // namespace sim
