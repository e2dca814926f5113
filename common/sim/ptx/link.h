// Links several translation units to one, as nvlink does for programs compiled with nvcc -rdc=true.
#pragma once

#include <memory>
#include <vector>

#include "ptx/module.h"

namespace sim::ptx {

/// The units' functions and variables in one module. A symbol that one unit declares `.extern` may be defined in
/// another; of several definitions (.weak: templates, inline functions) the first is used. Symbols that are neither
/// `.visible` nor `.weak` are local to their unit. At least one unit is required; name, version and target are those of
/// the first.
std::unique_ptr<Module> link(std::vector<std::unique_ptr<Module>> units);

}  // namespace sim::ptx
