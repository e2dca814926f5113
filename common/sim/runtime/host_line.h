// The line of the host's program that made a call.
#pragma once

#include <array>
#include <optional>

#include "machine/finding.h"

namespace sim::runtime {

/// Return addresses, the innermost first; null behind the last.
using HostCalls = std::array<void*, 16>;

/// Those of the calling thread.
HostCalls host_calls();

/// The innermost call in code with debug information (nvcc -g) that is none of this library or of nvcc's own functions
/// around a launch. Runs addr2line, so it takes time: only for findings.
std::optional<SourceLine> host_line(const HostCalls& calls);

}  // namespace sim::runtime
