// The part of the driver API that programs built on the runtime need (tensor maps, contexts, attributes, errors), and
// enough of the rest for a program that loads PTX and launches it itself. Most functions are their runtime namesakes.
//
// The functions live in libcudart.so.13, beside the state that they share. libcuda.so.1 is an empty library that depends
// on it: whoever links it or looks a name up in it finds the name there.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/attributes.h"
#include "runtime/driver_entry.h"
#include "runtime/errors.h"
#include "runtime/process.h"
#include "runtime/tensor_maps.h"
#include "runtime/transfer.h"

using namespace sim;
using namespace sim::runtime;

namespace {

CUresult as_result(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    default: return driver_error_name(error) == nullptr ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(error);
  }
}

/// Does what a runtime function does, without leaving a trace in cudaGetLastError.
template <typename Body>
CUresult as_runtime(Body&& body) {
  const cudaError_t before = last_error();
  const cudaError_t error = body();
  last_error() = before;
  return as_result(error);
}

/// The same for what has no runtime function.
template <typename Body>
CUresult driver(const char* name, Body&& body) {
  return as_runtime([&] { return query(name, body); });
}

void* pointer_to(CUdeviceptr address) { return reinterpret_cast<void*>(address); }  // NOLINT: that is what it is
CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
const void* function_of(CUfunction function) { return function; }

/// There is one context, and it is always current.
CUcontext the_context() {
  static char context;
  return reinterpret_cast<CUcontext>(&context);
}

}  // namespace

// ---------------------------------------------------------------------------------------------- versions, errors, devices

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) {
  return as_runtime([&] { return cudaDriverGetVersion(version); });
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = driver_error_name(error);
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = driver_error_text(error);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  return as_runtime([&] { return cudaGetDeviceCount(count); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return driver("cuDeviceGet", [&](Process&) {
    check_device(ordinal);
    result(device, "device") = 0;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return driver("cuDeviceGetName", [&](Process& process) {
    check_device(device);
    if (name == nullptr || length < 1) refuse(cudaErrorInvalidValue, "there is no room for the name.");
    std::snprintf(name, static_cast<std::size_t>(length), "%s", process.gpu().name.c_str());
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return driver("cuDeviceGetUuid", [&](Process& process) {
    check_device(device);
    result(uuid, "uuid") = device_properties(process.gpu()).uuid;
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return driver("cuDeviceTotalMem", [&](Process& process) {
    check_device(device);
    result(bytes, "bytes") = process.gpu().global_bytes;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return as_runtime([&] { return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device); });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return driver("cuDeviceComputeCapability", [&](Process& process) {
    check_device(device);
    result(major, "major") = process.gpu().major;
    result(minor, "minor") = process.gpu().minor;
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return as_runtime([&] { return cudaDeviceGetPCIBusId(text, length, device); });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return as_runtime([&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}

// ------------------------------------------------------------------------------------------------------------ contexts

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return driver("cuDevicePrimaryCtxRetain", [&](Process&) {
    check_device(device);
    result(context, "pctx") = the_context();
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return driver("cuDevicePrimaryCtxRelease", [&](Process&) { check_device(device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice) {
  return as_runtime([] { return cudaDeviceReset(); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned) {
  return driver("cuDevicePrimaryCtxSetFlags", [&](Process&) { check_device(device); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return driver("cuDevicePrimaryCtxGetState", [&](Process&) {
    check_device(device);
    result(flags, "flags") = 0;
    result(active, "active") = 1;
  });
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
  return cuDevicePrimaryCtxRetain(context, device);
}

SIM_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  return cuDevicePrimaryCtxRetain(context, device);
}

CUresult cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuCtxPopCurrent(CUcontext* context) {
  if (context != nullptr) *context = the_context();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) { return cuDevicePrimaryCtxRetain(context, 0); }

CUresult cuCtxGetDevice(CUdevice* device) { return cuDeviceGet(device, 0); }

CUresult cuCtxGetFlags(unsigned* flags) {
  return as_runtime([&] { return cudaGetDeviceFlags(flags); });
}

CUresult cuCtxGetId(CUcontext, unsigned long long* id) {
  return driver("cuCtxGetId", [&](Process&) { result(id, "ctxId") = 1; });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  return driver("cuCtxGetApiVersion", [&](Process&) { result(version, "version") = CUDA_VERSION; });
}

CUresult cuCtxSynchronize() {
  return as_runtime([] { return cudaDeviceSynchronize(); });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return as_runtime([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return as_runtime([&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return as_runtime([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}

CUresult cuCtxResetPersistingL2Cache() {
  return as_runtime([] { return cudaCtxResetPersistingL2Cache(); });
}

// -------------------------------------------------------------------------------------------------------------- memory

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return as_runtime([&] { return cudaMemGetInfo(free_bytes, total_bytes); });
}

namespace {

/// The runtime gives a null pointer for 0 bytes; the driver refuses.
template <typename Allocate>
CUresult allocate_with(CUdeviceptr* address, size_t bytes, Allocate&& allocate) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const CUresult error = as_runtime([&] { return allocate(&pointer); });
  if (error == CUDA_SUCCESS) *address = address_of(pointer);
  return error;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return allocate_with(address, bytes, [&](void** pointer) { return cudaMalloc(pointer, bytes); });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return allocate_with(address, bytes, [&](void** pointer) { return cudaMallocManaged(pointer, bytes, flags); });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_with(address, bytes, [&](void** pointer) { return cudaMallocAsync(pointer, bytes, stream); });
}

CUresult cuMemFree(CUdeviceptr address) {
  return as_runtime([&] { return cudaFree(pointer_to(address)); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return as_runtime([&] { return cudaFreeAsync(pointer_to(address), stream); });
}

CUresult cuMemAllocHost(void** pointer, size_t bytes) {
  return as_runtime([&] { return cudaMallocHost(pointer, bytes); });
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return as_runtime([&] { return cudaHostAlloc(pointer, bytes, flags); });
}

CUresult cuMemFreeHost(void* pointer) {
  return as_runtime([&] { return cudaFreeHost(pointer); });
}

CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  return driver("cuMemGetAddressRange", [&](Process& process) {
    const auto* allocation = process.memory().find(address, 1);
    if (allocation == nullptr) refuse(cudaErrorSymbolNotFound, "0x%llx is not device memory.", address);
    if (begin != nullptr) *begin = allocation->begin;
    if (bytes != nullptr) *bytes = allocation->end - allocation->begin;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return driver("cuPointerGetAttribute", [&](Process& process) {
    using Kind = GlobalMemory::Kind;
    require_pointer(data, "data");
    const auto* allocation = process.memory().find(address, 1);
    if (allocation == nullptr) throw Refusal{cudaErrorInvalidValue, ""};  // how programs ask whose pointer it is
    const bool on_host = allocation->kind == Kind::Host || allocation->kind == Kind::Adopted;
    const auto answer = [&](auto value) { std::memcpy(data, &value, sizeof value); };
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT: return answer(the_context());
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return answer(on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return answer(address);
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (allocation->kind == Kind::Device) throw Refusal{cudaErrorInvalidValue, ""};
        return answer(pointer_to(address));
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: return answer(unsigned{allocation->kind == Kind::Managed});
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return answer(int{0});
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return answer(allocation->begin);
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer(allocation->end - allocation->begin);
      case CU_POINTER_ATTRIBUTE_MAPPED: return answer(unsigned{1});
      default:
        refuse(cudaErrorNotSupported, "attribute %d of pointers is not simulated.", static_cast<int>(attribute));
    }
  });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return as_runtime([&] { return cudaMemcpy(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDefault); });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return as_runtime([&] { return cudaMemcpy(pointer_to(to), from, bytes, cudaMemcpyHostToDevice); });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return as_runtime([&] { return cudaMemcpy(to, pointer_to(from), bytes, cudaMemcpyDeviceToHost); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return as_runtime([&] { return cudaMemcpy(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return as_runtime([&] { return cudaMemcpyAsync(pointer_to(to), from, bytes, cudaMemcpyHostToDevice, stream); });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return as_runtime([&] { return cudaMemcpyAsync(to, pointer_to(from), bytes, cudaMemcpyDeviceToHost, stream); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return as_runtime(
      [&] { return cudaMemcpyAsync(pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice, stream); });
}

namespace {

CUresult fill_units(const char* name, CUdeviceptr to, uint32_t value, std::size_t unit, std::size_t count) {
  return as_runtime([&] {
    return call(name, [&](Process& process) { fill(process, pointer_to(to), {}, {count * unit}, value, unit); });
  });
}

}  // namespace

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_units("cuMemsetD8", to, value, 1, count);
}

CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return fill_units("cuMemsetD16", to, value, 2, count);
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return fill_units("cuMemsetD32", to, value, 4, count);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream) {
  return fill_units("cuMemsetD8Async", to, value, 1, count);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream) {
  return fill_units("cuMemsetD16Async", to, value, 2, count);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  return fill_units("cuMemsetD32Async", to, value, 4, count);
}

// ---------------------------------------------------------------------------------------------------- modules, launches

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return as_runtime([&] {
    return cudaLibraryLoadData(reinterpret_cast<cudaLibrary_t*>(module), image, nullptr, nullptr, 0, nullptr, nullptr,
                               0);
  });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }

CUresult cuModuleLoad(CUmodule* module, const char* file) {
  return as_runtime([&] {
    return cudaLibraryLoadFromFile(reinterpret_cast<cudaLibrary_t*>(module), file, nullptr, nullptr, 0, nullptr,
                                   nullptr, 0);
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return as_runtime([&] { return cudaLibraryUnload(reinterpret_cast<cudaLibrary_t>(module)); });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return as_runtime([&] {
    return cudaLibraryGetKernel(reinterpret_cast<cudaKernel_t*>(function), reinterpret_cast<cudaLibrary_t>(module),
                                name);
  });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return as_runtime([&] {
    return cudaLibraryGetGlobal(reinterpret_cast<void**>(address), bytes, reinterpret_cast<cudaLibrary_t>(module),
                                name);
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return driver("cuModuleGetLoadingMode", [&](Process&) { result(mode, "mode") = CU_MODULE_LAZY_LOADING; });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}

CUresult cuLibraryUnload(CUlibrary library) { return cuModuleUnload(reinterpret_cast<CUmodule>(library)); }

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library), name);
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuModuleGetGlobal(address, bytes, reinterpret_cast<CUmodule>(library), name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return driver("cuKernelGetFunction",
                [&](Process&) { result(function, "pFunc") = reinterpret_cast<CUfunction>(kernel); });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return as_runtime([&] {
    return cudaFuncSetAttribute(function_of(function), static_cast<cudaFuncAttribute>(attribute), value);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  cudaFuncAttributes all;
  const CUresult error = as_runtime([&] { return cudaFuncGetAttributes(&all, function_of(function)); });
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
      default: refuse(cudaErrorInvalidValue, "there is no attribute %d of functions.", static_cast<int>(attribute));
    }
  });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  return as_runtime([&] { return cudaFuncSetCacheConfig(function_of(function), static_cast<cudaFuncCache>(config)); });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return as_runtime([&] { return cudaFuncGetName(name, function_of(function)); });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamic_smem) {
  return as_runtime([&] {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function_of(function), threads, dynamic_smem);
  });
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

/// Finds the arguments in the packed buffer that a caller may give instead of a pointer for each.
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
  return as_runtime([&] { return cudaLaunchKernelExC(&config, function_of(function), arguments); });
}

}  // namespace

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_driver(as_runtime_config(*config), function, arguments, extra);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned dynamic_smem, CUstream stream, void** arguments,
                        void** extra) {
  const CUlaunchConfig config{grid_x,  grid_y,       grid_z, block_x, block_y,
                              block_z, dynamic_smem, stream, nullptr, 0};
  return launch_driver(as_runtime_config(config), function, arguments, extra);
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = as_runtime_config(*config);
  return as_runtime([&] { return cudaOccupancyMaxActiveClusters(clusters, function_of(function), &same); });
}

// ---------------------------------------------------------------------------------------------------- streams and events

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return as_runtime([&] { return cudaStreamCreateWithFlags(stream, flags); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return as_runtime([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream stream) {
  return as_runtime([&] { return cudaStreamDestroy(stream); });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return as_runtime([&] { return cudaStreamSynchronize(stream); });
}

CUresult cuStreamQuery(CUstream stream) {
  return as_runtime([&] { return cudaStreamQuery(stream); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return as_runtime([&] { return cudaStreamWaitEvent(stream, event, flags); });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return as_runtime(
      [&] { return cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status)); });
}

CUresult cuStreamGetCtx(CUstream, CUcontext* context) { return cuCtxGetCurrent(context); }

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return as_runtime([&] { return cudaEventCreateWithFlags(event, flags); });
}

CUresult cuEventDestroy(CUevent event) {
  return as_runtime([&] { return cudaEventDestroy(event); });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return as_runtime([&] { return cudaEventRecord(event, stream); });
}

CUresult cuEventQuery(CUevent event) {
  return as_runtime([&] { return cudaEventQuery(event); });
}

CUresult cuEventSynchronize(CUevent event) {
  return as_runtime([&] { return cudaEventSynchronize(event); });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return as_runtime([&] { return cudaEventElapsedTime(milliseconds, start, end); });
}

// --------------------------------------------------------------------------------------------------------- tensor maps

namespace {

/// The library's own way to refuse: the sentence, then the driver's error.
CUresult refuse_tensor_map(const char* name, CUresult error, const std::string& problem) {
  say(std::string(name) + ": " + problem);
  return error;
}

CUresult no_im2col(const char* name) {
  return refuse_tensor_map(name, CUDA_ERROR_NOT_SUPPORTED,
                           "im2col tensor maps are not simulated: use a tiled one (cuTensorMapEncodeTiled).");
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType data_type, cuuint32_t rank, void* global_address,
                                const cuuint64_t* global_dim, const cuuint64_t* global_strides,
                                const cuuint32_t* box_dim, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill) {
  Process& process = Process::get();
  std::lock_guard lock(process.mutex);
  const EncodedTensorMap encoded =
      encode_tensor_map({map, data_type, rank, global_address, global_dim, global_strides, box_dim, element_strides,
                         interleave, swizzle, l2_promotion, oob_fill},
                        process.gpu(), process.memory());
  if (encoded.error != CUDA_SUCCESS) return refuse_tensor_map("cuTensorMapEncodeTiled", encoded.error, encoded.problem);
  static_assert(sizeof *map == sizeof encoded.map);
  std::memcpy(map, &encoded.map, sizeof *map);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* global_address) {
  return driver("cuTensorMapReplaceAddress", [&](Process& process) {
    TensorMap known;
    std::memcpy(&known, &result(map, "tensorMap"), sizeof known);
    const auto address = reinterpret_cast<uintptr_t>(global_address);
    if (known.magic != TensorMap::MAGIC) refuse(cudaErrorInvalidValue, "tensorMap is not a tensor map.");
    if (address % 16 != 0) refuse(cudaErrorInvalidValue, "globalAddress is %p, not aligned to 16 bytes.", global_address);
    if (process.memory().find(address, 1) == nullptr) {
      refuse(cudaErrorInvalidValue, "globalAddress is not device memory: it is %s.",
             process.memory().describe(address).c_str());
    }
    known.address = address;
    std::memcpy(map, &known, sizeof known);
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill) {
  return no_im2col("cuTensorMapEncodeIm2col");
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                     const cuuint64_t*, int, int, cuuint32_t, cuuint32_t, const cuuint32_t*,
                                     CUtensorMapInterleave, CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return no_im2col("cuTensorMapEncodeIm2colWide");
}

// -------------------------------------------------------------------------------------------------- functions by name

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const DriverEntry entry = find_driver_entry(name, version);
  *function = entry.function;
  const CUdriverProcAddressQueryResult answer = entry.function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                                                : entry.too_new ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (status != nullptr) *status = answer;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return query("cudaGetDriverEntryPoint", [&](Process&) {
    const DriverEntry entry = find_driver_entry(&result(name, "symbol"), static_cast<int>(version));
    result(function, "funcPtr") = entry.function;
    if (status != nullptr) {
      *status = entry.function != nullptr ? cudaDriverEntryPointSuccess
                : entry.too_new           ? cudaDriverEntryPointVersionNotSufficent
                                          : cudaDriverEntryPointSymbolNotFound;
    }
    if (entry.function == nullptr && !entry.too_new) {
      say(format("cudaGetDriverEntryPoint: %s is not simulated; the program is told that the driver lacks it.", name));
    }
  });
}
SIM_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, status);
}
SIM_PER_THREAD(cudaGetDriverEntryPoint, _ptsz)
#pragma GCC diagnostic pop

// Programs compiled with --default-stream per-thread.
SIM_PER_THREAD(cuMemcpy, _ptds)
SIM_PER_THREAD(cuMemcpyHtoD_v2, _ptds)
SIM_PER_THREAD(cuMemcpyDtoH_v2, _ptds)
SIM_PER_THREAD(cuMemcpyDtoD_v2, _ptds)
SIM_PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz)
SIM_PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz)
SIM_PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz)
SIM_PER_THREAD(cuMemsetD8_v2, _ptds)
SIM_PER_THREAD(cuMemsetD16_v2, _ptds)
SIM_PER_THREAD(cuMemsetD32_v2, _ptds)
SIM_PER_THREAD(cuMemsetD8Async, _ptsz)
SIM_PER_THREAD(cuMemsetD16Async, _ptsz)
SIM_PER_THREAD(cuMemsetD32Async, _ptsz)
SIM_PER_THREAD(cuMemAllocAsync, _ptsz)
SIM_PER_THREAD(cuMemFreeAsync, _ptsz)
SIM_PER_THREAD(cuLaunchKernel, _ptsz)
SIM_PER_THREAD(cuLaunchKernelEx, _ptsz)
SIM_PER_THREAD(cuStreamSynchronize, _ptsz)
SIM_PER_THREAD(cuStreamQuery, _ptsz)
SIM_PER_THREAD(cuStreamWaitEvent, _ptsz)
SIM_PER_THREAD(cuStreamIsCapturing, _ptsz)
SIM_PER_THREAD(cuStreamGetCtx, _ptsz)
SIM_PER_THREAD(cuEventRecord, _ptsz)
