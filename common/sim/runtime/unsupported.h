#pragma once

namespace sim::runtime {

/// Ends the program with a sentence that names the function and says what to do.
[[noreturn]] void unsupported(const char* name);

}  // namespace sim::runtime
