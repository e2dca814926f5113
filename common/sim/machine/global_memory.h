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

  /// Kernels access all kinds alike. Host: page-locked host memory, which does not count against the capacity. Adopted:
  /// host memory that the program allocated itself and registered. Mapped: memory that cuMemMap has mapped into a
  /// reserved range of addresses.
  enum class Kind { Device, Managed, Host, Adopted, Mapped };

  struct Allocation {
    uint64_t begin = 0, end = 0;  ///< [begin, end): the bytes the program asked for
    std::string label;            ///< "cudaMalloc #3" or the name of a __device__ variable
    bool constant = false;        ///< __constant__: kernels may not write it
    Kind kind = Kind::Device;
  };

  /// Where an address is, for reports.
  struct Place {
    enum class State : uint8_t {
      Null,      ///< a null pointer, or a little more
      Live,      ///< in an allocation, or near it
      Unmapped,  ///< in reserved addresses
      Freed,     ///< in a former allocation
      Foreign,   ///< not the device's
      Free       ///< nothing is allocated
    };
    State state = State::Free;
    uint64_t address = 0;
    Allocation to = {};  ///< of the states Live to Freed
  };

  /// Memory of `bytes` bytes (0 is allowed), 512-byte aligned, filled with 0xFF so that reads of uninitialised memory
  /// show up as NaN; nullptr when `capacity` is exhausted. An unmapped gap follows every allocation.
  void* allocate(uint64_t bytes, std::string label, bool constant = false, Kind kind = Kind::Device);
  /// The same, filled with zeros: a module's variable. Pages that are never touched take no memory of the host.
  void* allocate_zeroed(uint64_t bytes, std::string label, bool constant);
  /// Makes host memory accessible at its own address (cudaHostRegister); false if a part of it already is.
  bool adopt(void* pointer, uint64_t bytes, std::string label);
  /// False unless `pointer` is the start of a live allocation that is not mapped. Adopted memory is unregistered, not
  /// freed.
  bool release(void* pointer);

  /// Reserves addresses for memory to be mapped later: `bytes` (whole pages) at a multiple of `alignment`. 0 if no such
  /// range is free.
  uint64_t reserve_range(uint64_t bytes, uint64_t alignment, std::string label);
  /// Frees a reserved range, in which nothing may be mapped. False if no range has this begin and size.
  bool free_range(uint64_t begin, uint64_t bytes);
  /// The reserved range that contains [begin, begin + bytes), or nothing; not the memory that is mapped there.
  std::optional<Allocation> range_of(uint64_t begin, uint64_t bytes) const;
  /// Replaces the parts of a range that kernels may access.
  void set_accessible(const Allocation& range, const std::vector<Allocation>& parts);
  /// Counts memory without an address as used, too. False if the capacity does not suffice.
  bool charge(uint64_t bytes);
  void refund(uint64_t bytes);

  bool is_blank() const { return blank_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }
  /// Whether this address is in the device's range, allocated or not.
  bool in_range(uint64_t address) const { return address - range_.begin < range_.bytes; }
  /// The live allocation that holds [address, address + bytes), or nullptr. The pointer stays valid until release. An
  /// address at the very end of an allocation belongs to it when `bytes` is 0.
  const Allocation* find(uint64_t address, uint64_t bytes) const;
  /// For an address between allocations, it is unknown which one the program indexed: an allocation that a pointer in
  /// `given` points into is more likely than the neighbours.
  Place place_of(uint64_t address, std::span<const uint64_t> given = {}) const;

 private:
  void* allocate(uint64_t bytes, std::string label, bool constant, Kind kind, bool zeroed);
  uint64_t place(uint64_t bytes, uint64_t alignment);

  const bool blank_;
  uint64_t capacity_, used_ = 0;
  const pages::AddressRange range_;
  uint64_t cursor_ = 0;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> live_;    // by begin
  std::map<uint64_t, Allocation> freed_;   // former allocations, for reports
  std::map<uint64_t, Allocation> ranges_;  // reserved addresses
};

}  // namespace sim
