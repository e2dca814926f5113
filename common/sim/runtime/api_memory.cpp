// Allocation of linear memory, and queries about pointers.
#include <map>

#include "runtime/capture.h"
#include "runtime/transfer.h"

using namespace sim;
using namespace sim::runtime;
using Kind = GlobalMemory::Kind;

namespace {

constexpr std::size_t kPitchAlignment = 512;

std::size_t padded(std::size_t width) { return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment; }

cudaError_t malloc_as(const char* name, void** pointer, std::size_t bytes, Kind kind) {
  return call(name, [&](Process& process) { result(pointer, "devPtr") = allocate(process, bytes, name, kind); });
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- allocation

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return malloc_as("cudaMalloc", pointer, bytes, Kind::Device); }

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  return malloc_as("cudaMallocManaged", pointer, bytes, Kind::Managed);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return malloc_as("cudaMallocHost", pointer, bytes, Kind::Host);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return malloc_as("cudaHostAlloc", pointer, bytes, Kind::Host);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call("cudaMallocPitch", [&](Process& process) {
    result(pitch, "pitch") = padded(width);
    result(pointer, "devPtr") = allocate(process, padded(width) * height, "cudaMallocPitch", Kind::Device);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return call("cudaMalloc3D", [&](Process& process) {
    const std::size_t pitch = padded(extent.width);
    void* const pointer = allocate(process, pitch * extent.height * extent.depth, "cudaMalloc3D", Kind::Device);
    result(pitched, "pitchedDevPtr") = {pointer, pitch, extent.width, extent.height};
  });
}

cudaError_t cudaFree(void* pointer) {
  return call("cudaFree", [&](Process& process) { release(process, pointer, Kind::Device, Kind::Managed); });
}

cudaError_t cudaFreeHost(void* pointer) {
  return call("cudaFreeHost", [&](Process& process) { release(process, pointer, Kind::Host, Kind::Host); });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call("cudaMemGetInfo", [&](Process& process) {
    result(free_bytes, "free") = process.memory().capacity() - process.memory().used();
    result(total_bytes, "total") = process.memory().capacity();
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return call("cudaHostRegister", [&](Process& process) {
    if (pointer == nullptr || bytes == 0)
      refuse(cudaErrorInvalidValue, "the pointer is null or the size is 0: there is no memory to register.");
    if (!process.memory().adopt(pointer, bytes, "cudaHostRegister")) {
      refuse(cudaErrorHostMemoryAlreadyRegistered, "some of these %s at %p are registered or allocated already.",
             in_bytes(bytes).c_str(), pointer);
    }
    if (process.recorder() != nullptr) process.recorder()->adopted(pointer, bytes, "cudaHostRegister");
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return call("cudaHostUnregister", [&](Process& process) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const auto* found = process.memory().find(address, 0);
    const bool right = found != nullptr && found->kind == Kind::Adopted && found->begin == address;
    if (right && process.recorder() != nullptr) process.recorder()->released(pointer);
    if (!right || !process.memory().release(pointer)) {
      refuse(cudaErrorHostMemoryNotRegistered, "%p was not registered by cudaHostRegister.", pointer);
    }
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned) {
  return call("cudaHostGetDevicePointer", [&](Process& process) {
    const auto* found = process.memory().find(reinterpret_cast<uintptr_t>(host_pointer), 1);
    if (found == nullptr || (found->kind != Kind::Host && found->kind != Kind::Adopted)) {
      refuse(cudaErrorInvalidValue, "%p is neither page-locked nor registered host memory.", host_pointer);
    }
    result(device_pointer, "pDevice") = host_pointer;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host_pointer) {
  return call("cudaHostGetFlags", [&](Process& process) {
    const auto* found = process.memory().find(reinterpret_cast<uintptr_t>(host_pointer), 1);
    if (found == nullptr || found->kind != Kind::Host) {
      refuse(cudaErrorInvalidValue, "%p is not page-locked host memory.", host_pointer);
    }
    result(flags, "pFlags") = cudaHostAllocMapped;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return query("cudaPointerGetAttributes", [&](Process& process) {
    cudaPointerAttributes& answer = result(attributes, "attributes");
    void* const address = const_cast<void*>(pointer);
    answer = {};
    answer.type = cudaMemoryTypeUnregistered;
    answer.device = cudaInvalidDeviceId;
    answer.hostPointer = address;
    const auto* found = process.memory().find(reinterpret_cast<uintptr_t>(pointer), 1);
    if (found == nullptr) return;
    answer.device = 0;
    answer.devicePointer = address;
    switch (found->kind) {
      case Kind::Device:
      case Kind::Mapped:
        answer.type = cudaMemoryTypeDevice;
        answer.hostPointer = nullptr;
        break;
      case Kind::Managed: answer.type = cudaMemoryTypeManaged; break;
      case Kind::Host:
      case Kind::Adopted: answer.type = cudaMemoryTypeHost; break;
    }
  });
}

// ------------------------------------------------------------------------------- allocation in stream order, and pools

namespace {
constexpr const char* kNoMemoryNodes =
    "a graph's nodes that allocate or free memory are not simulated (on a GPU they are possible): allocate before the "
    "capture, free after it";
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return call("cudaMallocAsync", [&](Process& process) {
    find_stream(stream);
    refuse_while_captured(stream, kNoMemoryNodes);
    result(pointer, "devPtr") = allocate(process, bytes, "cudaMallocAsync", Kind::Device);
  });
}
SIM_PER_THREAD(cudaMallocAsync, _ptsz)

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return call("cudaFreeAsync", [&](Process& process) {
    enter_stream(process, stream);
    refuse_while_captured(stream, kNoMemoryNodes);
    release(process, pointer, Kind::Device, Kind::Managed);
  });
}
SIM_PER_THREAD(cudaFreeAsync, _ptsz)

namespace {

/// A pool keeps no memory: allocations and frees go directly to the device. It only stores its attributes.
struct Pool {
  std::map<cudaMemPoolAttr, uint64_t> attributes;
};

std::map<const void*, std::unique_ptr<Pool>>& pools() {
  static auto& live = *new std::map<const void*, std::unique_ptr<Pool>>;
  return live;
}

cudaMemPool_t create_pool() {
  auto pool = std::make_unique<Pool>();
  auto* const handle = reinterpret_cast<cudaMemPool_t>(pool.get());
  pools()[handle] = std::move(pool);
  return handle;
}

Pool& find_pool(cudaMemPool_t handle) {
  const auto found = pools().find(handle);
  if (found == pools().end()) refuse(cudaErrorInvalidValue, "%p is not a memory pool.", static_cast<void*>(handle));
  return *found->second;
}

cudaMemPool_t default_pool() {
  static const cudaMemPool_t pool = create_pool();
  return pool;
}

cudaMemPool_t& current_pool() {
  static cudaMemPool_t pool = default_pool();
  return pool;
}

/// Whether the attribute is a 32-bit switch that allows reuse; sizes have 64 bits.
bool is_narrow(cudaMemPoolAttr attribute) { return attribute <= cudaMemPoolReuseAllowInternalDependencies; }

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return call("cudaDeviceGetDefaultMemPool", [&](Process&) {
    check_device(device);
    result(pool, "memPool") = default_pool();
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return call("cudaDeviceGetMemPool", [&](Process&) {
    check_device(device);
    result(pool, "memPool") = current_pool();
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return call("cudaDeviceSetMemPool", [&](Process&) {
    check_device(device);
    find_pool(pool);
    current_pool() = pool;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return call("cudaMemPoolCreate", [&](Process&) {
    require_pointer(properties, "poolProps");
    result(pool, "memPool") = create_pool();
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return call("cudaMemPoolDestroy", [&](Process&) {
    find_pool(pool);
    if (pool == default_pool()) refuse(cudaErrorInvalidValue, "the default pool cannot be destroyed.");
    if (pool == current_pool()) current_pool() = default_pool();
    pools().erase(pool);
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return call("cudaMemPoolTrimTo", [&](Process&) { find_pool(pool); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call("cudaMemPoolSetAttribute", [&](Process&) {
    require_pointer(value, "value");
    find_pool(pool).attributes[attribute] =
        is_narrow(attribute) ? *static_cast<const uint32_t*>(value) : *static_cast<const uint64_t*>(value);
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call("cudaMemPoolGetAttribute", [&](Process&) {
    require_pointer(value, "value");
    const uint64_t known = find_pool(pool).attributes[attribute];
    if (is_narrow(attribute)) {
      *static_cast<uint32_t*>(value) = static_cast<uint32_t>(known);
    } else {
      *static_cast<uint64_t*>(value) = known;
    }
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
  return call("cudaMemPoolSetAccess", [&](Process&) { find_pool(pool); });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return call("cudaMallocFromPoolAsync", [&](Process& process) {
    find_pool(pool);
    find_stream(stream);
    result(pointer, "ptr") = allocate(process, bytes, "cudaMallocFromPoolAsync", Kind::Device);
  });
}
SIM_PER_THREAD(cudaMallocFromPoolAsync, _ptsz)
