#include "check/order/shadow.h"

namespace sim::order {

Sets::Members Sets::members(const uint32_t& reference) const {
  if (reference == 0) return {nullptr, 0};
  if (!(reference & kIsSet)) return {&reference, 1};
  const auto& set = sets_[reference & ~kIsSet];
  return {set.data(), set.size()};
}

uint32_t Sets::make(const std::vector<uint32_t>& members) {
  if (members.empty()) return 0;
  if (members.size() == 1) return members[0];
  if (!free_.empty()) {
    const uint32_t number = free_.back();
    free_.pop_back();
    sets_[number] = members;
    return number | kIsSet;
  }
  sets_.push_back(members);
  marked_.push_back(false);
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
    sets_[i].clear();
    sets_[i].shrink_to_fit();
    free_.push_back(i);
  }
}

}  // namespace sim::order
