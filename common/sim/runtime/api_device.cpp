// The device: its properties, and settings that are accepted without effect.
#include <cstdio>
#include <cstring>
#include <map>

#include "runtime/attributes.h"
#include "runtime/capture.h"
#include "runtime/process.h"

using namespace sim;
using namespace sim::runtime;

namespace {

constexpr char kPciBusId[] = "0000:00:00.0";

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return query("cudaGetDeviceCount", [&](Process&) { result(count, "count") = 1; });
}

cudaError_t cudaGetDevice(int* device) {
  return query("cudaGetDevice", [&](Process&) { result(device, "device") = 0; });
}

cudaError_t cudaSetDevice(int device) {
  return query("cudaSetDevice", [&](Process&) { check_device(device); });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return query("cudaInitDevice", [&](Process&) { check_device(device); });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return query("cudaSetValidDevices", [&](Process&) {
    for (int i = 0; i < count; ++i) check_device((&result(devices, "device_arr"))[i]);
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return query("cudaChooseDevice", [&](Process&) { result(device, "device") = 0; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return query("cudaGetDeviceProperties", [&](Process& process) {
    check_device(device);
    result(properties, "prop") = device_properties(process.gpu());
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return query("cudaDeviceGetAttribute", [&](Process& process) {
    check_device(device);
    const std::optional<int> known = device_attribute(process.gpu(), attribute);
    if (!known) refuse(cudaErrorInvalidValue, "there is no device attribute %d.", static_cast<int>(attribute));
    result(value, "value") = *known;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return query("cudaDeviceGetPCIBusId", [&](Process&) {
    check_device(device);
    if (text == nullptr || length < 1) refuse(cudaErrorInvalidValue, "len is too small for the bus id.");
    std::snprintf(text, static_cast<std::size_t>(length), "%s", kPciBusId);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return query("cudaDeviceGetByPCIBusId", [&](Process&) {
    if (std::strcmp(&result(text, "pciBusId"), kPciBusId) != 0) {
      refuse(cudaErrorInvalidDevice, "no device has the PCI bus id %s.", text);
    }
    result(device, "device") = 0;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return query("cudaDriverGetVersion", [&](Process&) { result(version, "driverVersion") = CUDA_VERSION; });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return query("cudaRuntimeGetVersion", [&](Process&) { result(version, "runtimeVersion") = CUDART_VERSION; });
}

// A device with one context has no peers.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return query("cudaDeviceCanAccessPeer", [&](Process&) {
    check_device(device);
    check_device(peer);
    result(can, "canAccessPeer") = 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return call("cudaDeviceEnablePeerAccess", [&](Process&) {
    check_device(peer);
    refuse(cudaErrorPeerAccessUnsupported, "there is only one device, and it is not its own peer.");
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call("cudaDeviceDisablePeerAccess", [&](Process&) {
    check_device(peer);
    refuse(cudaErrorPeerAccessNotEnabled, "no peer access is enabled.");
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int device, int peer) {
  return query("cudaDeviceGetP2PAttribute", [&](Process&) {
    check_device(device);
    check_device(peer);
    result(value, "value") = 0;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [](Process& process) {
    refuse_while_any_is_captured();
    process.order().wait_for_all();
  });
}

// A reset frees nothing: the program's pointers and handles stay valid. After a fault a real context cannot be restored
// in the same process, and neither can this one.
cudaError_t cudaDeviceReset() {
  return query("cudaDeviceReset", [&](Process& process) {
    process.settle();
    if (process.sticky != cudaSuccess) process.sticky = cudaErrorDevicesUnavailable;
  });
}

// ------------------------------------------------------------------------------------------------------------ settings

namespace {

struct Limits {
  std::map<cudaLimit, size_t> value = {
      {cudaLimitPrintfFifoSize, 8'650'752},          {cudaLimitMallocHeapSize, 8'388'608},
      {cudaLimitDevRuntimePendingLaunchCount, 2048}, {cudaLimitMaxL2FetchGranularity, 64},
      {cudaLimitPersistingL2CacheSize, 0},
  };
};

/// The driver reserves the stacks of all threads that can be resident, and no stack exceeds local memory.
void check_stack(const Gpu& gpu, size_t bytes) {
  constexpr size_t kMost = 512 * 1024;
  if (bytes > kMost)
    refuse(cudaErrorInvalidValue, "a thread has at most %zu bytes of local memory for its stack, not %zu.", kMost,
           bytes);
  const size_t threads = static_cast<size_t>(gpu.threads_per_sm) * static_cast<size_t>(gpu.sm_count);
  if (bytes * threads > gpu.global_bytes)
    refuse(cudaErrorMemoryAllocation, "stacks of %zu bytes for %zu threads exceed the memory of the device.", bytes,
           threads);
}

size_t& find_limit(Process& process, cudaLimit limit) {
  static Limits limits;
  if (limit == cudaLimitStackSize) return process.stack_limit;
  const auto found = limits.value.find(limit);
  if (limit == cudaLimitDevRuntimeSyncDepth) refuse(cudaErrorUnsupportedLimit, "this limit no longer exists.");
  if (found == limits.value.end()) refuse(cudaErrorInvalidValue, "there is no limit %d.", static_cast<int>(limit));
  return found->second;
}

cudaFuncCache cache_config = cudaFuncCachePreferNone;
unsigned device_flags = cudaDeviceScheduleAuto | cudaDeviceMapHost;

}  // namespace

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return call("cudaDeviceSetLimit", [&](Process& process) {
    if (limit == cudaLimitStackSize) check_stack(process.gpu(), value);
    find_limit(process, limit) = value;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return call("cudaDeviceGetLimit", [&](Process& process) { result(value, "pValue") = find_limit(process, limit); });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return call("cudaDeviceSetCacheConfig", [&](Process&) { cache_config = config; });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return call("cudaDeviceGetCacheConfig", [&](Process&) { result(config, "pCacheConfig") = cache_config; });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return call("cudaDeviceSetSharedMemConfig", [&](Process&) {});
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return call("cudaDeviceGetSharedMemConfig",
              [&](Process&) { result(config, "pConfig") = cudaSharedMemBankSizeFourByte; });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return query("cudaSetDeviceFlags", [&](Process&) { device_flags = flags | cudaDeviceMapHost; });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return query("cudaGetDeviceFlags", [&](Process&) { result(flags, "flags") = device_flags; });
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return call("cudaCtxResetPersistingL2Cache", [&](Process&) {});
}

// Declared in a separate header, which not every toolkit installs.
SIM_API cudaError_t cudaProfilerStart() {
  return call("cudaProfilerStart", [&](Process&) {});
}

SIM_API cudaError_t cudaProfilerStop() {
  return call("cudaProfilerStop", [&](Process&) {});
}
