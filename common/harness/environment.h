// Under which circumstances a result was obtained.
#pragma once

#include <optional>
#include <string>

#include "device.h"
#include "nvml.h"

namespace harness {

struct Environment {
  bool simulated = false;
  std::string gpu;                    ///< the device's name
  std::string driver;                 ///< "580.159.03", or the CUDA version it supports if NVML is absent
  std::string cuda;                   ///< version of the toolkit this was compiled with, "13.0"
  std::string cublas;                 ///< "13.1.0", empty if it is not in use
  std::optional<double> power_cap_w;  ///< of the GPU
  std::string commit;                 ///< of the sources, see commit_id; empty if no file asks for it
};

/// Everything but the commit, which costs a process.
Environment describe(const Device& device, const Nvml* nvml, const std::string& cublas_version);

/// The version of the CUDA toolkit the program was compiled with: "13.0".
std::string toolkit_version();

/// The environment variable LADDER_COMMIT, else what git says about the folder that the executable lies in, with
/// "-dirty" if files were changed since; empty if neither knows.
std::string commit_id();

std::string utc_now();  ///< "2026-11-21T12:00:00Z"

}  // namespace harness
