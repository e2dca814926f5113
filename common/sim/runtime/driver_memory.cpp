// The driver's memory functions: the runtime's, with addresses as integers.
#include <cstring>

#include "runtime/capture.h"
#include "runtime/driver.h"

using namespace sim;
using namespace sim::runtime;

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return as_runtime(cudaMemGetInfo, free_bytes, total_bytes);
}

namespace {

/// The runtime returns a null pointer for 0 bytes; the driver refuses.
template <typename Allocate>
CUresult allocate_with(const char* caller, CUdeviceptr* address, size_t bytes, Allocate&& allocate) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const CalledAs name(caller);
  void* pointer = nullptr;
  const CUresult error = without_trace([&] { return allocate(&pointer); });
  if (error == CUDA_SUCCESS) *address = reinterpret_cast<CUdeviceptr>(pointer);
  return error;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return allocate_with(__func__, address, bytes, [&](void** pointer) { return cudaMalloc(pointer, bytes); });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return allocate_with(__func__, address, bytes,
                       [&](void** pointer) { return cudaMallocManaged(pointer, bytes, flags); });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_with(__func__, address, bytes,
                       [&](void** pointer) { return cudaMallocAsync(pointer, bytes, stream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_with(__func__, address, bytes,
                       [&](void** pointer) { return cudaMallocFromPoolAsync(pointer, bytes, pool, stream); });
}

CUresult cuMemFree(CUdeviceptr address) { return as_runtime(cudaFree, pointer_to(address)); }

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return as_runtime(cudaFreeAsync, pointer_to(address), stream);
}

CUresult cuMemAllocHost(void** pointer, size_t bytes) { return as_runtime(cudaMallocHost, pointer, bytes); }

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return as_runtime(cudaHostAlloc, pointer, bytes, flags);
}

CUresult cuMemFreeHost(void* pointer) { return as_runtime(cudaFreeHost, pointer); }

CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
  return allocate_with(__func__, address, width * height,
                       [&](void** pointer) { return cudaMallocPitch(pointer, pitch, width, height); });
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return as_runtime(cudaHostRegister, pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) { return as_runtime(cudaHostUnregister, pointer); }

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* pointer, unsigned flags) {
  return as_runtime(cudaHostGetDevicePointer, reinterpret_cast<void**>(address), pointer, flags);
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) { return as_runtime(cudaHostGetFlags, flags, pointer); }

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  const cudaMemLocation same{static_cast<cudaMemLocationType>(location.type), location.id};
  return as_runtime(cudaMemAdvise, pointer_to(address), bytes, static_cast<cudaMemoryAdvise>(advice), same);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                            CUstream stream) {
  const cudaMemLocation same{static_cast<cudaMemLocationType>(location.type), location.id};
  return as_runtime(cudaMemPrefetchAsync, pointer_to(address), bytes, same, flags, stream);
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
    if (allocation == nullptr)
      throw Refusal{cudaErrorInvalidValue, ""};  // no message: programs call this to classify pointers
    const bool on_host = allocation->kind == Kind::Host || allocation->kind == Kind::Adopted;
    const auto answer = [&](auto value) { std::memcpy(data, &value, sizeof value); };
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT: return answer(the_context());
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return answer(on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return answer(address);
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (allocation->kind == Kind::Device || allocation->kind == Kind::Mapped)
          throw Refusal{cudaErrorInvalidValue, ""};
        return answer(pointer_to(address));
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: return answer(unsigned{allocation->kind == Kind::Managed});
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return answer(int{0});
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return answer(allocation->begin);
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer(allocation->end - allocation->begin);
      case CU_POINTER_ATTRIBUTE_MAPPED: return answer(unsigned{1});
      default: refuse(cudaErrorNotSupported, "attribute %d of pointers is not simulated.", static_cast<int>(attribute));
    }
  });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return as_runtime(cudaMemcpy, pointer_to(to), pointer_to(from), bytes, cudaMemcpyDefault);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return as_runtime(cudaMemcpy, pointer_to(to), from, bytes, cudaMemcpyHostToDevice);
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return as_runtime(cudaMemcpy, to, pointer_to(from), bytes, cudaMemcpyDeviceToHost);
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return as_runtime(cudaMemcpy, pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return as_runtime(cudaMemcpyAsync, pointer_to(to), from, bytes, cudaMemcpyHostToDevice, stream);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return as_runtime(cudaMemcpyAsync, to, pointer_to(from), bytes, cudaMemcpyDeviceToHost, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return as_runtime(cudaMemcpyAsync, pointer_to(to), pointer_to(from), bytes, cudaMemcpyDeviceToDevice, stream);
}

namespace sim::runtime {

CUresult as_runtime_copy(const CUDA_MEMCPY3D* parameters, cudaMemcpy3DParms* copy) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D& p = *parameters;
  if (p.srcMemoryType == CU_MEMORYTYPE_ARRAY || p.dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return driver("cuMemcpy3D",
                  [](Process&) { refuse(cudaErrorNotSupported, "CUDA arrays are not simulated: use linear memory."); });
  const auto side = [&](CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t height) {
    void* const pointer = type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : pointer_to(device);
    return cudaPitchedPtr{pointer, pitch, p.WidthInBytes, height};
  };
  const bool from_host = p.srcMemoryType == CU_MEMORYTYPE_HOST, to_host = p.dstMemoryType == CU_MEMORYTYPE_HOST;
  const bool unified = p.srcMemoryType == CU_MEMORYTYPE_UNIFIED || p.dstMemoryType == CU_MEMORYTYPE_UNIFIED;
  *copy = {};
  copy->srcPtr = side(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch, p.srcHeight);
  copy->dstPtr = side(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch, p.dstHeight);
  copy->srcPos = {p.srcXInBytes, p.srcY, p.srcZ};
  copy->dstPos = {p.dstXInBytes, p.dstY, p.dstZ};
  copy->extent = {p.WidthInBytes, p.Height, p.Depth};
  copy->kind = unified     ? cudaMemcpyDefault
               : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
               : to_host   ? cudaMemcpyDeviceToHost
                           : cudaMemcpyDeviceToDevice;
  return CUDA_SUCCESS;
}

}  // namespace sim::runtime

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return as_runtime(cudaMemcpyAsync, pointer_to(to), pointer_to(from), bytes, cudaMemcpyDefault, stream);
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D* parameters) {
  cudaMemcpy3DParms copy{};
  const CUresult error = as_runtime_copy(parameters, &copy);
  return error == CUDA_SUCCESS ? as_runtime(cudaMemcpy3D, &copy) : error;
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* parameters, CUstream stream) {
  cudaMemcpy3DParms copy{};
  const CUresult error = as_runtime_copy(parameters, &copy);
  return error == CUDA_SUCCESS ? as_runtime(cudaMemcpy3DAsync, &copy, stream) : error;
}

namespace {

/// A pitch of 0 means contiguous rows.
CUDA_MEMCPY3D as_three_dimensions(const CUDA_MEMCPY2D& p) {
  CUDA_MEMCPY3D same{};
  same.srcXInBytes = p.srcXInBytes, same.srcY = p.srcY, same.srcMemoryType = p.srcMemoryType;
  same.srcHost = p.srcHost, same.srcDevice = p.srcDevice;
  same.srcPitch = p.srcPitch != 0 ? p.srcPitch : p.WidthInBytes, same.srcHeight = p.srcY + p.Height;
  same.dstXInBytes = p.dstXInBytes, same.dstY = p.dstY, same.dstMemoryType = p.dstMemoryType;
  same.dstHost = p.dstHost, same.dstDevice = p.dstDevice;
  same.dstPitch = p.dstPitch != 0 ? p.dstPitch : p.WidthInBytes, same.dstHeight = p.dstY + p.Height;
  same.WidthInBytes = p.WidthInBytes, same.Height = p.Height, same.Depth = 1;
  return same;
}

}  // namespace

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D same = as_three_dimensions(*parameters);
  return cuMemcpy3D(&same);
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* parameters) { return cuMemcpy2D(parameters); }

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D same = as_three_dimensions(*parameters);
  return cuMemcpy3DAsync(&same, stream);
}

namespace {

FillCopy units(CUdeviceptr to, uint32_t value, std::size_t unit, std::size_t count) {
  return {pointer_to(to), {}, {count * unit}, value, unit};
}
CUresult fill_now(const char* name, const FillCopy& what) {
  return without_trace([&] { return call(name, [&](Process& process) { fill(process, what); }); });
}
CUresult fill_in_order(const char* name, const FillCopy& what, CUstream stream) {
  return without_trace([&] { return call(name, [&](Process& process) { in_order(process, stream, what); }); });
}

}  // namespace

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_now("cuMemsetD8", units(to, value, 1, count));
}

CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return fill_now("cuMemsetD16", units(to, value, 2, count));
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return fill_now("cuMemsetD32", units(to, value, 4, count));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_in_order("cuMemsetD8Async", units(to, value, 1, count), stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_in_order("cuMemsetD16Async", units(to, value, 2, count), stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill_in_order("cuMemsetD32Async", units(to, value, 4, count), stream);
}

// A write in the order of a stream. Memory is sequentially consistent, so barriers before it change nothing.
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return fill_in_order("cuStreamWriteValue32", units(to, value, 4, 1), stream);
}

// For programs compiled with --default-stream per-thread.
SIM_PER_THREAD(cuMemcpyAsync, _ptsz)
SIM_PER_THREAD(cuMemcpy2D_v2, _ptds)
SIM_PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds)
SIM_PER_THREAD(cuMemcpy2DAsync_v2, _ptsz)
SIM_PER_THREAD(cuMemcpy3D_v2, _ptds)
SIM_PER_THREAD(cuMemcpy3DAsync_v2, _ptsz)
SIM_PER_THREAD(cuMemPrefetchAsync_v2, _ptsz)
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
SIM_PER_THREAD(cuStreamWriteValue32_v2, _ptsz)
SIM_PER_THREAD(cuMemAllocFromPoolAsync, _ptsz)
SIM_PER_THREAD(cuMemFreeAsync, _ptsz)
