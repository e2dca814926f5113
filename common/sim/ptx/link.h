// Several translation units become one, as nvlink makes them of a program that is compiled with nvcc -rdc=true.
#pragma once

#include <memory>
#include <vector>

#include "ptx/module.h"

namespace sim::ptx {

/// The units' functions and variables in one module. What one unit declares `.extern`, another may define; of several
/// definitions (.weak: templates, inline functions) the first is meant. What is not `.visible` or `.weak` stays its
/// unit's own. At least one unit is required; name, version and target are the first one's.
std::unique_ptr<Module> link(std::vector<std::unique_ptr<Module>> units);

}  // namespace sim::ptx
