#include "check/order/access.h"

#include <algorithm>
#include <bit>

namespace sim::order {

Mask RecordedAccess::lanes_at(uint64_t begin, uint32_t bytes) const {
  if (width == 0) return lanes;
  if (addresses.empty() && stride > 0) {
    // Lane i is at base + i * stride: the result is the lanes that begin before `end` and end after `begin`.
    const auto before = [&](int64_t distance) {  // lanes that begin less than `distance` after the base
      if (distance <= 0) return Mask{0};
      const auto count = static_cast<uint64_t>(distance + stride - 1) / static_cast<uint64_t>(stride);
      return count >= 32 ? kAll : (1u << count) - 1;
    };
    const auto from = static_cast<int64_t>(begin - base);
    return lanes & before(from + bytes) & ~before(from - width + 1);
  }
  Mask result = 0;
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t at = address_of(lane);
    if (at < begin + bytes && begin < at + width) result |= 1u << lane;
  }
  return result;
}

uint32_t RecordedAccess::bytes_at(uint64_t begin, uint32_t bytes) const {
  const uint32_t all = (1u << bytes) - 1;
  if (width == 0) return all;
  uint32_t result = 0;
  for (Mask rest = lanes; rest && result != all; rest &= rest - 1) {
    const uint64_t at = address_of(std::countr_zero(rest));
    if (at >= begin + bytes || begin >= at + width) continue;
    const uint64_t low = std::max(at, begin) - begin, high = std::min(at + width, begin + bytes) - begin;
    result |= ((1u << high) - 1) & ~((1u << low) - 1);
  }
  return result;
}

uint32_t RecordedAccesses::add(RecordedAccess access) {
  ++live_;
  access.serial = ++serial_;
  if (!free_.empty()) {
    const uint32_t number = free_.back();
    free_.pop_back();
    slots_[number] = std::move(access);
    return number;
  }
  slots_.push_back(std::move(access));
  marked_.push_back(false);
  return static_cast<uint32_t>(slots_.size() - 1);
}

void RecordedAccesses::begin_marking() { marked_.assign(slots_.size(), false); }

void RecordedAccesses::sweep() {
  free_.clear();
  for (uint32_t i = static_cast<uint32_t>(slots_.size()) - 1; i > 0; --i) {
    if (marked_[i] || slots_[i].in_flight) continue;
    slots_[i] = RecordedAccess{};
    free_.push_back(i);
  }
  live_ = slots_.size() - 1 - free_.size();
  limit_ = std::max<size_t>(2 * live_, 1u << 14);
}

}  // namespace sim::order
