#include "machine/global_memory.h"

#include <algorithm>
#include <utility>

#include "common/base/align.h"
#include "machine/pages.h"

namespace sim {
namespace {

using pages::kHugePage;
using pages::kPage;

constexpr uint64_t kGap = kPage;  // never mapped: an overrun does not reach the next allocation

constexpr std::size_t kRemembered = 4096;  // freed allocations that reports can name

using base::round_up;

/// Bytes of address space of an allocation, without the gap. Even an empty one has an address of its own.
uint64_t page_bytes(uint64_t bytes) { return round_up(std::max<uint64_t>(bytes, 1), kPage); }

/// The last entry that starts at or before `address`, or the end.
template <typename Map>
auto last_before(Map& map, uint64_t address) {
  const auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

// Addresses are not reused while unused ones are left, so that stale pointers are recognised. Hence several times the
// capacity is requested; the host may provide less.
GlobalMemory::GlobalMemory(uint64_t capacity, bool blank)
    : blank_(blank), capacity_(capacity), range_(pages::reserve(16 * capacity)), cursor_(range_.begin) {}

GlobalMemory::~GlobalMemory() { pages::release(range_); }

uint64_t GlobalMemory::place(uint64_t bytes, uint64_t alignment) {
  const uint64_t end = range_.begin + range_.bytes;
  // The search goes from the cursor to the end, then from the start through the holes of freed allocations.
  for (uint64_t at : {cursor_, range_.begin}) {
    for (;;) {
      at = round_up(at, alignment);
      if (at > end || bytes > end - at) break;
      const auto before = last_before(live_, at + bytes - 1);
      const bool in_range = before != live_.end() && before->first >= range_.begin;
      uint64_t taken_to = in_range ? before->first + page_bytes(before->second.end - before->first) + kGap : 0;
      const auto range = last_before(ranges_, at + bytes - 1);
      if (range != ranges_.end()) taken_to = std::max(taken_to, range->second.end + kGap);
      if (taken_to <= at) return at;
      at = taken_to;
    }
  }
  return 0;
}

void* GlobalMemory::allocate(uint64_t bytes, std::string label, bool constant, Kind kind) {
  return allocate(bytes, std::move(label), constant, kind, false);
}

void* GlobalMemory::allocate_zeroed(uint64_t bytes, std::string label, bool constant) {
  return allocate(bytes, std::move(label), constant, Kind::Device, true);
}

void* GlobalMemory::allocate(uint64_t bytes, std::string label, bool constant, Kind kind, bool zeroed) {
  std::unique_lock lock(mutex_);
  const bool counts = kind != Kind::Host;
  if (range_.begin == 0 || bytes > range_.bytes || (counts && bytes > capacity_ - used_)) return nullptr;
  const uint64_t mapped = page_bytes(bytes);
  const uint64_t begin = place(mapped + kGap, mapped >= kHugePage ? kHugePage : kPage);
  if (begin == 0) return nullptr;
  if (!pages::commit(begin, mapped, zeroed || blank_)) {
    pages::discard(begin, mapped);  // the part that was mapped before the host ran out of memory
    return nullptr;
  }
  cursor_ = begin + mapped + kGap;
  if (counts) used_ += bytes;
  const auto reused = std::pair{freed_.lower_bound(begin), freed_.lower_bound(cursor_)};
  freed_.erase(reused.first, reused.second);
  live_[begin] = {begin, begin + bytes, std::move(label), constant, kind};
  return host_pointer(begin);
}

bool GlobalMemory::adopt(void* pointer, uint64_t bytes, std::string label) {
  std::unique_lock lock(mutex_);
  const uint64_t begin = device_address(pointer);
  const auto before = last_before(live_, begin + bytes - 1);
  if (before != live_.end() && before->second.end > begin) return false;
  live_[begin] = {begin, begin + bytes, std::move(label), false, Kind::Adopted};
  return true;
}

bool GlobalMemory::release(void* pointer) {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(device_address(pointer));
  if (found == live_.end() || found->second.kind == Kind::Mapped) return false;
  const Allocation& allocation = found->second;
  const uint64_t bytes = allocation.end - allocation.begin;
  if (allocation.kind != Kind::Adopted) pages::discard(allocation.begin, page_bytes(bytes));
  if (allocation.kind != Kind::Adopted && allocation.kind != Kind::Host) used_ -= bytes;
  freed_[found->first] = allocation;
  live_.erase(found);
  if (freed_.size() > kRemembered) freed_.erase(freed_.begin());  // the lowest address is roughly the oldest
  return true;
}

uint64_t GlobalMemory::reserve_range(uint64_t bytes, uint64_t alignment, std::string label) {
  std::unique_lock lock(mutex_);
  if (range_.begin == 0 || bytes > range_.bytes) return 0;
  const uint64_t begin = place(bytes + kGap, alignment);
  if (begin == 0) return 0;
  cursor_ = begin + bytes + kGap;
  freed_.erase(freed_.lower_bound(begin), freed_.lower_bound(cursor_));
  ranges_[begin] = {.begin = begin, .end = begin + bytes, .label = std::move(label), .kind = Kind::Mapped};
  return begin;
}

bool GlobalMemory::free_range(uint64_t begin, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto found = ranges_.find(begin);
  if (found == ranges_.end() || found->second.end - begin != bytes) return false;
  freed_[begin] = found->second;
  ranges_.erase(found);
  return true;
}

std::optional<GlobalMemory::Allocation> GlobalMemory::range_of(uint64_t begin, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  const auto found = last_before(ranges_, begin);
  if (found == ranges_.end() || begin >= found->second.end || bytes > found->second.end - begin) return {};
  return found->second;
}

void GlobalMemory::set_accessible(const Allocation& range, const std::vector<Allocation>& parts) {
  std::unique_lock lock(mutex_);
  live_.erase(live_.lower_bound(range.begin), live_.lower_bound(range.end));
  for (const Allocation& part : parts) live_[part.begin] = part;
}

bool GlobalMemory::charge(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (bytes > capacity_ - used_) return false;
  used_ += bytes;
  return true;
}

void GlobalMemory::refund(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  used_ -= bytes;
}

const GlobalMemory::Allocation* GlobalMemory::find(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  const auto found = last_before(live_, address);
  if (found == live_.end()) return nullptr;
  const Allocation& allocation = found->second;
  return address <= allocation.end && bytes <= allocation.end - address ? &allocation : nullptr;
}

GlobalMemory::Place GlobalMemory::place_of(uint64_t address, std::span<const uint64_t> given) const {
  using State = Place::State;
  std::shared_lock lock(mutex_);
  constexpr uint64_t kNullPage = 65'536;
  if (address < kNullPage) return {State::Null, address};
  const auto holds = [&](const auto& map, const auto& entry, uint64_t where) {
    return entry != map.end() && where < entry->second.end;
  };
  const auto live = last_before(live_, address), freed = last_before(freed_, address);
  if (holds(live_, live, address)) return {State::Live, address, live->second};
  if (const auto range = last_before(ranges_, address); holds(ranges_, range, address))
    return {State::Unmapped, address, range->second};
  if (holds(freed_, freed, address)) return {State::Freed, address, freed->second};
  if (!in_range(address)) return {State::Foreign, address};

  // Between allocations. The program has most likely indexed one to which it has a pointer: the nearest of these.
  const Allocation* indexed = nullptr;
  const auto distance = [&](const Allocation& to) {
    return address < to.begin ? to.begin - address : address - to.end;
  };
  for (const uint64_t pointer : given) {
    const auto found = last_before(live_, pointer);
    if (!holds(live_, found, pointer) || (indexed != nullptr && distance(*indexed) <= distance(found->second)))
      continue;
    if (std::max(address, found->second.end) - std::min(address, found->second.begin) < capacity_)
      indexed = &found->second;
  }
  if (indexed != nullptr) return {State::Live, address, *indexed};
  // Otherwise the nearer neighbour is the more likely one.
  const auto next = live_.upper_bound(address);
  const bool has_previous = live != live_.end() && live->first >= range_.begin;
  const bool has_next = next != live_.end() && next->first < range_.begin + range_.bytes;
  if (has_previous && (!has_next || address - live->second.end <= next->first - address))
    return {State::Live, address, live->second};
  if (has_next) return {State::Live, address, next->second};
  return {State::Free, address};
}

}  // namespace sim
