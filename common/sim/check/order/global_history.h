// The accesses to global memory in launches, and in clusters, that have ended. For cells of 16 bytes it keeps the last
// writer and some of its later readers; likewise for intervals that are long, as the host's are, or no whole words.
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
#include "check/order/shadow.h"

namespace sim::order {

/// A past access to memory by an instruction or a host operation.
struct PastAccess {
  uint64_t launch = 0;  ///< number of the launch or host operation
  uint32_t cluster = 0;
  uint32_t pc = 0;
  Role role = Role::Load;
  bool atomic = false;
  bool silent = false;  ///< the store changed nothing
  GridPosition place;   ///< of the thread
  uint16_t warp = 0;
  std::string work;  ///< its launch, or the stream of the operation: "kernel gemm, in stream 2"
  Location at;       ///< the instruction, or the words for an operation of the host
};

class GlobalHistory {
 public:
  /// Numbers of past accesses; 0 is none. The readers come from different clusters or launches, so that at least one is
  /// not the writer's.
  struct Known {
    uint32_t write = 0, read = 0;
    std::array<uint32_t, 2> more{};
    bool operator==(const Known&) const = default;
    std::array<uint32_t, 3> readers() const { return {read, more[0], more[1]}; }
  };

  /// The number of a past access; a new one gets its texts from `describe`.
  template <class F>
  uint32_t trace(const PastAccess& trace, F describe) {
    const uint32_t number = number_of(trace);
    if (traces_[number].at.instruction.empty()) describe(traces_[number]);
    return number;
  }
  const PastAccess& operator[](uint32_t number) const { return traces_[number]; }

  /// Calls f(known, begin, end) for each part of a range of which something is known. It may call f twice for a part,
  /// since later accesses do not always hide earlier ones.
  template <class F>
  void for_each(uint64_t begin, uint64_t end, F f) const {
    cells_.for_known(begin / kWord * kWord, (end + kWord - 1) / kWord * kWord, f);
    auto at = runs_.upper_bound(begin);
    if (at != runs_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != runs_.end() && at->first < end; ++at)
      f(at->second.known, std::max(begin, at->first), std::min(end, at->second.end));
  }
  void write(uint64_t begin, uint64_t end, uint32_t writer);
  void read(uint64_t begin, uint64_t end, uint32_t reader);
  /// Adds the accesses of a later history.
  void add(const GlobalHistory& later);

  uint64_t newest() const { return newest_; }  ///< the newest launch
  bool empty() const { return runs_.empty() && cells_.pages() == 0; }
  void clear();
  void forget(uint64_t begin, uint64_t end);

 private:
  uint32_t number_of(const PastAccess& trace);
  static constexpr uint64_t kWord = Shadow::kWord, kLong = 1u << 16;
  static bool is_run(uint64_t begin, uint64_t end) {
    return begin % kWord != 0 || end % kWord != 0 || end - begin >= kLong;
  }
  void add_reader(Known& known, uint32_t reader) const;

  struct Run {
    uint64_t end = 0;
    Known known;
  };
  using Runs = std::map<uint64_t, Run>;
  /// Removes the runs in [begin, end).
  void cut(uint64_t begin, uint64_t end);
  /// Splits the run that contains this address, if any.
  void split(uint64_t at);
  void unite(uint64_t begin, uint64_t end);

  Runs runs_;
  Pages<Known> cells_;
  std::vector<PastAccess> traces_ = std::vector<PastAccess>(1);
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, Role, bool, bool>, uint32_t> numbers_;
  uint64_t newest_ = 0;
};

}  // namespace sim::order
