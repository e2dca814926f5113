// Device memory. One reserved range of addresses (machine/pages.h) serves as the GPU's address space, and anything
// outside the range is recognisably not a device pointer.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "machine/pages.h"

namespace sim {

class GlobalMemory {
 public:
  /// Reserves (but does not yet use) `capacity` bytes of address space.
  /// `blank`: all memory holds zeros, and no poison, until it is written.
  explicit GlobalMemory(uint64_t capacity, bool blank = false);
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  /// Kernels reach all kinds alike. Host: page-locked host memory, which takes nothing of the capacity. Adopted: host
  /// memory that the program made itself and registered.
  enum class Kind { Device, Managed, Host, Adopted };

  struct Allocation {
    uint64_t begin = 0, end = 0;  ///< [begin, end): the bytes the program asked for
    std::string label;            ///< "cudaMalloc #3" or the name of a __device__ variable
    bool constant = false;        ///< __constant__: kernels may not write it
    Kind kind = Kind::Device;
  };

  /// Memory of `bytes` bytes (0 is allowed), 512-byte aligned, filled with 0xFF so that reading what nobody wrote shows
  /// up as NaN; nullptr when `capacity` is exhausted. An unmapped gap follows every allocation.
  void* allocate(uint64_t bytes, std::string label, bool constant = false, Kind kind = Kind::Device);
  /// The same, filled with zeros: a module's variable. Pages that nobody touches take no memory of the host.
  void* allocate_zeroed(uint64_t bytes, std::string label, bool constant);
  /// Makes host memory at its own address reachable (cudaHostRegister); false if some of it already is.
  bool adopt(void* pointer, uint64_t bytes, std::string label);
  /// False if `pointer` is not the start of a live allocation. Adopted memory is only forgotten.
  bool release(void* pointer);

  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }
  /// Is this address in the device's range at all (live or not)?
  bool in_range(uint64_t address) const { return address - range_.begin < range_.bytes; }
  /// The live allocation that holds [address, address + bytes), or nullptr. The pointer stays valid until release. An
  /// address at the very end of an allocation belongs to it when `bytes` is 0.
  const Allocation* find(uint64_t address, uint64_t bytes) const;
  /// "4 bytes past the end of cudaMalloc #3 (1,024 bytes at 0x...)", for reports.
  std::string describe(uint64_t address) const;

 private:
  void* allocate(uint64_t bytes, std::string label, bool constant, Kind kind, bool zeroed);
  uint64_t place(uint64_t bytes, uint64_t alignment);

  const bool blank_;
  uint64_t capacity_, used_ = 0;
  const pages::Range range_;
  uint64_t cursor_ = 0;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> live_;   // by begin
  std::map<uint64_t, Allocation> freed_;  // for reports: what used to be there
};

}  // namespace sim
