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

void Shadow::clear() {
  pages_.clear();
  words_.clear();
  free_words_.clear();
  last_ = nullptr;
}

uint32_t Shadow::split(Cell& cell) {
  if (is_split(cell)) return cell.read;
  uint32_t index = 0;
  if (!free_words_.empty()) {
    index = free_words_.back();
    free_words_.pop_back();
  } else {
    index = static_cast<uint32_t>(words_.size());
    words_.emplace_back();
  }
  words_[index].fill(cell);
  cell = {kSplit, index};
  return index;
}

void Shadow::unite(uint64_t address) {
  Cell& cell = find(address);
  const auto& words = words_[cell.read];
  if (!(words[0] == words[1] && words[0] == words[2] && words[0] == words[3])) return;
  const uint32_t index = cell.read;
  cell = words[0];
  free_words_.push_back(index);
}

}  // namespace sim::order
