#include "timing/store_audit.h"

#include <algorithm>

#include "timing/counters.h"

namespace sim {

uint64_t StoreAudit::next_number() {
  static std::atomic<uint64_t> numbers{0};
  return ++numbers;
}

StoreAudit::Bitmap& StoreAudit::bitmap_of(const GlobalMemory& memory, uint64_t address) {
  thread_local uint64_t owner = 0;
  thread_local Bitmap* last = nullptr;
  if (owner == number_ && address >= last->begin && address < last->end) return *last;
  const GlobalMemory::Allocation* allocation = memory.find(address, 1);
  const std::lock_guard lock(mutex_);
  auto& slot = bitmaps_[allocation->begin];
  if (!slot) {
    slot = std::make_unique<Bitmap>();
    slot->begin = allocation->begin, slot->end = allocation->end;
    slot->words = std::make_unique<std::atomic<uint64_t>[]>((slot->end - slot->begin) / 64 + 1);
  }
  owner = number_, last = slot.get();
  return *slot;
}

void StoreAudit::record(const GlobalMemory& memory, uint64_t address, const uint8_t* fresh, uint64_t bytes,
                        Counters& counters) {
  Bitmap& bitmap = bitmap_of(memory, address);
  const uint8_t* const old = host_pointer(address);
  for (uint64_t i = 0; i < bytes;) {
    const uint64_t bit = address + i - bitmap.begin;
    const uint64_t count = std::min(bytes - i, 64 - bit % 64);
    const uint64_t mask = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << bit % 64;
    uint64_t seen = bitmap.words[bit / 64].fetch_or(mask) & mask;
    for (; seen != 0; seen &= seen - 1) {
      const uint64_t at = i + static_cast<uint64_t>(__builtin_ctzll(seen)) - bit % 64;
      ++(old[at] == fresh[at] ? counters.redundant_store_bytes : counters.overwritten_bytes);
    }
    i += count;
  }
}

}  // namespace sim
