// Virtual memory of the driver API (cuMemAddressReserve, cuMemCreate, cuMemMap): reserved addresses, memory without an
// address, and the mappings between them. PyTorch's expandable segments and the allocators of inference engines use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "runtime/process.h"

namespace sim::runtime {

/// All functions throw Refusal. Sizes are in bytes.
class VirtualMemory {
 public:
  using Handle = CUmemGenericAllocationHandle;
  /// Sizes, offsets and addresses are multiples of this: 2 MiB, as on an H100.
  static constexpr std::size_t kGranularity = std::size_t{2} << 20;

  /// The only instance, as there is one device.
  static VirtualMemory& get();

  uintptr_t reserve(Process& process, std::size_t bytes, std::size_t alignment);
  void free(Process& process, uintptr_t begin, std::size_t bytes);

  Handle create(Process& process, std::size_t bytes, const CUmemAllocationProp& properties);
  /// Removes an owner. Memory without owner and mapping is freed.
  void release(Process& process, Handle handle);
  /// Adds an owner to the memory that is mapped at this address.
  Handle retain(uintptr_t address);
  const CUmemAllocationProp& properties(Handle handle) const;
  /// A new file descriptor, owned by the caller, by which this or another process can import the memory.
  int export_file(Handle handle);
  Handle import_file(int file);

  /// Maps memory at reserved addresses. Kernels and copies may access it after set_access.
  void map(Process& process, uintptr_t begin, std::size_t bytes, Handle handle);
  void unmap(Process& process, uintptr_t begin, std::size_t bytes);
  void set_access(Process& process, uintptr_t begin, std::size_t bytes, CUmemAccess_flags access);
  CUmemAccess_flags access(uintptr_t address) const;

 private:
  struct Memory {
    std::size_t bytes;
    int file;  ///< has the content, for all mappings
    CUmemAllocationProp properties;
    bool is_imported = false;  ///< counts in the process that created it
    unsigned owners = 1, mappings = 0;
  };
  struct Mapping {
    std::size_t bytes;
    Handle handle;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  };
  using Mappings = std::map<uintptr_t, Mapping>;

  Memory& memory(Handle handle);
  void drop_if_unused(Process& process, Handle handle);
  /// The mappings that make up [begin, begin + bytes); refuses a range with a gap, or with part of a mapping.
  std::pair<Mappings::iterator, Mappings::iterator> whole(uintptr_t begin, std::size_t bytes);
  /// The mapping that contains the address.
  Mappings::const_iterator at(uintptr_t address) const;
  /// Updates the device's table of accessible memory around `address`; adjacent mappings form one allocation.
  void publish(Process& process, uintptr_t address) const;

  std::map<Handle, Memory> memories_;
  Mappings mappings_;
  Handle next_ = 1;
  unsigned ranges_ = 0;
};

}  // namespace sim::runtime
