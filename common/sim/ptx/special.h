// The special registers of PTX.
#pragma once

#include <string_view>

#include "ptx/module.h"

namespace sim::ptx {

struct SpecialRegisterType {
  std::string_view name;  ///< without the %
  Type type;
  bool is_vector = false;  ///< with components .x .y .z .w
};

/// nullptr if there is none of this name (without the %, without a component).
const SpecialRegisterType* find_special(std::string_view name);

}  // namespace sim::ptx
