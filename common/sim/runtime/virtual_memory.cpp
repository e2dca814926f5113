#include "runtime/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <vector>

namespace sim::runtime {
namespace {

using Allocation = GlobalMemory::Allocation;

// Larger memory is not poisoned, since that would commit as much host memory. It holds zeros instead.
constexpr std::size_t kPoisonUpTo = std::size_t{256} << 20;
constexpr unsigned char kPoison = 0xFF;

void* pointer_at(uintptr_t address) { return reinterpret_cast<void*>(address); }

bool is_multiple(std::size_t value, std::size_t of) { return value % of == 0; }

void require_granular(std::size_t value, const char* name) {
  if (value == 0 || !is_multiple(value, VirtualMemory::kGranularity)) {
    refuse(cudaErrorInvalidValue, "%s is %s; it must be a multiple of %s (cuMemGetAllocationGranularity).", name,
           in_bytes(value).c_str(), in_bytes(VirtualMemory::kGranularity).c_str());
  }
}

/// Creates a file in memory; -1 on failure.
int make_file(std::size_t bytes, bool poisoned) {
  const int file = memfd_create("cuMemCreate", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  if (!poisoned) return file;
  void* const content = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (content == MAP_FAILED) {
    close(file);
    return -1;
  }
  std::memset(content, kPoison, bytes);
  munmap(content, bytes);
  return file;
}

}  // namespace

VirtualMemory& VirtualMemory::get() {
  static auto& instance = *new VirtualMemory;
  return instance;
}

uintptr_t VirtualMemory::reserve(Process& process, std::size_t bytes, std::size_t alignment) {
  require_granular(bytes, "size");
  if ((alignment & (alignment - 1)) != 0)
    refuse(cudaErrorInvalidValue, "alignment is %zu; it must be 0 or a power of two.", alignment);
  const uintptr_t begin = process.memory().reserve_range(bytes, std::max(alignment, kGranularity),
                                                         format("cuMemAddressReserve #%u", ++ranges_));
  if (begin == 0)
    refuse(cudaErrorMemoryAllocation, "no free range of %s of addresses is left.", in_bytes(bytes).c_str());
  return begin;
}

void VirtualMemory::free(Process& process, uintptr_t begin, std::size_t bytes) {
  const auto mapped = mappings_.lower_bound(begin);
  if (mapped != mappings_.end() && mapped->first - begin < bytes) {
    refuse(cudaErrorInvalidValue, "memory is still mapped at 0x%zx: call cuMemUnmap first.",
           static_cast<std::size_t>(mapped->first));
  }
  if (!process.memory().free_range(begin, bytes)) {
    refuse(cudaErrorInvalidValue, "0x%zx and %s are not an address and size of cuMemAddressReserve.",
           static_cast<std::size_t>(begin), in_bytes(bytes).c_str());
  }
}

VirtualMemory::Handle VirtualMemory::create(Process& process, std::size_t bytes,
                                            const CUmemAllocationProp& properties) {
  require_granular(bytes, "size");
  GlobalMemory& device = process.memory();
  if (!device.charge(bytes)) {
    refuse(cudaErrorMemoryAllocation, "out of device memory: the program asks for %s, and of the %s's %s, %s are free.",
           in_bytes(bytes).c_str(), process.gpu().name.c_str(), in_bytes(device.capacity()).c_str(),
           grouped(device.capacity() - device.used()).c_str());
  }
  const int file = make_file(bytes, !device.is_blank() && bytes <= kPoisonUpTo);
  if (file < 0) {
    device.refund(bytes);
    refuse(cudaErrorMemoryAllocation, "the host has no memory for %s.", in_bytes(bytes).c_str());
  }
  memories_.emplace(next_, Memory{bytes, file, properties});
  return next_++;
}

VirtualMemory::Memory& VirtualMemory::memory(Handle handle) {
  const auto found = memories_.find(handle);
  if (found == memories_.end() || found->second.owners == 0)
    refuse(cudaErrorInvalidValue, "%llu is not a live handle from cuMemCreate.", handle);
  return found->second;
}

const CUmemAllocationProp& VirtualMemory::properties(Handle handle) const {
  return const_cast<VirtualMemory*>(this)->memory(handle).properties;
}

void VirtualMemory::drop_if_unused(Process& process, Handle handle) {
  const Memory& memory = memories_.at(handle);
  if (memory.owners > 0 || memory.mappings > 0) return;
  close(memory.file);
  if (!memory.is_imported) process.memory().refund(memory.bytes);
  memories_.erase(handle);
}

void VirtualMemory::release(Process& process, Handle handle) {
  --memory(handle).owners;
  drop_if_unused(process, handle);
}

VirtualMemory::Handle VirtualMemory::retain(uintptr_t address) {
  const Handle handle = at(address)->second.handle;
  ++memories_.at(handle).owners;
  return handle;
}

int VirtualMemory::export_file(Handle handle) {
  const Memory& what = memory(handle);
  if (what.properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    refuse(cudaErrorInvalidValue, "the memory was not created with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.");
  const int file = fcntl(what.file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) refuse(cudaErrorOperatingSystem, "the host has no file descriptor left.");
  return file;
}

VirtualMemory::Handle VirtualMemory::import_file(int file) {
  struct stat status {};
  const auto bytes = fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  if (bytes == 0 || !is_multiple(bytes, kGranularity))
    refuse(cudaErrorInvalidValue, "%d is not a file descriptor from cuMemExportToShareableHandle.", file);
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0) refuse(cudaErrorOperatingSystem, "the host has no file descriptor left.");
  const CUmemAllocationProp properties{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
  memories_.emplace(next_, Memory{bytes, own, properties, true});
  return next_++;
}

void VirtualMemory::map(Process& process, uintptr_t begin, std::size_t bytes, Handle handle) {
  Memory& what = memory(handle);
  require_granular(bytes, "size");
  if (bytes > what.bytes) {
    refuse(cudaErrorInvalidValue, "size is %s; it must be that of cuMemCreate, %s.", in_bytes(bytes).c_str(),
           in_bytes(what.bytes).c_str());
  }
  if (!is_multiple(begin, kGranularity) || !process.memory().range_of(begin, bytes)) {
    refuse(cudaErrorInvalidValue,
           "ptr is 0x%zx; it must be a multiple of %s, and all bytes from there must be of one cuMemAddressReserve.",
           static_cast<std::size_t>(begin), in_bytes(kGranularity).c_str());
  }
  const auto next = mappings_.lower_bound(begin);
  const bool over_next = next != mappings_.end() && next->first - begin < bytes;
  const bool over_previous =
      next != mappings_.begin() && begin - std::prev(next)->first < std::prev(next)->second.bytes;
  if (over_next || over_previous)
    refuse(cudaErrorInvalidValue, "some of the %s at 0x%zx are mapped already.", in_bytes(bytes).c_str(),
           static_cast<std::size_t>(begin));
  if (mmap(pointer_at(begin), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, what.file, 0) == MAP_FAILED)
    refuse(cudaErrorMemoryAllocation, "the host cannot map %s.", in_bytes(bytes).c_str());
  mappings_.emplace(begin, Mapping{bytes, handle});
  ++what.mappings;
}

std::pair<VirtualMemory::Mappings::iterator, VirtualMemory::Mappings::iterator> VirtualMemory::whole(
    uintptr_t begin, std::size_t bytes) {
  const auto first = mappings_.find(begin);
  auto after = first;
  uintptr_t end = begin;
  while (after != mappings_.end() && after->first == end && end - begin < bytes) {
    end += after->second.bytes;
    ++after;
  }
  if (bytes == 0 || end - begin != bytes) {
    refuse(cudaErrorInvalidValue, "the %s at 0x%zx are not one or more whole mappings without a gap (cuMemMap).",
           in_bytes(bytes).c_str(), static_cast<std::size_t>(begin));
  }
  return {first, after};
}

VirtualMemory::Mappings::const_iterator VirtualMemory::at(uintptr_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin() || address - std::prev(after)->first >= std::prev(after)->second.bytes)
    refuse(cudaErrorInvalidValue, "nothing is mapped at 0x%zx (cuMemMap).", static_cast<std::size_t>(address));
  return std::prev(after);
}

void VirtualMemory::publish(Process& process, uintptr_t address) const {
  const auto range = process.memory().range_of(address, 1);
  if (!range) return;
  std::vector<Allocation> parts;
  for (auto it = mappings_.lower_bound(range->begin); it != mappings_.end() && it->first < range->end; ++it) {
    if (it->second.access == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    const bool read_only = it->second.access == CU_MEM_ACCESS_FLAGS_PROT_READ;
    if (!parts.empty() && parts.back().end == it->first && parts.back().constant == read_only)
      parts.back().end += it->second.bytes;
    else
      parts.push_back({it->first, it->first + it->second.bytes, range->label, read_only, GlobalMemory::Kind::Mapped});
  }
  process.memory().set_accessible(*range, parts);
}

void VirtualMemory::unmap(Process& process, uintptr_t begin, std::size_t bytes) {
  const auto [first, after] = whole(begin, bytes);
  std::vector<Handle> handles;
  for (auto it = first; it != after; ++it) {
    handles.push_back(it->second.handle);
    --memories_.at(it->second.handle).mappings;
  }
  mappings_.erase(first, after);
  // The addresses stay reserved in the host's address space, too.
  mmap(pointer_at(begin), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  publish(process, begin);
  for (const Handle handle : handles) {
    if (memories_.contains(handle)) drop_if_unused(process, handle);
  }
  if (order::Launches* const launches = process.device().launches()) launches->forget(begin, begin + bytes);
}

void VirtualMemory::set_access(Process& process, uintptr_t begin, std::size_t bytes, CUmemAccess_flags access) {
  const auto [first, after] = whole(begin, bytes);
  for (auto it = first; it != after; ++it) it->second.access = access;
  // Copies by the host may write memory that kernels may only read, like a __constant__ variable.
  mprotect(pointer_at(begin), bytes, access == CU_MEM_ACCESS_FLAGS_PROT_NONE ? PROT_NONE : PROT_READ | PROT_WRITE);
  publish(process, begin);
}

CUmemAccess_flags VirtualMemory::access(uintptr_t address) const { return at(address)->second.access; }

}  // namespace sim::runtime
