// Is every instruction of a parsed module one, as ptxas would judge? The parser has seen to grammar, declarations and
// names; here are opcodes, modifiers, operands, calls, and what only a whole function shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace sim::ptx {

struct RuleViolation {
  uint32_t line = 0;  ///< of the text
  std::string message;
  size_t instruction = 0;  ///< index in the function
  int32_t location = -1;   ///< index into Module::locations
};

/// What is wrong in one function, in the order of the text.
std::vector<RuleViolation> check(const Module& module, const Function& function);

/// What is wrong in all of the module: its functions, and what they are to one another.
std::vector<RuleViolation> check(const Module& module);

}  // namespace sim::ptx
