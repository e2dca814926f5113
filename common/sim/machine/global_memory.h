// Device memory. One reserved range of addresses (machine/pages.h) serves as the GPU's address space, and anything
// outside the range is recognisably not a device pointer.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

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
  /// memory that the program made itself and registered. Mapped: memory without an address of its own, at addresses
  /// that were reserved for it (cuMemMap).
  enum class Kind { Device, Managed, Host, Adopted, Mapped };

  struct Allocation {
    uint64_t begin = 0, end = 0;  ///< [begin, end): the bytes the program asked for
    std::string label;            ///< "cudaMalloc #3" or the name of a __device__ variable
    bool constant = false;        ///< __constant__: kernels may not write it
    Kind kind = Kind::Device;
  };

  /// Memory of `bytes` bytes (0 is allowed), 512-byte aligned, filled with 0xFF so that reads of uninitialised memory
  /// show up as NaN; nullptr when `capacity` is exhausted. An unmapped gap follows every allocation.
  void* allocate(uint64_t bytes, std::string label, bool constant = false, Kind kind = Kind::Device);
  /// The same, filled with zeros: a module's variable. Untouched pages take no memory of the host.
  void* allocate_zeroed(uint64_t bytes, std::string label, bool constant);
  /// Makes host memory at its own address reachable (cudaHostRegister); false if some of it already is.
  bool adopt(void* pointer, uint64_t bytes, std::string label);
  /// False if `pointer` is not the start of a live allocation, or of a mapped one. Adopted memory is only forgotten.
  bool release(void* pointer);

  /// Keeps addresses free for what is mapped there later: `bytes` (whole pages) at a multiple of `alignment`. 0 if
  /// there are not so many.
  uint64_t reserve_range(uint64_t bytes, uint64_t alignment, std::string label);
  /// Gives a range back, with nothing mapped there. False if none begins there and has so many bytes.
  bool free_range(uint64_t begin, uint64_t bytes);
  /// The range that holds [begin, begin + bytes), without what is mapped there, or nothing.
  std::optional<Allocation> range_of(uint64_t begin, uint64_t bytes) const;
  /// What of a range kernels may access from now on, in place of what they could before.
  void set_accessible(const Allocation& range, const std::vector<Allocation>& parts);
  /// Memory that has no address yet counts as used, too. False if there is not so much left.
  bool charge(uint64_t bytes);
  void refund(uint64_t bytes);

  bool is_blank() const { return blank_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }
  /// Is this address in the device's range at all (live or not)?
  bool in_range(uint64_t address) const { return address - range_.begin < range_.bytes; }
  /// The live allocation that holds [address, address + bytes), or nullptr. The pointer stays valid until release. An
  /// address at the very end of an allocation belongs to it when `bytes` is 0.
  const Allocation* find(uint64_t address, uint64_t bytes) const;
  /// "4 bytes past the end of cudaMalloc #3 (1,024 bytes at 0x...)", for reports. Of an address between two allocations
  /// it is not known which of them was indexed: one that a pointer in `given` points into is likelier than its
  /// neighbours.
  std::string describe(uint64_t address, std::span<const uint64_t> given = {}) const;

 private:
  void* allocate(uint64_t bytes, std::string label, bool constant, Kind kind, bool zeroed);
  uint64_t place(uint64_t bytes, uint64_t alignment);

  const bool blank_;
  uint64_t capacity_, used_ = 0;
  const pages::AddressRange range_;
  uint64_t cursor_ = 0;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> live_;    // by begin
  std::map<uint64_t, Allocation> freed_;   // for reports: what used to be there
  std::map<uint64_t, Allocation> ranges_;  // reserved addresses
};

}  // namespace sim
