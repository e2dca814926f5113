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

/// The special register of this name (without the %, without a component); nullptr if there is none.
const SpecialRegisterType* find_special(std::string_view name);

}  // namespace sim::ptx
