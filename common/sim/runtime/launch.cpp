#include "runtime/launch.h"

#include <cstdint>

#include "runtime/streams.h"

namespace sim::runtime {
namespace {

constexpr dim3 kMaxGrid{2'147'483'647, 65'535, 65'535};
constexpr dim3 kMaxBlock{1024, 1024, 64};
constexpr unsigned kMaxThreads = 1024;
constexpr std::size_t kSmemWithoutOptIn = 48 * 1024;

bool within(const dim3& dim, const dim3& most) {
  return dim.x >= 1 && dim.y >= 1 && dim.z >= 1 && dim.x <= most.x && dim.y <= most.y && dim.z <= most.z;
}

uint64_t count(const std::array<uint32_t, 3>& dim) { return uint64_t{dim[0]} * dim[1] * dim[2]; }

std::array<uint32_t, 3> as_array(const dim3& dim) { return {dim.x, dim.y, dim.z}; }

void check_grid_and_block(const std::string& name, const LaunchRequest& launch, const KernelInfo& info) {
  if (!within(launch.grid, kMaxGrid)) {
    refuse(cudaErrorInvalidConfiguration,
           "%s is launched with a grid of %s blocks; it must be 1 to %s in each dimension.", name.c_str(),
           extents(as_array(launch.grid)).c_str(), extents(as_array(kMaxGrid)).c_str());
  }
  const uint64_t threads = uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (!within(launch.block, kMaxBlock) || threads > kMaxThreads) {
    refuse(threads > kMaxThreads ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration,  // as an H100 answers
           "%s is launched with blocks of %s threads; a block has 1 to %s in each dimension and at most %s in all.",
           name.c_str(), extents(as_array(launch.block)).c_str(), extents(as_array(kMaxBlock)).c_str(),
           grouped(kMaxThreads).c_str());
  }
  if (threads > static_cast<uint64_t>(info.max_threads)) {
    refuse(cudaErrorInvalidValue,
           "%s is launched with blocks of %s threads but compiled for at most %s (__launch_bounds__).", name.c_str(),
           grouped(threads).c_str(), grouped(info.max_threads).c_str());
  }
}

void check_smem(const Gpu& gpu, const std::string& name, const LaunchConfig& config, const KernelInfo& info) {
  const auto most = static_cast<std::size_t>(gpu.smem_per_block);
  if (config.dynamic_smem > most || info.static_smem + config.dynamic_smem > most) {
    refuse(cudaErrorInvalidValue,
           "%s needs %s of shared memory (%s static, %s dynamic); a block of the %s has at most %s.", name.c_str(),
           in_bytes(info.static_smem + config.dynamic_smem).c_str(), grouped(info.static_smem).c_str(),
           grouped(config.dynamic_smem).c_str(), gpu.name.c_str(), in_bytes(most).c_str());
  }
  if (config.dynamic_smem > config.max_dynamic_smem) {
    refuse(cudaErrorInvalidValue,
           "%s requests %s of dynamic shared memory, but its limit is %s. Call cudaFuncSetAttribute(kernel, "
           "cudaFuncAttributeMaxDynamicSharedMemorySize, %zu) before the launch.",
           name.c_str(), in_bytes(config.dynamic_smem).c_str(), in_bytes(config.max_dynamic_smem).c_str(),
           config.dynamic_smem);
  }
}

void check_registers(const Gpu& gpu, const std::string& name, const LaunchRequest& launch, const KernelInfo& info) {
  const uint64_t threads = uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (threads > static_cast<uint64_t>(gpu.threads_with(info.registers))) {
    refuse(cudaErrorLaunchOutOfResources,
           "%s needs %d registers per thread; an SM's %s registers suffice for blocks of %s threads, not of %s.",
           name.c_str(), info.registers, grouped(gpu.registers_per_sm).c_str(),
           grouped(gpu.threads_with(info.registers)).c_str(), grouped(threads).c_str());
  }
}

void check_arguments(const std::string& name, const LaunchRequest& launch, const KernelInfo& info) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (launch.arguments == nullptr || launch.arguments[i] == nullptr) {
      refuse(cudaErrorInvalidValue, "%s has %zu parameters, but the pointer to argument %zu is null.", name.c_str(),
             info.parameters.size(), i);
    }
  }
}

/// Writes the line that says what the results of this run mean. A `--ptx` that would change nothing ends the run.
void announce(Process& process) {
  static bool announced = false;
  if (announced) return;
  announced = true;
  const Device& device = process.device();
  say(describe(device.gpu(), device.options()) + ".");
  const Replacement* replacement = process.replacement();
  if (replacement != nullptr && !process.registry.any_defines_one_of(replacement->kernels)) {
    say(format("--ptx: %s defines %s%s, but the program has no kernel of that name.", replacement->file.c_str(),
               replacement->kernels.front().c_str(), replacement->kernels.size() > 1 ? " and others" : ""));
    stop(kExitUsage);
  }
}

}  // namespace

Kernel& find_kernel(Process& process, const void* function) {
  if (function == nullptr) refuse(cudaErrorInvalidDeviceFunction, "the kernel is a null pointer.");
  Kernel* kernel = process.registry.find_kernel(function);
  if (kernel == nullptr) {
    refuse(cudaErrorInvalidResourceHandle, "%p is not a kernel of this program (a __global__ function).", function);
  }
  return *kernel;
}

std::size_t max_dynamic_smem(Process& process, Kernel& kernel) {
  if (kernel.max_dynamic_smem >= 0) return static_cast<std::size_t>(kernel.max_dynamic_smem);
  const std::size_t static_smem = kernel.info(process).static_smem;
  return static_smem < kSmemWithoutOptIn ? kSmemWithoutOptIn - static_smem : 0;
}

LaunchConfig config_of(Process& process, Kernel& kernel, const LaunchRequest& launch) {
  const KernelInfo& info = kernel.info(process);
  LaunchConfig config;
  config.grid = as_array(launch.grid);
  config.block = as_array(launch.block);
  config.dynamic_smem = launch.dynamic_smem;
  config.stack_bytes = process.stack_limit;
  config.max_dynamic_smem = max_dynamic_smem(process, kernel);
  config.nonportable_cluster = kernel.nonportable_cluster;
  config.cooperative = launch.cooperative;
  config.stream = process.work.stream.id, config.blocking_stream = process.work.stream.blocking;
  config.overlaps = launch.overlaps;

  // If both the kernel (compiled or by attribute) and the launch specify a shape, the two must agree.
  const auto& required = count(info.required_cluster) > 0 ? info.required_cluster : kernel.required_cluster;
  const std::array<uint32_t, 3> given = as_array(launch.cluster);
  const bool is_given = given[0] != 0 || given[1] != 0 || given[2] != 0;
  const std::string name = readable_name(kernel.name);
  if (is_given && count(required) > 0 && given != required) {
    refuse(cudaErrorInvalidClusterSize, "%s is launched in clusters of %s blocks but compiled for clusters of %s.",
           name.c_str(), extents(given).c_str(), extents(required).c_str());
  }
  if (is_given && count(given) == 0) {
    refuse(cudaErrorInvalidClusterSize, "%s is launched in clusters of %s blocks; no dimension may be 0.", name.c_str(),
           extents(given).c_str());
  }
  if (!is_given && count(required) == 0 && (kernel.cluster_must_be_set || info.explicit_cluster)) {
    refuse(cudaErrorInvalidClusterSize,
           "%s must be launched with a cluster size: pass cudaLaunchAttributeClusterDimension to cudaLaunchKernelEx.",
           name.c_str());
  }
  config.cluster = is_given ? given : required;
  return config;
}

void check_cluster(const Gpu& gpu, const std::string& name, const LaunchConfig& config) {
  const uint64_t ctas = count(config.cluster);
  if (ctas == 0) return;
  const auto portable = static_cast<uint64_t>(gpu.max_cluster);
  const auto most = static_cast<uint64_t>(gpu.max_cluster_nonportable);
  if (ctas > most) {
    refuse(cudaErrorInvalidClusterSize, "%s is launched in clusters of %s blocks; the %s allows at most %s.",
           name.c_str(), extents(config.cluster).c_str(), gpu.name.c_str(), grouped(most).c_str());
  }
  if (ctas > portable && !config.nonportable_cluster) {
    refuse(cudaErrorInvalidClusterSize,
           "%s is launched in clusters of %s blocks; more than %s need cudaFuncSetAttribute(kernel, "
           "cudaFuncAttributeNonPortableClusterSizeAllowed, 1).",
           name.c_str(), extents(config.cluster).c_str(), grouped(portable).c_str());
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (config.grid[i] % config.cluster[i] == 0) continue;
    refuse(cudaErrorInvalidClusterSize, "%s is launched with a grid of %s blocks, which clusters of %s do not divide.",
           name.c_str(), extents(config.grid).c_str(), extents(config.cluster).c_str());
  }
}

namespace {

void run(Process& process, Kernel& kernel, const LaunchRequest& launch) {
  announce(process);
  const Gpu& gpu = process.gpu();
  const std::string name = readable_name(kernel.name);
  DeviceModule& module = kernel.module(process);
  const KernelInfo& info = kernel.info(process);
  LaunchConfig config = config_of(process, kernel, launch);

  check_grid_and_block(name, launch, info);
  check_smem(gpu, name, config, info);
  check_registers(gpu, name, launch, info);
  check_cluster(gpu, name, config);
  check_arguments(name, launch, info);

  if (count(config.cluster) > 1 && process.device().max_active_clusters(info, config) == 0) {
    refuse(cudaErrorInvalidClusterSize, "a cluster of %s blocks of %s does not fit on the %s with its %d SMs.",
           extents(config.cluster).c_str(), name.c_str(), gpu.name.c_str(), gpu.sm_count);
  }
  if (launch.cooperative) {
    const int threads = static_cast<int>(count(config.block));
    const auto resident = static_cast<uint64_t>(
        process.device().max_active_blocks_per_sm(info, threads, config.dynamic_smem) * gpu.sm_count);
    if (count(config.grid) > resident) {
      refuse(cudaErrorCooperativeLaunchTooLarge,
             "%s is launched cooperatively with %s blocks; at most %s are resident at once on %d SMs.", name.c_str(),
             grouped(count(config.grid)).c_str(), grouped(resident).c_str(), gpu.sm_count);
    }
  }

  process.launching(kernel.name, config);
  // The machine code's resources decide which launches are valid, and the results of occupancy queries. The number of
  // blocks that alternate here does not depend on them.
  const KernelInfo& as_run = process.device().options().timing ? info : *module.kernel(kernel.name);
  Recorder* const recorder = process.recorder();
  if (recorder != nullptr) recorder->launches(&module, info, config, launch.arguments);
  const Outcome outcome = process.device().launch(module, as_run, config, launch.arguments);
  if (recorder != nullptr) recorder->took_effect();
  if (const cudaError_t error = process.conclude(outcome); error != cudaSuccess)
    throw Refusal{error, process.sticky != cudaSuccess ? "" : outcome.report};  // a fault has already been reported
}

/// Whether the simulated device cannot use the code, although another GPU, or its machine code, might run it.
bool cannot_simulate(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidKernelImage ||
         error == cudaErrorInvalidPtx || error == cudaErrorUnsupportedPtxVersion;
}

}  // namespace

void launch(Process& process, Kernel& kernel, const LaunchRequest& launch) {
  try {
    run(process, kernel, launch);
  } catch (Refusal& refusal) {
    refusal.kernel = readable_name(kernel.name);
    if (cannot_simulate(refusal.error)) process.fail();
    if (process.aborts_on_error()) {
      if (!refusal.sentence.empty()) process.refused(refusal.sentence, refusal.kernel);
      process.abort();
    }
    throw;
  }
}

LaunchRequest read_config(const cudaLaunchConfig_t* config, void** arguments, std::vector<cudaEvent_t>* events) {
  if (config == nullptr) refuse(cudaErrorInvalidValue, "the launch configuration is a null pointer.");
  if (config->numAttrs > 0 && config->attrs == nullptr) {
    refuse(cudaErrorInvalidValue, "the configuration has %u attributes at a null pointer.", config->numAttrs);
  }
  LaunchRequest launch{.grid = config->gridDim,
                       .block = config->blockDim,
                       .dynamic_smem = config->dynamicSmemBytes,
                       .arguments = arguments};
  bool prefers_cluster = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttributeValue& value = config->attrs[i].val;
    switch (config->attrs[i].id) {
      case cudaLaunchAttributeClusterDimension:
        launch.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        break;
      case cudaLaunchAttributePreferredClusterDimension: prefers_cluster = true; break;
      case cudaLaunchAttributeCooperative: launch.cooperative = value.cooperative != 0; break;
      case cudaLaunchAttributeProgrammaticEvent: events->push_back(value.programmaticEvent.event); break;
      case cudaLaunchAttributeLaunchCompletionEvent: events->push_back(value.launchCompletionEvent.event); break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        launch.overlaps = value.programmaticStreamSerializationAllowed != 0;
        break;
      // Hints about scheduling and placement have no effect.
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
      case cudaLaunchAttributeNvlinkUtilCentricScheduling: break;
      case cudaLaunchAttributeDeviceUpdatableKernelNode:
        refuse(cudaErrorNotSupported, "graphs, and kernel nodes that the device updates, are not simulated.");
      default:
        refuse(cudaErrorInvalidValue, "launch attribute %u has the unknown id %d.", i,
               static_cast<int>(config->attrs[i].id));
    }
  }
  // The GPU may choose the larger, preferred clusters; the regular ones are always valid.
  if (prefers_cluster && launch.cluster.x == 0) {
    refuse(cudaErrorInvalidClusterSize,
           "a preferred cluster size also needs a regular one (cudaLaunchAttributeClusterDimension).");
  }
  return launch;
}

}  // namespace sim::runtime
