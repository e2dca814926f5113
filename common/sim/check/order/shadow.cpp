#include "check/order/shadow.h"

namespace sim::order {

Sets::Members Sets::members(const uint32_t& reference) const {
  if (reference == 0) return {nullptr, 0};
  if (!(reference & kIsSet)) return {&reference, 1};
  const std::span<const uint32_t> set = sets_[reference & ~kIsSet];
  return {set.data(), set.size()};
}

uint32_t Sets::make(const std::vector<uint32_t>& members) {
  if (members.empty()) return 0;
  if (members.size() == 1) return members[0];
  const size_t size = members.size();
  if (size < free_.size() && !free_[size].empty()) {
    const uint32_t number = free_[size].back();
    free_[size].pop_back();
    std::copy(members.begin(), members.end(), sets_[number].begin());
    return number | kIsSet;
  }
  if (size > left_) {
    left_ = std::max(kPiece, size);
    pieces_.push_back(std::make_unique_for_overwrite<uint32_t[]>(left_));
    last_ = pieces_.back().get();
  }
  std::copy(members.begin(), members.end(), last_);
  sets_.emplace_back(last_, size);
  marked_.push_back(false);
  last_ += size;
  left_ -= size;
  return static_cast<uint32_t>(sets_.size() - 1) | kIsSet;
}

bool Sets::mark(uint32_t reference) {
  if (!(reference & kIsSet)) return true;
  const uint32_t number = reference & ~kIsSet;
  if (marked_[number]) return false;
  marked_[number] = true;
  return true;
}

void Sets::sweep() {
  free_.clear();
  for (uint32_t i = 0; i < sets_.size(); ++i) {
    if (marked_[i]) continue;
    if (free_.size() <= sets_[i].size()) free_.resize(sets_[i].size() + 1);
    free_[sets_[i].size()].push_back(i);
  }
}

}  // namespace sim::order
