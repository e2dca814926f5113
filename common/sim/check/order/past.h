// Who touched global memory in launches, and in clusters, that have come to an end: intervals with the last writer and
// some readers since.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "check/order/access.h"

namespace sim::order {

/// A trace of an instruction, or of a host operation, that has touched memory.
struct Trace {
  uint64_t launch = 0;  ///< or operation of the host
  uint32_t cluster = 0;
  uint32_t site = 0;
  Role role = Role::Load;
  bool atomic = false;
  bool silent = false;  ///< it stored what was there already
  Place place;          ///< of the thread
  uint16_t warp = 0;
  std::string text;  ///< the instruction, in words
};

class Past {
 public:
  static constexpr size_t kReaders = 3;  ///< of different clusters or launches: one of them is not the writer's
  struct Run {
    uint64_t end = 0;
    uint32_t writer = 0;  ///< numbers of traces; 0 is none
    std::array<uint32_t, kReaders> readers{};
    bool same(const Run& other) const { return writer == other.writer && readers == other.readers; }
  };

  /// Its number; a new one gets its text from `words`.
  template <class F>
  uint32_t trace(const Trace& trace, F words) {
    const uint32_t number = number_of(trace);
    if (traces_[number].text.empty()) traces_[number].text = words();
    return number;
  }
  const Trace& operator[](uint32_t number) const { return traces_[number]; }

  /// Calls f(run, begin, end) for what is known of parts of a range.
  template <class F>
  void for_each(uint64_t begin, uint64_t end, F f) const {
    auto at = runs_.upper_bound(begin);
    if (at != runs_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != runs_.end() && at->first < end; ++at)
      f(at->second, std::max(begin, at->first), std::min(end, at->second.end));
  }
  void write(uint64_t begin, uint64_t end, uint32_t writer);
  void read(uint64_t begin, uint64_t end, uint32_t reader);
  /// Takes over what a later past knows.
  void add(const Past& later);

  uint64_t newest() const { return newest_; }  ///< launch
  bool empty() const { return runs_.empty(); }
  void clear();
  void forget(uint64_t begin, uint64_t end) { cut(begin, end); }

 private:
  uint32_t number_of(const Trace& trace);
  using Runs = std::map<uint64_t, Run>;
  /// Makes room: nothing is known of [begin, end) any more.
  void cut(uint64_t begin, uint64_t end);
  /// Runs begin and end at this address, if it is inside one.
  void split(uint64_t at);
  void unite(uint64_t begin, uint64_t end);

  Runs runs_;
  std::vector<Trace> traces_ = std::vector<Trace>(1);
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, Role, bool, bool>, uint32_t> numbers_;
  uint64_t newest_ = 0;
};

}  // namespace sim::order
