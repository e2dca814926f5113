// Declarations of variables, in modules, functions and lists of parameters.
#pragma once

#include <optional>
#include <vector>

#include "ptx/tokens.h"

namespace sim::ptx {

/// The space of a directive that begins a declaration (".shared"); nothing for other directives.
std::optional<Space> space_of(std::string_view directive);

/// Parses the rest of a declaration after its space: `[.align N] [.v2|.v4] .type name[dims] [= value], ... ;`. The
/// module owns the variables. `scope`: of a function's body, nullptr at module scope.
std::vector<Variable*> parse_variables(TokenStream& tokens, Module& module, Space space, Linkage linkage,
                                       const Function* scope);

/// `( .param .b32 a, ... )`, laid out consecutively.
enum class ParameterOf { Entry, Function, Prototype };
std::vector<Variable*> parse_parameters(TokenStream& tokens, Module& module, ParameterOf what);

/// Parses the type of a variable or register.
Type parse_type(TokenStream& tokens);

/// Parses an optional `.align N`; returns N, or 0.
uint32_t parse_alignment(TokenStream& tokens);

/// A name, and the number of registers that it declares (`%r<5>`); nullopt: a single name.
struct Declared {
  std::string_view name;
  std::optional<uint64_t> count;
  uint32_t line;
};
Declared parse_declared_name(TokenStream& tokens);

/// Skips `.pragma "...", "...";`, whose directive has been taken.
void skip_pragma(TokenStream& tokens);

}  // namespace sim::ptx
