#include "check/order/global_history.h"

#include <algorithm>

namespace sim::order {

uint32_t GlobalHistory::number_of(const PastAccess& trace) {
  newest_ = std::max(newest_, trace.launch);
  const auto key = std::make_tuple(trace.launch, trace.cluster, trace.pc, trace.role, trace.atomic, trace.silent);
  const auto [found, fresh] = numbers_.try_emplace(key, static_cast<uint32_t>(traces_.size()));
  if (fresh) traces_.push_back(trace);
  return found->second;
}

void GlobalHistory::split(uint64_t at) {
  auto found = runs_.upper_bound(at);
  if (found == runs_.begin()) return;
  --found;
  if (found->first >= at || found->second.end <= at) return;
  Run rest = found->second;
  found->second.end = at;
  runs_.emplace_hint(std::next(found), at, rest);
}

void GlobalHistory::cut(uint64_t begin, uint64_t end) {
  split(begin);
  split(end);
  runs_.erase(runs_.lower_bound(begin), runs_.lower_bound(end));
}

void GlobalHistory::unite(uint64_t begin, uint64_t end) {
  auto at = runs_.lower_bound(begin);
  if (at != runs_.begin()) --at;
  while (at != runs_.end() && at->first <= end) {
    const auto next = std::next(at);
    if (next != runs_.end() && next->first == at->second.end && next->second.known == at->second.known) {
      at->second.end = next->second.end;
      runs_.erase(next);
    } else {
      at = next;
    }
  }
}

void GlobalHistory::write(uint64_t begin, uint64_t end, uint32_t writer) {
  if (!is_run(begin, end))
    return cells_.for_each(begin, end, [&](Known& known, uint64_t, uint32_t) { known = {writer}; });
  cut(begin, end);
  runs_[begin] = Run{end, {writer}};
  unite(begin, end);
}

void GlobalHistory::add_reader(Known& known, uint32_t reader) const {
  const PastAccess& mine = traces_[reader];
  for (uint32_t* const each : {&known.read, &known.more[0], &known.more[1]}) {
    if (*each == 0) {
      *each = reader;
      return;
    }
    const PastAccess& other = traces_[*each];
    if (*each == reader || (other.launch == mine.launch && other.cluster == mine.cluster)) return;
  }
}

void GlobalHistory::read(uint64_t begin, uint64_t end, uint32_t reader) {
  if (!is_run(begin, end))
    return cells_.for_each(begin, end, [&](Known& known, uint64_t, uint32_t) { add_reader(known, reader); });
  split(begin);
  split(end);
  uint64_t at = begin;
  auto run = runs_.lower_bound(begin);
  while (at < end) {
    if (run == runs_.end() || run->first > at) {
      const uint64_t stop = run == runs_.end() ? end : std::min(end, run->first);
      run = runs_.emplace_hint(run, at, Run{stop, {}});
    }
    add_reader(run->second.known, reader);
    at = run->second.end;
    ++run;
  }
  unite(begin, end);
}

void GlobalHistory::add(const GlobalHistory& later) {
  std::vector<uint32_t> renamed(later.traces_.size(), 0);
  for (size_t i = 1; i < renamed.size(); ++i) renamed[i] = number_of(later.traces_[i]);
  const auto add = [&](const Known& known, uint64_t begin, uint64_t end) {
    if (known.write != 0) write(begin, end, renamed[known.write]);
    for (const uint32_t reader : known.readers()) {
      if (reader != 0) read(begin, end, renamed[reader]);
    }
  };
  later.cells_.for_all([&](const Known& known, uint64_t begin, uint32_t bytes) { add(known, begin, begin + bytes); });
  for (const auto& [begin, run] : later.runs_) add(run.known, begin, run.end);
}

void GlobalHistory::forget(uint64_t begin, uint64_t end) {
  cut(begin, end);
  cells_.forget((begin + kWord - 1) / kWord * kWord, end / kWord * kWord);
}

void GlobalHistory::clear() {
  runs_.clear();
  cells_.clear();
  traces_.resize(1);
  numbers_.clear();
  newest_ = 0;
}

}  // namespace sim::order
