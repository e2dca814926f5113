// Checks of calls against the called functions.
#pragma once

#include <optional>
#include <string>

#include "ptx/module.h"

namespace sim::ptx {

/// The error in a `call`, as a sentence; nullopt if it is valid.
std::optional<std::string> check_call(const Module& module, const Function& caller, const Instruction& call);

/// Functions that the system provides, if a module declares them .extern.
bool is_system_function(std::string_view name);

}  // namespace sim::ptx
