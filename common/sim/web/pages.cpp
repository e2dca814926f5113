// Device memory in WebAssembly: an arena that represents the start of the range of device addresses.
#include "machine/pages.h"

#include <cstdlib>
#include <cstring>

namespace sim::pages {
namespace {

constexpr uint64_t kPreferredBase = 0x2000'0000'0000;  // as in the native build
constexpr uint64_t kMost = uint64_t{512} << 20, kLeast = uint64_t{16} << 20;

uint8_t* arena = nullptr;

}  // namespace

/// One device at a time. The browser provides memory at its first access, so untouched memory costs nothing.
AddressRange reserve(uint64_t wanted) {
  if (arena != nullptr) return {};
  for (uint64_t bytes = wanted < kMost ? wanted : kMost; bytes >= kLeast; bytes /= 2) {
    arena = static_cast<uint8_t*>(std::aligned_alloc(kPage, static_cast<size_t>(bytes)));
    if (arena == nullptr) continue;
    device_shift = kPreferredBase - reinterpret_cast<uintptr_t>(arena);
    return {kPreferredBase, bytes};
  }
  return {};
}

void release(AddressRange) {
  std::free(arena);
  arena = nullptr;
}

bool commit(uint64_t begin, uint64_t bytes, bool zeroed) {
  std::memset(host_pointer(begin), zeroed ? 0 : kPoison, static_cast<size_t>(bytes));
  return true;
}

void discard(uint64_t, uint64_t) {}

}  // namespace sim::pages
