// The body of a function: scopes, labels, instructions.
#pragma once

#include "ptx/tokens.h"

namespace sim::ptx {

/// Parses `{ ... }` into `function`, whose parameters are known. Throws SyntaxError.
void parse_body(TokenStream& tokens, Module& module, Function& function);

}  // namespace sim::ptx
