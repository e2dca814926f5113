// The driver's modules and launches. A CUmodule and a CUlibrary are a Binary, a CUfunction and a CUkernel a Kernel.
#include "runtime/driver.h"

using namespace sim;
using namespace sim::runtime;

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return as_runtime(cudaLibraryLoadData, reinterpret_cast<cudaLibrary_t*>(module), image, nullptr, nullptr, 0, nullptr,
                    nullptr, 0);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  const CalledAs name(__func__);
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  const CalledAs name(__func__);
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule* module, const char* file) {
  return as_runtime(cudaLibraryLoadFromFile, reinterpret_cast<cudaLibrary_t*>(module), file, nullptr, nullptr, 0,
                    nullptr, nullptr, 0);
}

CUresult cuModuleUnload(CUmodule module) {
  return as_runtime(cudaLibraryUnload, reinterpret_cast<cudaLibrary_t>(module));
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return as_runtime(cudaLibraryGetKernel, reinterpret_cast<cudaKernel_t*>(function),
                    reinterpret_cast<cudaLibrary_t>(module), name);
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return as_runtime(cudaLibraryGetGlobal, reinterpret_cast<void**>(address), bytes,
                    reinterpret_cast<cudaLibrary_t>(module), name);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return driver("cuModuleGetLoadingMode", [&](Process&) { result(mode, "mode") = CU_MODULE_LAZY_LOADING; });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  const CalledAs name(__func__);
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  const CalledAs name(__func__);
  return cuModuleLoad(reinterpret_cast<CUmodule*>(library), file);
}

CUresult cuLibraryUnload(CUlibrary library) {
  const CalledAs name(__func__);
  return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* kernel_name) {
  const CalledAs name(__func__);
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library), kernel_name);
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* variable) {
  const CalledAs name(__func__);
  return cuModuleGetGlobal(address, bytes, reinterpret_cast<CUmodule>(library), variable);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return driver("cuKernelGetFunction",
                [&](Process&) { result(function, "pFunc") = reinterpret_cast<CUfunction>(kernel); });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return as_runtime(cudaFuncSetAttribute, function, static_cast<cudaFuncAttribute>(attribute), value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  cudaFuncAttributes all;
  const CUresult error = as_runtime(cudaFuncGetAttributes, &all, function);
  if (error != CUDA_SUCCESS) return error;
  return driver("cuFuncGetAttribute", [&](Process&) {
    int& answer = result(value, "pi");
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: answer = all.maxThreadsPerBlock; break;
      case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: answer = static_cast<int>(all.sharedSizeBytes); break;
      case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: answer = static_cast<int>(all.constSizeBytes); break;
      case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: answer = static_cast<int>(all.localSizeBytes); break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS: answer = all.numRegs; break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION: answer = all.ptxVersion; break;
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION: answer = all.binaryVersion; break;
      case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: answer = all.cacheModeCA; break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: answer = all.maxDynamicSharedSizeBytes; break;
      case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: answer = all.preferredShmemCarveout; break;
      case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: answer = all.clusterDimMustBeSet; break;
      case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: answer = all.requiredClusterWidth; break;
      case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: answer = all.requiredClusterHeight; break;
      case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: answer = all.requiredClusterDepth; break;
      case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: answer = all.nonPortableClusterSizeAllowed; break;
      case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        answer = all.clusterSchedulingPolicyPreference;
        break;
      default:
        refuse(cudaErrorInvalidValue, "there is no attribute %d of functions in CUDA 13.0.",
               static_cast<int>(attribute));
    }
  });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  return as_runtime(cudaFuncSetCacheConfig, function, static_cast<cudaFuncCache>(config));
}

CUresult cuFuncGetName(const char** name, CUfunction function) { return as_runtime(cudaFuncGetName, name, function); }

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return cuFuncGetName(name, reinterpret_cast<CUfunction>(kernel));
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}

// Code is loaded with its module.
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction) {
  return driver("cuFuncIsLoaded", [&](Process&) { result(state, "state") = CU_FUNCTION_LOADING_STATE_LOADED; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                              size_t dynamic_smem, unsigned flags) {
  return as_runtime(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function, threads, dynamic_smem,
                    flags);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int threads) {
  return as_runtime(cudaOccupancyAvailableDynamicSMemPerBlock, bytes, function, blocks, threads);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize smem_of, size_t dynamic_smem, int limit,
                                                   unsigned flags) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int most = 0, sms = 0;
  if (const CUresult error = cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
      error != CUDA_SUCCESS)
    return error;
  if (limit > 0 && limit < most) most = limit;
  int best_threads = 0;
  for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {  // whole warps, the greatest first
    int blocks = 0;
    const size_t smem = smem_of != nullptr ? smem_of(threads) : dynamic_smem;
    const CUresult error =
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, threads, smem, flags);
    if (error != CUDA_SUCCESS) return error;
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    *grid = blocks, *block = threads;
  }
  if (const CUresult error = cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
      error != CUDA_SUCCESS)
    return error;
  *grid *= sms;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize smem_of,
                                          size_t dynamic_smem, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, smem_of, dynamic_smem, limit, 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamic_smem) {
  return as_runtime(cudaOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function, threads, dynamic_smem);
}

namespace {

static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute), "one is read as the other");

cudaLaunchConfig_t as_runtime_config(const CUlaunchConfig& config) {
  cudaLaunchConfig_t same{};
  same.gridDim = {config.gridDimX, config.gridDimY, config.gridDimZ};
  same.blockDim = {config.blockDimX, config.blockDimY, config.blockDimZ};
  same.dynamicSmemBytes = config.sharedMemBytes;
  same.stream = config.hStream;
  same.attrs = reinterpret_cast<cudaLaunchAttribute*>(config.attrs);
  same.numAttrs = config.numAttrs;
  return same;
}

/// Finds the arguments in the packed buffer that a caller may pass instead of one pointer per argument.
std::vector<void*> unpack(Kernel& kernel, Process& process, void** extra) {
  char* buffer = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<char*>(extra[1]);
  }
  std::vector<void*> arguments;
  for (const auto& parameter : kernel.info(process).parameters) arguments.push_back(buffer + parameter.offset);
  return arguments;
}

CUresult launch_driver(const cudaLaunchConfig_t& config, CUfunction function, void** arguments, void** extra) {
  std::vector<void*> unpacked;
  if (extra != nullptr) {
    const CUresult error = driver("cuLaunchKernel", [&](Process& process) {
      Kernel* kernel = process.registry.find_kernel(function);
      if (kernel == nullptr) refuse(cudaErrorInvalidResourceHandle, "the function is not a loaded kernel.");
      unpacked = unpack(*kernel, process, extra);
    });
    if (error != CUDA_SUCCESS) return error;
    arguments = unpacked.data();
  }
  return as_runtime(cudaLaunchKernelExC, &config, function, arguments);
}

}  // namespace

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_driver(as_runtime_config(*config), function, arguments, extra);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned dynamic_smem, CUstream stream, void** arguments,
                        void** extra) {
  const CUlaunchConfig config{grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_smem, stream, nullptr, 0};
  return launch_driver(as_runtime_config(config), function, arguments, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_smem,
                                   CUstream stream, void** arguments) {
  return as_runtime(cudaLaunchCooperativeKernel, function, dim3{grid_x, grid_y, grid_z},
                    dim3{block_x, block_y, block_z}, arguments, dynamic_smem, stream);
}

CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = as_runtime_config(*config);
  return as_runtime(cudaOccupancyMaxPotentialClusterSize, size, function, &same);
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = as_runtime_config(*config);
  return as_runtime(cudaOccupancyMaxActiveClusters, clusters, function, &same);
}

// For programs compiled with --default-stream per-thread.
SIM_PER_THREAD(cuLaunchKernel, _ptsz)
SIM_PER_THREAD(cuLaunchCooperativeKernel, _ptsz)
SIM_PER_THREAD(cuLaunchKernelEx, _ptsz)
