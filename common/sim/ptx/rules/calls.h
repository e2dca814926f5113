// Calls against what they call.
#pragma once

#include <optional>
#include <string>

#include "ptx/module.h"

namespace sim::ptx {

/// What keeps a `call` from being one, in a sentence; nullopt if nothing does.
std::optional<std::string> check_call(const Module& module, const Function& caller, const Instruction& call);

/// Functions that the system provides, if a module declares them .extern.
bool is_system_function(std::string_view name);

}  // namespace sim::ptx
