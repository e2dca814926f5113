// Messages to the user: sentences on standard error, each with the prefix "sim: ".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/demangle.h"
#include "common/base/text.h"

namespace sim::runtime {

using base::format;
using base::format_list;
using base::grouped;
using base::in_bytes;
using base::readable_name;

/// "2 x 1 x 1".
std::string extents(const std::array<uint32_t, 3>& dim);

/// Writes one sentence (or a report of several lines). A sentence that was already written is not repeated, so that a
/// mistake in a loop is reported once. If the program has redirected its standard error since its start, the sentence
/// is written to the first one, too.
void say(std::string_view sentence);

/// Writes later sentences to the end of a file, not to standard error; an empty name changes nothing. Returns whether
/// the file can be written; if not, errno says why.
bool log_to(const std::string& file);

/// Exit codes of the simulated device, as opposed to the program's.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitSimulationFailed = 86;

/// Ends the process at once, without destructors, after flushing what the program has written to stdio.
[[noreturn]] void stop(int exit_code);

}  // namespace sim::runtime
