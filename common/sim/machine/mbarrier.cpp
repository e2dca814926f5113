#include "machine/mbarrier.h"

namespace sim {

bool Mbarrier::try_advance() {
  if (pending != 0 || tx != 0) return false;
  ++phase;
  pending = expected;
  observed = false;
  history_before.swap(history);
  history.clear();
  return true;
}

const char* Mbarrier::arrive(uint32_t count, bool* advance) {
  if (static_cast<int64_t>(count) > pending) return "more arrivals than the phase still waits for";
  pending -= static_cast<int32_t>(count);
  *advance = try_advance();
  return nullptr;
}

const char* Mbarrier::arrive_drop(uint32_t count, bool* advance) {
  if (static_cast<int64_t>(count) > pending) return "more arrivals than the phase still waits for";
  expected -= static_cast<int32_t>(count);
  pending -= static_cast<int32_t>(count);
  *advance = try_advance();
  return nullptr;
}

const char* Mbarrier::expect_tx(uint32_t bytes, bool* advance) {
  if (static_cast<int64_t>(bytes) > kMaxCount || tx + static_cast<int64_t>(bytes) > kMaxCount) {
    return "a phase cannot wait for more than 1,048,575 bytes";
  }
  tx += static_cast<int32_t>(bytes);
  *advance = try_advance();
  return nullptr;
}

const char* Mbarrier::complete_tx(uint32_t bytes, bool* advance) {
  if (static_cast<int64_t>(bytes) > kMaxCount || tx - static_cast<int64_t>(bytes) < -kMaxCount) {
    return "more than 1,048,575 bytes were delivered beyond what the phase expects";
  }
  tx -= static_cast<int32_t>(bytes);
  *advance = try_advance();
  return nullptr;
}

uint64_t Mbarrier::word() const {
  const auto field = [](int64_t value, int width) {
    return static_cast<uint64_t>(-value) & ((uint64_t{1} << width) - 1);
  };
  return static_cast<uint64_t>(phase & 1) << 63 | field(pending, 20) << 43 | field(tx, 21) << 21 |
         field(expected, 20) << 1;
}

}  // namespace sim
