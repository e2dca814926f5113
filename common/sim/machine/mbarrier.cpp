#include "machine/mbarrier.h"

namespace sim {

bool Mbarrier::try_advance() {
  if (pending != 0 || tx != 0) return false;
  ++phase;
  pending = expected;
  history_before.swap(history);
  history.clear();
  return true;
}

bool Mbarrier::arrive(uint32_t count, bool* advance) {
  if (static_cast<int64_t>(count) > pending) return false;
  pending -= static_cast<int32_t>(count);
  *advance = try_advance();
  return true;
}

bool Mbarrier::arrive_drop(uint32_t count, bool* advance) {
  if (static_cast<int64_t>(count) > pending) return false;
  expected -= static_cast<int32_t>(count);
  pending -= static_cast<int32_t>(count);
  *advance = try_advance();
  return true;
}

bool Mbarrier::expect_tx(uint32_t bytes, bool* advance) {
  if (static_cast<int64_t>(bytes) > kMaxCount || tx + static_cast<int64_t>(bytes) > kMaxCount) return false;
  tx += static_cast<int32_t>(bytes);
  *advance = try_advance();
  return true;
}

bool Mbarrier::complete_tx(uint32_t bytes, bool* advance) {
  if (static_cast<int64_t>(bytes) > kMaxCount || tx - static_cast<int64_t>(bytes) < -kMaxCount) return false;
  tx -= static_cast<int32_t>(bytes);
  *advance = try_advance();
  return true;
}

uint64_t Mbarrier::word() const {
  const auto field = [](int64_t value, int width) {
    return static_cast<uint64_t>(-value) & ((uint64_t{1} << width) - 1);
  };
  return static_cast<uint64_t>(phase & 1) << 63 | field(pending, 20) << 43 | field(tx, 21) << 21 |
         field(expected, 20) << 1;
}

}  // namespace sim
