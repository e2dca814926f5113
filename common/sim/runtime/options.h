// The user's options of scripts/sim.sh. The script passes its options on as environment variables, so that they reach
// the program through any wrapper (a debugger, a test driver, another script):
//
//   LADDER_SIM_GPU=b200|h200       LADDER_SIM_SMS=N        LADDER_SIM_PTX=FILE       LADDER_SIM_ABORT=1
//   LADDER_SIM_SEED=N              LADDER_SIM_LATEST=1     LADDER_SIM_ARITH=exact|fast
//   LADDER_SIM_CHECK=1|strict      LADDER_SIM_TOLERATE=NAME,...
//   LADDER_SIM_PATIENCE=MILLIONS   LADDER_SIM_THREADS=N     LADDER_SIM_COUNTERS=FILE LADDER_SIM_TRACE=FILE
//   LADDER_SIM_RECORD=FILE         LADDER_SIM_RESULTS_OF=FILE
#pragma once

#include <functional>
#include <string>

#include "device/device.h"

namespace sim::runtime {

struct Settings {
  Options device;
  std::string ptx_file;     ///< replaces the PTX of the modules that define its kernels; empty: none
  std::string record_file;  ///< the file for the recording, written at exit; empty: none
  std::string results_of;   ///< another recording with the right results; empty: the program's own results
};

/// Fills `settings` from the variables that `lookup` (getenv) returns, nullptr if not set; an empty value counts as
/// not set. Returns the sentence that explains what is wrong, or an empty string.
std::string read_settings(const std::function<const char*(const char*)>& lookup, Settings* settings);

/// "148 SMs, default schedule, arithmetic exact up to 2^34 multiply-adds a launch, fast above", or with --timing
/// "148 SMs, time predicted, nothing computed": a line that says what the results of this run mean.
std::string describe(const Gpu& gpu, const Options& options);

}  // namespace sim::runtime
