// The driver's versions, errors, devices and contexts.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/attributes.h"
#include "runtime/driver.h"
#include "runtime/errors.h"

using namespace sim;
using namespace sim::runtime;

namespace sim::runtime {

CUresult as_result(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    default: return driver_error_name(error) == nullptr ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(error);
  }
}

CUcontext the_context() {
  static char context;
  return reinterpret_cast<CUcontext>(&context);
}

}  // namespace sim::runtime

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

namespace {

/// The table that NVIDIA's runtime requests first, in 13.0 of the toolkit as in 13.4 of cuda-python.
bool is_the_runtimes(const CUuuid& table) {
  constexpr unsigned char kFirst[] = {0xF8, 0xCF, 0xF9, 0x51, 0x21, 0x46, 0x8B, 0x4E,
                                      0xB9, 0xE2, 0xFB, 0x46, 0x9E, 0x7C, 0x0D, 0xD9};
  static_assert(sizeof kFirst == sizeof table.bytes);
  return std::memcmp(table.bytes, kFirst, sizeof kFirst) == 0;
}

}  // namespace

// Undocumented tables of functions that NVIDIA's own libraries share. Most libraries work without missing tables; the
// static runtime does not. cuBLAS and similar libraries contain it, as does cuda-python's cuda.bindings.runtime. They
// return an error that does not name the cause.
CUresult cuGetExportTable(const void** functions, const CUuuid* table) {
  if (functions != nullptr) *functions = nullptr;
  Dl_info caller{};
  if (table != nullptr && is_the_runtimes(*table) && dladdr(__builtin_return_address(0), &caller) != 0) {
    const std::string_view path = caller.dli_fname;
    say(format(
        "%s calls the device through the static CUDA runtime inside it, which needs private functions of "
        "NVIDIA's driver. So these calls fail: do without the library, link the shared runtime in its place (nvcc "
        "-cudart shared), use the driver API (cuda-python: cuda.bindings.driver, cuda.core), or use a GPU.",
        std::string(path.substr(path.rfind('/') + 1)).c_str()));
  }
  return CUDA_ERROR_NOT_FOUND;
}

SIM_API CUresult cuProfilerStart() { return CUDA_SUCCESS; }
SIM_API CUresult cuProfilerStop() { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) { return as_runtime(cudaDriverGetVersion, version); }

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

CUresult cuDeviceGetCount(int* count) { return as_runtime(cudaGetDeviceCount, count); }

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return driver("cuDeviceGet", [&](Process&) {
    check_device(ordinal);
    result(device, "device") = 0;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return driver("cuDeviceGetName", [&](Process& process) {
    check_device(device);
    if (name == nullptr || length < 1) refuse(cudaErrorInvalidValue, "len is too small for the name.");
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
  return as_runtime(cudaDeviceGetAttribute, value, static_cast<cudaDeviceAttr>(attribute), device);
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return driver("cuDeviceComputeCapability", [&](Process& process) {
    check_device(device);
    result(major, "major") = process.gpu().major;
    result(minor, "minor") = process.gpu().minor;
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return as_runtime(cudaDeviceGetPCIBusId, text, length, device);
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return as_runtime(cudaDeviceGetByPCIBusId, device, text);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return as_runtime(cudaDeviceGetDefaultMemPool, pool, device);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return as_runtime(cudaDeviceGetMemPool, pool, device);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return as_runtime(cudaMemPoolSetAttribute, pool, static_cast<cudaMemPoolAttr>(attribute), value);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return as_runtime(cudaMemPoolGetAttribute, pool, static_cast<cudaMemPoolAttr>(attribute), value);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps), "one is read as the other");
  return as_runtime(cudaMemPoolCreate, pool, reinterpret_cast<const cudaMemPoolProps*>(properties));
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) { return as_runtime(cudaMemPoolDestroy, pool); }

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) { return as_runtime(cudaMemPoolTrimTo, pool, bytes); }

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return as_runtime(cudaDeviceCanAccessPeer, can, device, peer);
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

CUresult cuDevicePrimaryCtxReset(CUdevice) { return as_runtime(cudaDeviceReset); }

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

CUresult cuCtxGetFlags(unsigned* flags) { return as_runtime(cudaGetDeviceFlags, flags); }

CUresult cuCtxGetId(CUcontext, unsigned long long* id) {
  return driver("cuCtxGetId", [&](Process&) { result(id, "ctxId") = 1; });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  return driver("cuCtxGetApiVersion", [&](Process&) { result(version, "version") = CUDA_VERSION; });
}

CUresult cuCtxSynchronize() { return as_runtime(cudaDeviceSynchronize); }

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return as_runtime(cudaDeviceSetLimit, static_cast<cudaLimit>(limit), value);
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return as_runtime(cudaDeviceGetLimit, value, static_cast<cudaLimit>(limit));
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return as_runtime(cudaDeviceGetStreamPriorityRange, least, greatest);
}

CUresult cuCtxResetPersistingL2Cache() { return as_runtime(cudaCtxResetPersistingL2Cache); }
