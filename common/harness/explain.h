// A kernel's description as text and as JSON.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "level.h"
#include "shape.h"

namespace harness {

/// One line: "128x128 tile per cluster of 2 CTAs, 1 stage of 24,576 bytes, 128 threads, 25,600 bytes of shared memory".
std::string summarise(const Description& description);

/// Tile, shared-memory map, barriers and roles of one configuration, for people. Ends with a newline.
std::string explain(const Level& level, const Config& config);

/// The same of these configurations, for programs: one JSON object on one line, whose form README.md gives. The order
/// of tiles is that of `shape`, or of a small grid. Throws a usage error if `shape` has more tiles than a list should.
std::string explain_json(const Level& level, std::span<const Config> configs, const std::optional<Shape>& shape);

}  // namespace harness
