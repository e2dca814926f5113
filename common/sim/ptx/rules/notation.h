// A parsed row of the tables; signature.h describes the notation.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/rules/signature.h"
#include "ptx/rules/types.h"

namespace sim::ptx {

struct ModifierGroup {
  std::vector<std::string> names;  ///< one of them
  bool is_type = false;
  bool repeats = false;  ///< the same type as before
  int bracket = -1;      ///< required, or the bracket whose groups occur all or not at all
};

/// The number of a vector's elements: numerator * variable / denominator, or a plain number.
struct Count {
  char variable = 0;  ///< 'v', 'x', 'd', 'n'; 'p': pack; 0: none
  int factor = 1, divisor = 1, offset = 0;
};

constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::min();

struct CountRange {
  enum class Kind : uint8_t { None, Between, PowersOfTwo, List };
  Kind kind = Kind::None;
  int64_t low = 0, high = 0, multiple = 1;
  std::vector<int64_t> values;
};

struct OperandPattern {
  enum class Kind : uint8_t { Value, Vector, Pair, Address, Label, Targets, Function, Sink };
  Kind kind = Kind::Value;
  // Value, and the elements of a vector
  const OperandType* type = nullptr;  ///< or, if null:
  int type_index = 0;                 ///< 1, 2, ...: the instruction's n-th type
  bool doubled = false, is_result = false, may_discard = false, register_only = false, literal_only = false,
       relaxed = false, may_negate = false, like_mov = false, symbol = false, by_vector = false, may_select = false,
       may_minus = false;
  CountRange range;
  Count count;                          ///< Vector
  std::string space;                    ///< Address: empty: the instruction's space
  std::vector<OperandPattern> more;     ///< Pair: both; Address: what follows the base
  std::vector<OperandPattern> other;    ///< alternatives
  bool second_optional = false;         ///< Pair
  std::string name;                     ///< for messages
  bool optional = false;                ///< together with all that follow
  std::vector<std::string> conditions;  ///< present exactly if one of these modifiers is
};

struct Needs {
  int version = 0;
  std::vector<Target> targets;  ///< one of them; empty: any
};
Needs parse_needs(std::string_view text);
bool runs_on(const Target& target, const std::vector<Target>& wanted);
std::string describe(const std::vector<Target>& wanted);  ///< "sm_90 and newer ones or sm_100a"
std::string describe(const Target& target);               ///< "sm_100a"

struct Signature {
  const Row* row = nullptr;
  std::vector<ModifierGroup> groups;
  std::vector<OperandPattern> operands;
  int brackets = 0;
  Needs needs;
};

/// Parses a row. Throws std::logic_error if it does not follow the notation: a mistake in a table.
Signature parse_signature(const Row& row);

}  // namespace sim::ptx
