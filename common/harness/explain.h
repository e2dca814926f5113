// A kernel's description as text and as JSON.
#pragma once

#include <string>

#include "level.h"

namespace harness {

/// One line: "128x128 tile per cluster of 2 CTAs, 1 stage of 24,576 bytes, 128 threads, 25,600 bytes of shared memory".
std::string summarise(const Description& description);

/// Tile, shared-memory map, barriers and roles of one configuration, for people. Ends with a newline.
std::string explain(const Level& level, const Config& config);

/// The same as one JSON object on one line, for scripts/render.py.
std::string explain_json(const Level& level, const Config& config);

}  // namespace harness
