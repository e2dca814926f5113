// One result, for people (a line, and the map if it is wrong) and for files (a record).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench.h"
#include "environment.h"
#include "inputs.h"
#include "results.h"
#include "shape.h"
#include "verify.h"

namespace harness {

struct Result {
  std::string level;  ///< "level01_baseline"
  int arch = 0;       ///< 90 or 100
  Shape shape{};
  std::string config;

  Init init = Init::normal;
  std::uint64_t seed = 0;
  Verify verify = Verify::full;
  std::string reference;           ///< "cublas", "cpu", "fp64"; empty if nothing was verified
  std::optional<Verdict> verdict;  ///< nothing if unverified
  std::optional<std::uint64_t> digest;

  int rounds = 0;
  double budget_s = 0;
  std::optional<BenchResult> bench;  ///< must be absent when the verdict is wrong, and on a simulated device
  std::string date;

  std::string verdict_word() const;  ///< "right", "wrong" or "unverified"
};

/// The names of the fields are the columns of the CSV file; they do not depend on the result.
Record to_record(const Result& result, const Environment& environment);

/// One line, without its newline.
std::string human_line(const Result& result, const Environment& environment);

/// What is wrong: the faults, the map and the hint, on several lines; empty if right.
std::string explanation(const Verdict& verdict);

}  // namespace harness
