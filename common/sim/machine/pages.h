// The host's memory behind device addresses. Only this file converts between the two. Natively, a device address is the
// address of the host's memory, mapped page by page (pages.cpp). A 32-bit host has not enough addresses: in
// WebAssembly, an arena backs the start of the same 64-bit range (web/pages.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

#ifdef __wasm__
inline uint64_t device_shift = 0;  ///< from addresses of the arena to device addresses; set when it is reserved
#else
inline constexpr uint64_t device_shift = 0;
#endif

/// The byte at a device address that is allocated.
inline uint8_t* host_pointer(uint64_t address) {
  return reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(address - device_shift));
}
/// The device address of a byte in device memory; for any other byte, an address outside the device's range.
inline uint64_t device_address(const void* host) { return reinterpret_cast<uintptr_t>(host) + device_shift; }

namespace pages {

inline constexpr uint64_t kPage = 4096, kHugePage = uint64_t{2} << 20;
inline constexpr unsigned char kPoison = 0xFF;

/// A range of addresses without memory behind it, and its size; both 0 if there is none.
struct AddressRange {
  uint64_t begin = 0, bytes = 0;
};
/// Up to `wanted` bytes, as the host provides, at the same address in every run where the host allows it.
AddressRange reserve(uint64_t wanted);
void release(AddressRange range);

/// Puts memory behind a part of a reserved range: zeros, or poison. False if the host has none.
bool commit(uint64_t begin, uint64_t bytes, bool zeroed);
/// Removes the memory behind a part of a reserved range.
void discard(uint64_t begin, uint64_t bytes);

}  // namespace pages
}  // namespace sim
