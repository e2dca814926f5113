// A recording, asked for again: the same launches on another schedule, checked, or with other PTX.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/recording.h"

namespace sim::recording {

/// One line of the PTX, replaced.
struct Edit {
  uint32_t unit = 0;  ///< which text, in the order in which they were loaded
  uint32_t line = 1;  ///< from 1
  std::string text;
};

struct Request {
  Options options;  ///< no GPU and no SMs: as recorded
  std::vector<Edit> edits;
  std::optional<std::string> ptx;  ///< in the place of unit 0; judged as ptxas does
  /// Called before each launch, with its number.
  std::function<void(uint32_t launch, uint32_t launches, const std::string& kernel)> progress;
};

/// The request or the recording's PTX cannot be executed; `what` is a sentence.
struct Refused : std::runtime_error {
  enum class Why { Ptx, Memory, Request };
  Refused(Why reason, const std::string& sentence) : std::runtime_error(sentence), why(reason) {}
  Why why;
};

/// A result, compared with what the program saw.
struct Compared {
  std::string name;
  uint32_t rows = 0, columns = 0, tile_rows = 0, tile_columns = 0;
  std::vector<uint8_t> wrong;  ///< of each tile, in row-major order: 1 if it differs
  uint64_t digest = 0;
  bool is_right() const;
};

struct Replayed {
  Status status = Status::Success;  ///< of the first launch that failed
  bool is_complete = false;         ///< everything was asked for, to the end
  bool is_unordered = false;        ///< the order checker has found errors
  std::vector<Report> reports;
  std::vector<Compared> results;  ///< of several looks at one, the last

  /// All that was looked at is as it was; nothing if it did not get so far.
  std::optional<bool> is_right() const;
};

/// Never returns half of it: what a launch reports ends the replay as it ends a program's context. Throws Refused.
/// `output` gets what is said, as sim.sh prints it.
Replayed replay(const Recording& recording, const Request& request, const std::function<void(const std::string&)>& say);

/// One object (web/README.md lists its members).
std::string to_json(const Replayed& replayed);

}  // namespace sim::recording
