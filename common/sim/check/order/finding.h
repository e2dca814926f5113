// The checker's findings, one entry per rule and pair of instructions.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "machine/habit.h"
#include "machine/missing.h"
#include "machine/violation.h"
#include "report/rules.h"

namespace sim::order {

using sim::Finding;
using sim::Location;
using sim::MissingLink;
using sim::Side;
using sim::Spot;

/// Is called when a finding is discovered: for the first of each kind in each cluster.
class FindingListener {
 public:
  virtual ~FindingListener() = default;
  virtual uint64_t now() const = 0;
  virtual void on_finding(const Finding& finding) = 0;
};

/// All findings of a launch, by source line. Clusters may run in parallel: the finding of the one with the lowest
/// number is reported, so reports do not depend on the host's threads.
class Findings {
 public:
  struct Key {
    Grade grade;
    uint8_t kind;  // Rule or Habit
    uint32_t first, second;
    auto operator<=>(const Key&) const = default;
  };
  static Key key(Rule rule, uint32_t first, uint32_t second) {
    return {text_of(rule).grade, static_cast<uint8_t>(rule), first, second};
  }
  static Key key(Habit habit, uint32_t first, uint32_t second) {
    return {Grade::Habit, static_cast<uint8_t>(habit), first, second};
  }
  explicit Findings(Habits tolerated, bool strict) : tolerated_(tolerated), strict_(strict) {}

  bool tolerates(Habit habit) const { return tolerated_.contains(habit); }
  bool strict() const { return strict_; }

  /// Adds one or more occurrences; `when` grows with time in each cluster. `make` describes an occurrence. It is called
  /// for the one that is reported: of those with the greatest `lacks`, the first of the first cluster.
  template <class Make>
  void add(const Key& key, uint32_t cluster, uint64_t when, uint64_t bytes, Make make, int lacks = 0,
           uint64_t times = 1) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = entries_.try_emplace(key);
    Entry& entry = found->second;
    entry.finding.bytes += bytes;
    entry.finding.count += times;
    if (is_new || cluster < entry.first.first) entry.first = {cluster, when};
    const bool is_told = is_new || lacks > entry.lacks || (lacks == entry.lacks && cluster < entry.cluster);
    if (!is_told) return;
    const uint64_t all_bytes = entry.finding.bytes, count = entry.finding.count;
    entry.finding = graded(make(), key);
    entry.finding.bytes = all_bytes, entry.finding.count = count;
    entry.cluster = cluster;
    entry.lacks = lacks;
  }
  /// The finding with the kind and the rule or habit of its key.
  static Finding graded(Finding finding, const Key& key);
  /// Errors come first, causes before possible consequences; otherwise findings stand in the order of their discovery.
  std::vector<Finding> all() const;

 private:
  struct Entry {
    Finding finding;
    std::pair<uint32_t, uint64_t> first;  // cluster and time of its discovery
    uint32_t cluster = 0;                 // that of the finding
    int lacks = 0;
  };
  const Habits tolerated_;
  const bool strict_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace sim::order
