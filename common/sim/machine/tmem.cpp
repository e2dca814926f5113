#include "machine/tmem.h"

#include <algorithm>

namespace sim {

uint32_t* Tmem::cells() {
  if (!cells_) {
    cells_ = std::make_unique_for_overwrite<uint32_t[]>(static_cast<size_t>(kLanes) * kColumns);
    std::fill_n(cells_.get(), static_cast<size_t>(kLanes) * kColumns, kPoison);  // NaN: uninitialised
  }
  return cells_.get();
}

int Tmem::allocate(int columns) {
  for (int first = 0; first + columns <= kColumns; first += columns) {
    const bool free = std::none_of(live_.begin(), live_.end(), [&](const Range& range) {
      return range.first < first + columns && first < range.first + range.count;
    });
    if (!free) continue;
    live_.push_back({first, columns});
    std::erase_if(released_, [&](const Range& range) {
      return range.first < first + columns && first < range.first + range.count;
    });
    for (int i = 0; i < columns; ++i) std::fill_n(column(first + i), kLanes, kPoison);
    return first;
  }
  return -1;
}

bool Tmem::release(int first, int columns) {
  const auto found = std::find_if(live_.begin(), live_.end(),
                                  [&](const Range& range) { return range.first == first && range.count == columns; });
  if (found == live_.end()) return false;
  released_.push_back(*found);
  live_.erase(found);
  return true;
}

bool Tmem::was_released(int first, int columns) const {
  return std::any_of(released_.begin(), released_.end(),
                     [&](const Range& range) { return range.first == first && range.count == columns; });
}

bool Tmem::allocated(int first, int count) const {
  for (int at = first; at < first + count;) {
    const auto range = std::find_if(live_.begin(), live_.end(), [&](const Range& candidate) {
      return candidate.first <= at && at < candidate.first + candidate.count;
    });
    if (range == live_.end()) return false;
    at = range->first + range->count;
  }
  return true;
}

int Tmem::live_columns() const {
  int total = 0;
  for (const Range& range : live_) total += range.count;
  return total;
}

std::string Tmem::describe() const {
  if (live_.empty()) return "none";
  std::string text;
  for (const Range& range : live_) {
    text += (text.empty() ? "columns " : ", ") + std::to_string(range.first) + ".." +
            std::to_string(range.first + range.count - 1);
  }
  return text;
}

}  // namespace sim
