// Declarations of variables, in modules, functions and lists of parameters.
#pragma once

#include <optional>
#include <vector>

#include "ptx/tokens.h"

namespace sim::ptx {

/// The space that a directive opens a declaration with (".shared"), if it does.
std::optional<Space> space_of(std::string_view directive);

/// Parses what follows the space of a declaration: `[.align N] [.v2|.v4] .type name[dims] [= value], ... ;`. The module
/// owns the variables. `scope`: of a function's body, nullptr at module scope.
std::vector<Variable*> parse_variables(TokenStream& tokens, Module& module, Space space, Linkage linkage,
                                       const Function* scope);

/// `( .param .b32 a, ... )`, laid out one behind the other.
enum class ParameterOf { Entry, Function, Prototype };
std::vector<Variable*> parse_parameters(TokenStream& tokens, Module& module, ParameterOf what);

/// The type that stands here, as a variable or register may have it.
Type parse_type(TokenStream& tokens);

/// `.align N`, if it stands here: N, else 0.
uint32_t parse_alignment(TokenStream& tokens);

/// A name, and how many of it are declared (`%r<5>`); nullopt: just one.
struct Declared {
  std::string_view name;
  std::optional<uint64_t> count;
  uint32_t line;
};
Declared parse_declared_name(TokenStream& tokens);

/// Skips `.pragma "...", "...";`, whose directive has been taken.
void skip_pragma(TokenStream& tokens);

}  // namespace sim::ptx
