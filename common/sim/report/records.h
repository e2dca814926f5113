// Findings as JSON, and the file of scripts/sim.sh --reports.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "common/base/json.h"
#include "machine/finding.h"
#include "report/suppressions.h"

namespace sim::report {

/// The members of a finding, inside an object. common/sim/README.md lists them.
void write(base::JsonWriter& json, const Finding& finding);

/// What all findings of a process come to.
class Tally {
 public:
  void add(const Finding& finding);
  Finding::Kind worst() const { return worst_; }
  uint64_t errors() const { return errors_; }
  uint64_t warnings() const { return warnings_; }
  uint64_t check_errors() const { return check_errors_; }

 private:
  Finding::Kind worst_ = Finding::Kind::Right;
  uint64_t errors_ = 0, warnings_ = 0, check_errors_ = 0;
};

/// Lines of JSON, each written at once. Processes that write to one file share it line by line.
class Records {
 public:
  /// "-" is standard output; empty: nowhere. `known` is a file of texts that other processes have written, and this one
  /// adds its own; empty: none. Throws base::FileError if a file cannot be opened.
  Records(const std::string& file, std::string schedule, const std::string& known);

  /// Whether no finding of this process, in this test, has the same text; launches from several lines of the host have.
  bool is_new(const Finding& finding) const { return !written_.contains(key(finding)); }
  /// Returns whether no process has found it before. Only then is it written.
  bool add(const Finding& finding);
  /// The last line of a process. `kind` is Wrong if its results are known to be wrong.
  void end(Finding::Kind kind, int exit_code, const Suppressions* suppressions);
  const Tally& tally() const { return tally_; }

 private:
  std::string key(Finding finding) const;
  /// The test that the program is in, if LADDER_SIM_TEST says so: it changes while the process runs.
  static std::string test();
  void write_line(std::string line) const;

  int file_ = -1;
  const std::string schedule_;
  int known_file_ = -1;
  std::set<std::string> written_, known_;  // by this process, by others
  Tally tally_;
};

}  // namespace sim::report
