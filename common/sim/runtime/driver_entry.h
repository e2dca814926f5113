// Driver functions by name, for programs that ask the runtime or cuGetProcAddress for them instead of linking libcuda.
#pragma once

namespace sim::runtime {

struct DriverEntry {
  void* function = nullptr;  ///< nullptr: not found, or too new for the caller
  bool too_new = false;      ///< it exists, but not in the version of CUDA that the caller asks for
};

/// `version` is the CUDA version (12000) whose meaning of the name the caller wants.
DriverEntry find_driver_entry(const char* name, int version);

}  // namespace sim::runtime
