#include "check/order/shadow.h"

namespace sim::order {

std::span<const uint32_t> Sets::members(const uint32_t& reference) const {
  if (reference == 0) return {};
  if (!(reference & kIsSet)) return {&reference, 1};
  return sets_[reference & ~kIsSet];
}

uint32_t Sets::make(const std::vector<uint32_t>& members) {
  if (members.empty()) return 0;
  if (members.size() == 1) return members[0];
  const size_t size = members.size();
  auto number = static_cast<uint32_t>(sets_.size());
  if (size < free_.size() && !free_[size].empty()) {
    number = free_[size].back();
    free_[size].pop_back();
  } else {
    if (size > room_.size()) {
      const size_t piece = std::max(kPiece, size);
      room_ = {pieces_.emplace_back(std::make_unique_for_overwrite<uint32_t[]>(piece)).get(), piece};
    }
    sets_.push_back(room_.first(size));
    marked_.push_back(false);
    room_ = room_.subspan(size);
  }
  std::copy(members.begin(), members.end(), sets_[number].begin());
  return number | kIsSet;
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
