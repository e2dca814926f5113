// Records which bytes of global memory a launch has written; used only with counters. A second store of the same value
// is redundant work (levels 01 to 05 store D from both CTAs); one of another value is a race or an overwrite.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "machine/global_memory.h"

namespace sim {

struct Counters;

class StoreAudit {
 public:
  /// About to write `bytes` bytes from `fresh` to device address `address`. Counts into redundant_store_bytes and
  /// overwritten_bytes. May be called from several threads.
  void record(const GlobalMemory& memory, uint64_t address, const uint8_t* fresh, uint64_t bytes, Counters& counters);

 private:
  struct Bitmap {
    uint64_t begin = 0, end = 0;
    std::unique_ptr<std::atomic<uint64_t>[]> words;  // a bit per byte
  };
  Bitmap& bitmap_of(const GlobalMemory& memory, uint64_t address);

  static uint64_t next_number();

  const uint64_t number_ = next_number();  // distinguishes audits for code that caches the last bitmap
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Bitmap>> bitmaps_;  // by begin of the allocation
};

}  // namespace sim
