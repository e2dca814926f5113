// cuMem*: the driver's virtual memory management.
#include "runtime/driver.h"
#include "runtime/virtual_memory.h"

using namespace sim;
using namespace sim::runtime;

namespace {

void check_location(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    refuse(cudaErrorNotSupported,
           "location.type is %d: only memory of the device is simulated "
           "(CU_MEM_LOCATION_TYPE_DEVICE).",
           static_cast<int>(location.type));
  }
  if (location.id != 0) {
    refuse(cudaErrorInvalidDevice, "location.id is %d; the only simulated device is number 0.", location.id);
  }
}

void check_properties(const CUmemAllocationProp* properties) {
  require_pointer(properties, "prop");
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    refuse(cudaErrorInvalidValue, "prop.type is %d; it must be CU_MEM_ALLOCATION_TYPE_PINNED.",
           static_cast<int>(properties->type));
  }
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
      properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    refuse(cudaErrorNotSupported, "prop.requestedHandleTypes is %d; only NONE and POSIX_FILE_DESCRIPTOR are simulated.",
           static_cast<int>(properties->requestedHandleTypes));
  }
  check_location(properties->location);
}

void check_flags(unsigned long long flags) {
  if (flags != 0) refuse(cudaErrorInvalidValue, "flags is %llu; it must be 0.", flags);
}

/// The frame of a function that changes mappings: earlier launches run first.
template <typename Body>
CUresult change(const char* name, Body&& body) {
  return without_trace([&] { return call(name, body); });
}

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  return driver("cuMemGetAllocationGranularity", [&](Process&) {
    check_properties(properties);
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      refuse(cudaErrorInvalidValue, "option is %d, which is not a CUmemAllocationGranularity_flags.",
             static_cast<int>(option));
    result(granularity, "granularity") = VirtualMemory::kGranularity;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
  return driver("cuMemAddressReserve", [&](Process& process) {  // the requested address is only a hint
    check_flags(flags);
    result(address, "ptr") = VirtualMemory::get().reserve(process, bytes, alignment);
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return change("cuMemAddressFree", [&](Process& process) { VirtualMemory::get().free(process, address, bytes); });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return driver("cuMemCreate", [&](Process& process) {
    check_flags(flags);
    check_properties(properties);
    result(handle, "handle") = VirtualMemory::get().create(process, bytes, *properties);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return change("cuMemRelease", [&](Process& process) { VirtualMemory::get().release(process, handle); });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return change("cuMemMap", [&](Process& process) {
    check_flags(flags);
    if (offset != 0) refuse(cudaErrorInvalidValue, "offset is %zu; it must be 0.", offset);
    VirtualMemory::get().map(process, address, bytes, handle);
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return change("cuMemUnmap", [&](Process& process) { VirtualMemory::get().unmap(process, address, bytes); });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* accesses, size_t count) {
  return change("cuMemSetAccess", [&](Process& process) {
    require_pointer(accesses, "desc");
    if (count == 0) refuse(cudaErrorInvalidValue, "count is 0.");
    for (size_t i = 0; i < count; ++i) {
      check_location(accesses[i].location);
      const CUmemAccess_flags flags = accesses[i].flags;
      if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
          flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        refuse(cudaErrorInvalidValue, "desc[%zu].flags is %d, which is not a CUmemAccess_flags.", i,
               static_cast<int>(flags));
      VirtualMemory::get().set_access(process, address, bytes, flags);
    }
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return driver("cuMemGetAccess", [&](Process&) {
    require_pointer(location, "location");
    check_location(*location);
    result(flags, "flags") = VirtualMemory::get().access(address);
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return driver("cuMemRetainAllocationHandle", [&](Process&) {
    result(handle, "handle") = VirtualMemory::get().retain(reinterpret_cast<uintptr_t>(address));
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return driver("cuMemGetAllocationPropertiesFromHandle",
                [&](Process&) { result(properties, "prop") = VirtualMemory::get().properties(handle); });
}

namespace {

void check_handle_type(CUmemAllocationHandleType type) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    refuse(cudaErrorNotSupported, "handle type %d is not simulated: only CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR is.",
           static_cast<int>(type));
  }
}

}  // namespace

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return driver("cuMemExportToShareableHandle", [&](Process&) {
    check_flags(flags);
    check_handle_type(type);
    result(static_cast<int*>(shareable), "shareableHandle") = VirtualMemory::get().export_file(handle);
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return driver("cuMemImportFromShareableHandle", [&](Process&) {
    check_handle_type(type);  // the file descriptor itself is passed instead of a pointer
    const auto file = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    result(handle, "handle") = VirtualMemory::get().import_file(file);
  });
}
