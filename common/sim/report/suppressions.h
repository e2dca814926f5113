// The file of scripts/sim.sh --suppressions: findings that are known, and only counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/finding.h"

namespace sim::report {

/// An entry is a line of fields, separated by semicolons, each a name, a colon and a pattern of the shell (* and ?):
///
///     rule: write after read; kernel: *splitk*; file: *reduce.cuh; line: 41   # a comment
///
/// A finding matches if all fields do: its rule or habit, its kernel, and one line of its sides, with its file. Only
/// what lets the kernel go on can be suppressed: errors and habits of the order checker, and warnings.
class Suppressions {
 public:
  /// Throws std::invalid_argument, with a sentence, if the text is no list of entries.
  explicit Suppressions(std::string_view text);

  /// Whether the finding is suppressed; if so, counts it.
  bool take(const Finding& finding);
  uint64_t taken() const { return taken_; }
  /// Entries that have matched nothing: "line 3: rule: exit".
  std::vector<std::string> unmatched() const;

 private:
  struct Entry {
    uint32_t line = 0;
    std::string text, rule = "*", kernel = "*", file = "*", source_line = "*";
    uint64_t matches = 0;
  };
  std::vector<Entry> entries_;
  uint64_t taken_ = 0;
};

}  // namespace sim::report
