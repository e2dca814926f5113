// The driver's versions, errors, devices and contexts.
#include <cstdio>

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

// Tables of functions that NVIDIA's own libraries share and nobody has documented. They go on without those that are missing.
CUresult cuGetExportTable(const void** functions, const CUuuid*) {
  if (functions != nullptr) *functions = nullptr;
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
