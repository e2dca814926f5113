// Virtual memory of the driver API (cuMemAddressReserve, cuMemCreate, cuMemMap): addresses, memory without an address,
// and what of it is mapped where. PyTorch's expandable segments and the allocators of inference engines are built on
// it.
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
  /// What sizes, offsets and addresses are multiples of: 2 MiB, as on an H100.
  static constexpr std::size_t kGranularity = std::size_t{2} << 20;

  /// The one instance, as there is one device.
  static VirtualMemory& get();

  uintptr_t reserve(Process& process, std::size_t bytes, std::size_t alignment);
  void free(Process& process, uintptr_t begin, std::size_t bytes);

  Handle create(Process& process, std::size_t bytes, const CUmemAllocationProp& properties);
  /// One owner less. The memory goes when it has neither an owner nor a mapping.
  void release(Process& process, Handle handle);
  /// One owner more, of what is mapped at this address.
  Handle retain(uintptr_t address);
  const CUmemAllocationProp& properties(Handle handle) const;
  /// A file descriptor of the caller's own, by which this or another process can import the memory.
  int export_file(Handle handle);
  Handle import_file(int file);

  /// Puts memory at reserved addresses. Kernels and copies may access it after set_access.
  void map(Process& process, uintptr_t begin, std::size_t bytes, Handle handle);
  void unmap(Process& process, uintptr_t begin, std::size_t bytes);
  void set_access(Process& process, uintptr_t begin, std::size_t bytes, CUmemAccess_flags access);
  CUmemAccess_flags access(uintptr_t address) const;

 private:
  struct Memory {
    std::size_t bytes;
    int file;  ///< holds its content, wherever and however often it is mapped
    CUmemAllocationProp properties;
    bool is_imported = false;  ///< counts in the process that has created it
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
  /// The mappings that [begin, begin + bytes) consists of; refuses a range with a hole, or with a part of a mapping.
  std::pair<Mappings::iterator, Mappings::iterator> whole(uintptr_t begin, std::size_t bytes);
  /// The mapping that holds the address.
  Mappings::const_iterator at(uintptr_t address) const;
  /// Tells the device what of the range around `address` is accessible now: neighbours are one piece of memory.
  void publish(Process& process, uintptr_t address) const;

  std::map<Handle, Memory> memories_;
  Mappings mappings_;
  Handle next_ = 1;
  unsigned ranges_ = 0;
};

}  // namespace sim::runtime
