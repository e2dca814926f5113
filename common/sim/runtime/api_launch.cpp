// Launches by function, attributes of kernels, and occupancy.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/capture.h"

using namespace sim;
using namespace sim::runtime;

// ------------------------------------------------------------------------------------------------------------ launches

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic_smem,
                             cudaStream_t stream) {
  return prepare("cudaLaunchKernel", [&](Process& process) {
    launch_in_order(process, stream, find_kernel(process, function),
                    {.grid = grid, .block = block, .dynamic_smem = dynamic_smem, .arguments = arguments});
  });
}
SIM_PER_THREAD(cudaLaunchKernel, _ptsz)

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t dynamic_smem, cudaStream_t stream) {
  return prepare("cudaLaunchCooperativeKernel", [&](Process& process) {
    launch_in_order(
        process, stream, find_kernel(process, function),
        {.grid = grid, .block = block, .dynamic_smem = dynamic_smem, .cooperative = true, .arguments = arguments});
  });
}
SIM_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz)

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return prepare("cudaLaunchKernelEx", [&](Process& process) {
    std::vector<cudaEvent_t> events;
    const LaunchRequest request = read_config(config, arguments, &events);
    for (cudaEvent_t event : events) find_event(event);
    launch_in_order(process, config->stream, find_kernel(process, function), request);
    if (!events.empty()) process.settle();
    for (cudaEvent_t event : events) {
      if (!capture_record(config->stream, event)) record_event(process, event, name_of(config->stream));
    }
  });
}
SIM_PER_THREAD(cudaLaunchKernelExC, _ptsz)

// --------------------------------------------------------------------------------------------------- kernel attributes

namespace {

void set_attribute(Process& process, Kernel& kernel, cudaFuncAttribute attribute, int value) {
  const KernelInfo& info = kernel.info(process);
  const std::string name = readable_name(kernel.name);
  const auto check_not_compiled_in = [&] {
    if (info.required_cluster[0] == 0) return;
    refuse(cudaErrorInvalidValue, "the cluster size of %s is compiled in (__cluster_dims__).", name.c_str());
  };
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize: {
      const int most = process.gpu().smem_per_block - static_cast<int>(info.static_smem);
      if (value < 0 || value > most) {
        refuse(cudaErrorInvalidValue,
               "%s cannot have %d bytes of dynamic shared memory: with its %s of static shared memory, at most %s "
               "are left on the %s.",
               name.c_str(), value, in_bytes(info.static_smem).c_str(), in_bytes(static_cast<unsigned>(most)).c_str(),
               process.gpu().name.c_str());
      }
      kernel.max_dynamic_smem = value;
      return;
    }
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100)
        refuse(cudaErrorInvalidValue, "the carveout is %d; it must be -1 to 100 per cent.", value);
      kernel.carveout = value;
      return;
    case cudaFuncAttributeClusterDimMustBeSet: kernel.cluster_must_be_set = value != 0; return;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth: {
      check_not_compiled_in();
      if (value < 0) refuse(cudaErrorInvalidValue, "a cluster cannot be %d blocks wide.", value);
      auto& required = kernel.required_cluster;
      required[static_cast<std::size_t>(attribute - cudaFuncAttributeRequiredClusterWidth)] =
          static_cast<uint32_t>(value);
      return;
    }
    case cudaFuncAttributeNonPortableClusterSizeAllowed: kernel.nonportable_cluster = value != 0; return;
    case cudaFuncAttributeClusterSchedulingPolicyPreference: kernel.cluster_policy = value; return;
    default:
      refuse(cudaErrorInvalidValue, "there is no attribute %d of kernels in CUDA 13.0.", static_cast<int>(attribute));
  }
}

}  // namespace

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return prepare("cudaFuncSetAttribute",
                 [&](Process& process) { set_attribute(process, find_kernel(process, function), attribute, value); });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  return prepare("cudaKernelSetAttributeForDevice", [&](Process& process) {
    check_device(device);
    set_attribute(process, find_kernel(process, kernel), attribute, value);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return prepare("cudaFuncGetAttributes", [&](Process& process) {
    cudaFuncAttributes& answer = result(attributes, "attr");
    Kernel& kernel = find_kernel(process, function);
    const KernelInfo& info = kernel.info(process);
    const auto& cluster = info.required_cluster[0] != 0 ? info.required_cluster : kernel.required_cluster;
    const Gpu& gpu = process.gpu();
    answer = {};
    answer.sharedSizeBytes = info.static_smem;
    answer.constSizeBytes = info.constant_bytes;
    answer.localSizeBytes = info.local_bytes;
    answer.maxThreadsPerBlock = std::min(info.max_threads, gpu.threads_with(info.registers));
    answer.numRegs = info.registers > 0 ? info.registers : Gpu::assumed_registers;
    answer.ptxVersion = info.target;
    answer.binaryVersion = gpu.major * 10 + gpu.minor;
    answer.maxDynamicSharedSizeBytes = static_cast<int>(max_dynamic_smem(process, kernel));
    answer.preferredShmemCarveout = kernel.carveout;
    answer.clusterDimMustBeSet = kernel.cluster_must_be_set || info.explicit_cluster;
    answer.requiredClusterWidth = static_cast<int>(cluster[0]);
    answer.requiredClusterHeight = static_cast<int>(cluster[1]);
    answer.requiredClusterDepth = static_cast<int>(cluster[2]);
    answer.clusterSchedulingPolicyPreference = kernel.cluster_policy;
    answer.nonPortableClusterSizeAllowed = kernel.nonportable_cluster;
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return prepare("cudaFuncSetCacheConfig", [&](Process& process) { find_kernel(process, function); });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return prepare("cudaFuncSetSharedMemConfig", [&](Process& process) { find_kernel(process, function); });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return prepare("cudaFuncGetName",
                 [&](Process& process) { result(name, "name") = find_kernel(process, function).name.c_str(); });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return prepare("cudaFuncGetParamInfo", [&](Process& process) {
    const auto& parameters = find_kernel(process, function).info(process).parameters;
    if (index >= parameters.size()) {
      refuse(cudaErrorInvalidValue, "the kernel has %zu parameters, so there is no parameter %zu.", parameters.size(),
             index);
    }
    result(offset, "paramOffset") = parameters[index].offset;
    if (bytes != nullptr) *bytes = parameters[index].size;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return prepare("cudaGetKernel", [&](Process& process) {
    result(kernel, "kernelPtr") = reinterpret_cast<cudaKernel_t>(&find_kernel(process, host_function));
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return prepare("cudaGetFuncBySymbol", [&](Process& process) {
    result(function, "functionPtr") = reinterpret_cast<cudaFunction_t>(&find_kernel(process, symbol));
  });
}

// ----------------------------------------------------------------------------------------------------------- occupancy

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t dynamic_smem, unsigned flags) {
  return prepare("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](Process& process) {
    if (threads < 1) refuse(cudaErrorInvalidValue, "blockSize is %d; it must be at least 1.", threads);
    if ((flags & ~cudaOccupancyDisableCachingOverride) != 0) {
      refuse(cudaErrorInvalidValue, "the flags 0x%x are unknown.", flags);
    }
    Kernel& kernel = find_kernel(process, function);
    const bool allowed = threads <= 1024 && dynamic_smem <= max_dynamic_smem(process, kernel);
    result(blocks, "numBlocks") =
        allowed ? process.device().max_active_blocks_per_sm(kernel.info(process), threads, dynamic_smem) : 0;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t dynamic_smem) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_smem,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int) {
  return prepare("cudaOccupancyAvailableDynamicSMemPerBlock", [&](Process& process) {
    if (blocks < 1) refuse(cudaErrorInvalidValue, "numBlocks is %d; it must be at least 1.", blocks);
    const Gpu& gpu = process.gpu();
    const auto share = static_cast<std::size_t>(std::min(gpu.smem_per_sm / blocks, gpu.smem_per_block));
    const std::size_t static_smem = find_kernel(process, function).info(process).static_smem;
    result(bytes, "dynamicSmemSize") = share > static_smem ? share - static_smem : 0;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  return prepare("cudaOccupancyMaxActiveClusters", [&](Process& process) {
    std::vector<cudaEvent_t> events;
    const LaunchRequest request = read_config(config, nullptr, &events);
    Kernel& kernel = find_kernel(process, function);
    const LaunchConfig shape = config_of(process, kernel, request);
    for (std::size_t i = 0; i < 3; ++i) {
      if (shape.cluster[i] == 0 || shape.grid[i] % shape.cluster[i] == 0) continue;
      refuse(cudaErrorInvalidClusterSize, "the clusters do not divide the grid of %s blocks.",
             extents(shape.grid).c_str());
    }
    // For a launch that can never run the result is 0.
    const uint64_t ctas = uint64_t{shape.cluster[0]} * shape.cluster[1] * shape.cluster[2];
    const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    const bool possible = shape.dynamic_smem <= shape.max_dynamic_smem && threads >= 1 && threads <= 1024 &&
                          ctas <= static_cast<uint64_t>(process.gpu().max_cluster_nonportable);
    result(clusters, "numClusters") = possible ? process.device().max_active_clusters(kernel.info(process), shape) : 0;
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function, const cudaLaunchConfig_t* config) {
  return prepare("cudaOccupancyMaxPotentialClusterSize", [&](Process& process) {
    std::vector<cudaEvent_t> events;
    LaunchRequest request = read_config(config, nullptr, &events);
    request.cluster = {0, 0, 0};
    Kernel& kernel = find_kernel(process, function);
    LaunchConfig shape = config_of(process, kernel, request);
    const Gpu& gpu = process.gpu();
    int largest = kernel.nonportable_cluster ? gpu.max_cluster_nonportable : gpu.max_cluster;
    for (; largest > 1; largest /= 2) {
      shape.cluster = {static_cast<uint32_t>(largest), 1, 1};
      if (process.device().max_active_clusters(kernel.info(process), shape) > 0) break;
    }
    result(size, "clusterSize") = largest;
  });
}

/// Not part of CUDA: a program may look it up and pass the number of tensor FLOPs that its next launch's result
/// requires (2*M*N*K of a product). The counters then show them beside the executed ones.
SIM_API void sim_note_useful_flops(std::uint64_t flops) {
  call("sim_note_useful_flops", [&](Process& process) {
    process.device().note_useful_flops(flops);
    if (process.recorder() != nullptr) process.recorder()->useful_flops(flops);
  });
}

/// Not part of CUDA: a program may look it up and pass its names for the parts of dynamic shared memory in later
/// launches, for reports. One line per part: offset, bytes per element, number of elements, name ("0 8 4 smem_full").
SIM_API void sim_name_shared(const char* lines) {
  call("sim_name_shared", [&](Process& process) {
    process.device().name_shared(read_shared_names(lines));
    if (process.recorder() != nullptr) process.recorder()->names(lines);
  });
}

/// Not part of CUDA: a program may look it up and declare that `bytes` bytes from `host` on come from the harness's
/// generator with these arguments (common/harness/inputs.h). A recording then has the arguments instead of the bytes.
SIM_API void sim_generated(const void* host, std::size_t bytes, unsigned init, std::uint64_t seed, unsigned operand) {
  query("sim_generated", [&](Process& process) {
    if (process.recorder() != nullptr) process.recorder()->generated(host, bytes, init, seed, operand);
  });
}

/// Not part of CUDA: a program may look it up and declare that device memory from `device` on is a matrix, with its
/// rows, columns, bytes per element, and pitch. A replay can then report which tiles of it differ.
SIM_API void sim_describe_result(const char* name, const void* device, unsigned rows, unsigned columns,
                                 unsigned element, std::size_t pitch) {
  query("sim_describe_result", [&](Process& process) {
    if (process.recorder() == nullptr || rows == 0 || columns == 0 || element == 0) return;
    process.recorder()->describes({name, device_address(device), rows, columns, element, pitch});
  });
}

/// Not part of CUDA: whether this device only predicts how long kernels take. Then kernels read no inputs and write no
/// results.
SIM_API int sim_predicts() {
  int predicts = 0;
  call("sim_predicts", [&](Process& process) { predicts = process.device().options().timing; });
  return predicts;
}
