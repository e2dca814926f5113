// The command line of a level.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs.h"
#include "shape.h"
#include "verify.h"

namespace harness {

inline constexpr int DEFAULT_EDGE = 4096;           ///< of M, N and K where they are not given, on a GPU
inline constexpr int DEFAULT_SIMULATED_EDGE = 512;  ///< likewise, on the simulated device

inline constexpr std::string_view ALL_CONFIGS = "all";  ///< as the name of a configuration

struct Options {
  enum class Action { run, help, version, list_configs, list_choices, explain };
  Action action = Action::run;

  std::optional<int> m, n, k;  ///< given one by one
  std::vector<Shape> sizes;    ///< given as a list; then m, n and k are not
  std::string config;          ///< empty: the level chooses; or ALL_CONFIGS
  Verify verify = Verify::full;
  Init init = Init::normal;
  std::uint64_t seed = 1;
  bool digest = false;
  int launches = 1;  ///< of the product, one after the other, before D is read
  bool bench = false;
  bool burst = false;  ///< implies bench
  bool apart = false;  ///< implies bench
  int rounds = 10;
  double budget_s = 7;
  std::string json, csv;  ///< empty: no such file
};

/// Throws a usage error for everything that is not exactly right. Shapes are only checked against each other here;
/// `shapes` checks the rest.
Options parse_arguments(int argc, const char* const* argv);

/// The value of --sizes, "4096,1024x512x2048", and of --init. Throw usage errors; whether a shape is legal is not
/// asked.
std::vector<Shape> parse_sizes(std::string_view text);
Init parse_init(std::string_view text);

/// The shapes to run, with `default_edge` for each of m, n and k that was not given. Throws a usage error if one is not
/// legal.
std::vector<Shape> shapes(const Options& options, int default_edge);

std::string help_text(const std::string& program);

}  // namespace harness
