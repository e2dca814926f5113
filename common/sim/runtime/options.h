// The user's options of scripts/sim.sh. The script passes its options on as environment variables, so that they reach
// the program through any wrapper (a debugger, a test driver, another script):
//
//   LADDER_SIM_GPU=h200            LADDER_SIM_SMS=N        LADDER_SIM_PTX=FILE       LADDER_SIM_ABORT=1
//   LADDER_SIM_SEED=N              LADDER_SIM_LATEST=1     LADDER_SIM_ARITH=exact|fast
//   LADDER_SIM_CHECK=1|strict      LADDER_SIM_TOLERATE=NAME,...
//   LADDER_SIM_PATIENCE=MILLIONS   LADDER_SIM_THREADS=N     LADDER_SIM_COUNTERS=FILE LADDER_SIM_TRACE=FILE
//   LADDER_SIM_RECORD=FILE         LADDER_SIM_RESULTS_OF=FILE LADDER_SIM_REPORTS=FILE|-
//   LADDER_SIM_LOG_FILE=FILE       LADDER_SIM_ERROR_EXITCODE=N     LADDER_SIM_KNOWN=FILE
//   LADDER_SIM_SUPPRESSIONS=FILE   LADDER_SIM_CHECK_KERNELS=NAME,...   LADDER_SIM_CHECK_NOT=NAME,...
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/device.h"

namespace sim::runtime {

struct Settings {
  Options device;
  std::string ptx_file;                ///< replaces the PTX of the modules that define its kernels; empty: none
  std::string record_file;             ///< the file for the recording, written at exit; empty: none
  std::string log_file;                ///< the file for messages; empty: standard error
  std::optional<int> error_exit_code;  ///< that of the process if anything is wrong; empty: 86 in place of 0
  std::string known_findings;          ///< a file of texts that need not be said again; empty: none
  std::string reports_file;            ///< the file for findings as JSON; "-": standard output; empty: none
  std::string results_of;              ///< another recording with the right results; empty: the program's own results
};

/// Fills `settings` from the variables that `lookup` (getenv) returns, nullptr if not set; an empty value counts as
/// not set. Returns the sentence that explains what is wrong, or an empty string.
std::string read_settings(const std::function<const char*(const char*)>& lookup, Settings* settings);

/// "148 SMs, default schedule, arithmetic exact up to 2^34 multiply-adds a launch, fast above", or with --timing
/// "148 SMs, time predicted, nothing computed": a line that says what the results of this run mean.
std::string describe(const Gpu& gpu, const Options& options);
/// "default", "latest" or the seed.
std::string schedule_name(const Options& options);

}  // namespace sim::runtime
