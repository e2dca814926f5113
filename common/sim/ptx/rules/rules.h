// Validates the instructions of a parsed module as ptxas does. The parser has checked grammar, declarations and names;
// these rules check opcodes, modifiers, operands, calls, and properties of whole functions.
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

/// The errors in one function, in the order of the text.
std::vector<RuleViolation> check(const Module& module, const Function& function);

/// The errors in the whole module: in its functions and in the relations between them.
std::vector<RuleViolation> check(const Module& module);

}  // namespace sim::ptx
