#include "machine/watcher.h"

namespace sim {

std::vector<Range> tensor_range(int lane, int lanes, int column, int columns) {
  constexpr uint64_t kCellLanes = 16, kCellBytes = 16;  // cells in a row are one range
  const auto at = [](int which_column, int which_lane) {
    return (static_cast<uint64_t>(which_column) * 128 + static_cast<uint64_t>(which_lane)) / kCellLanes * kCellBytes;
  };
  if (lanes == 128) return {{at(column, 0), at(column + columns, 0)}};
  std::vector<Range> ranges;
  for (int i = 0; i < columns; ++i)
    ranges.push_back({at(column + i, lane), at(column + i, lane + lanes - 1) + kCellBytes});
  return ranges;
}

void Watchers::add(Watcher& watcher) {
  wanted_.add(watcher.wants());
  for (size_t event = 0; event < by_event_.size(); ++event) {
    if (watcher.wants().contains(static_cast<EventKind>(event))) by_event_[event].push_back(&watcher);
  }
  if (watcher.wants().contains(EventKind::SomeSteps) && watcher.steps() != nullptr) steps_ = watcher.steps();
}

}  // namespace sim
