// Kernel launches: a launch that a GPU would refuse is refused here, with the reason; others go to the device.
#pragma once

#include "runtime/process.h"

namespace sim::runtime {

struct LaunchRequest {
  dim3 grid{1, 1, 1}, block{1, 1, 1};
  dim3 cluster{0, 0, 0};  ///< 0: not set by the launch
  std::size_t dynamic_smem = 0;
  bool cooperative = false;
  void** arguments = nullptr;
  bool overlaps = false;  ///< programmatic stream serialisation: it need not wait for the end of its predecessor
};

/// The kernel behind a host function or handle; refuses anything else.
Kernel& find_kernel(Process& process, const void* function);

/// The complete configuration for the device: the launch's own values and the kernel's compiled and set attributes.
LaunchConfig config_of(Process& process, Kernel& kernel, const LaunchRequest& launch);

/// The most dynamic shared memory that a launch of this kernel may request at present.
std::size_t max_dynamic_smem(Process& process, Kernel& kernel);

/// Refuses clusters of an impossible shape, and those that do not divide the grid.
void check_cluster(const Gpu& gpu, const std::string& name, const LaunchConfig& config);

/// Runs the kernel, unless it may overlap the next one. Refuses an impossible launch; a fault of the kernel becomes the
/// process's sticky error.
void launch(Process& process, Kernel& kernel, const LaunchRequest& launch);

/// Reads cudaLaunchConfig_t and its attributes. Events that the attributes name are recorded by the caller after the
/// launch: they are returned in `events`.
LaunchRequest read_config(const cudaLaunchConfig_t* config, void** arguments, std::vector<cudaEvent_t>* events);

}  // namespace sim::runtime
