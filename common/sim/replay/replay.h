// Replays a recording: the same launches on another schedule, with the order checker, or with other PTX.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/recording.h"

namespace sim::recording {

/// The replacement of one line of the PTX.
struct Edit {
  uint32_t unit = 0;  ///< number of the text, in the order of loading
  uint32_t line = 1;  ///< from 1
  std::string text;
};

struct Request {
  Options options;  ///< GPU or SMs not given: as recorded
  std::vector<Edit> edits;
  std::optional<std::string> ptx;  ///< replaces unit 0; validated as a whole, as ptxas does
  /// Of each launch, where an edited kernel wants others than were recorded: threads of a CTA, and dynamic shared
  /// memory in bytes.
  std::optional<uint32_t> threads, dynamic_smem;
  std::optional<uint32_t> tile;  ///< of each described result: this tile's elements are kept
  /// Called before each launch, with its number.
  std::function<void(uint32_t launch, uint32_t launches, const std::string& kernel)> progress;
};

/// The request or the recording's PTX cannot be executed; `what` is a sentence.
struct Refused : std::runtime_error {
  enum class Why { Ptx, Memory, Request };
  Refused(Why reason, const std::string& sentence) : std::runtime_error(sentence), why(reason) {}
  Why why;
};

/// A result, compared with the recorded one.
struct Compared {
  std::string name;
  uint32_t rows = 0, columns = 0, tile_rows = 0, tile_columns = 0;
  std::vector<uint8_t> wrong;  ///< for each tile, in row-major order: 1 if it differs
  uint64_t digest = 0;
  std::string elements;  ///< of the requested tile, row after row
  bool is_right() const;
};

struct Replayed {
  Status status = Status::Success;  ///< of the first launch that failed
  bool is_complete = false;         ///< all steps were replayed
  bool is_unordered = false;        ///< the order checker has found errors
  std::vector<Finding> findings;
  std::vector<Compared> results;  ///< for several reads of one result, the last read

  /// Whether all results are as recorded; empty if the replay ended before they were read.
  std::optional<bool> is_right() const;
};

/// Replays a recording. A failed launch ends the replay, as it ends a program's context. Throws Refused. `say` receives
/// the reports as sim.sh prints them.
Replayed replay(const Recording& recording, const Request& request, const std::function<void(const std::string&)>& say);

/// One JSON object (web/README.md lists its members).
std::string to_json(const Replayed& replayed);

}  // namespace sim::recording
