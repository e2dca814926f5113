#include "ptx/rules/signature.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "ptx/rules/notation.h"
#include "ptx/special.h"

namespace sim::ptx {
namespace {

using OK = Operand::Kind;
using PK = OperandPattern::Kind;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string join(const std::vector<std::string>& names, const char* prefix = ".") {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 12; ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += prefix + names[i];
  }
  return names.size() > 12 ? text + ", ..." : text;
}

// ---- the tables, read when an opcode is first met

class Catalogue {
 public:
  static Catalogue& instance() {
    static Catalogue catalogue;
    return catalogue;
  }

  /// The signatures of the instruction's opcode, of which `*parts` are its own modifiers; nullptr: it is unknown.
  const std::vector<Signature>* find(const Instruction& instruction, size_t* parts) {
    const std::lock_guard lock(mutex_);
    std::string opcode = instruction.opcode;
    const Entry* best = entry(opcode);
    *parts = 0;
    for (size_t i = 0; i < instruction.modifiers.size() && i < std::min<size_t>(instruction.glued, 4); ++i) {
      opcode += "." + instruction.modifiers[i];
      if (const Entry* const longer = entry(opcode)) {
        best = longer;
        *parts = i + 1;
      }
    }
    return best == nullptr ? nullptr : &best->signatures;
  }

 private:
  struct Entry {
    std::vector<const Row*> rows;
    std::vector<Signature> signatures;
  };

  Catalogue() {
    for (const std::span<const Row> table :
         {arithmetic_rows(), conversion_rows(), memory_rows(), control_rows(), copy_rows(), matrix_rows(),
          tcgen05_rows(), video_rows(), texture_rows()}) {
      for (const Row& row : table) entries_[row.opcode].rows.push_back(&row);
    }
  }

  const Entry* entry(std::string_view opcode) {
    const auto found = entries_.find(opcode);
    if (found == entries_.end()) return nullptr;
    Entry& entry = found->second;
    if (entry.signatures.empty()) {
      for (const Row* const row : entry.rows) entry.signatures.push_back(parse_signature(*row));
    }
    return &entry;
  }

  std::mutex mutex_;
  std::unordered_map<std::string_view, Entry> entries_;
};

// ---- modifiers

/// An instruction's modifiers, matched against a signature.
struct Form {
  const Signature* signature = nullptr;
  std::vector<const OperandType*> types;
  int vector = 1;   ///< of .v2, .v4, .v8
  int repeat = 1;   ///< of .x16
  int rank = 1;     ///< of .3d
  int columns = 0;  ///< of .m64n128k16
  std::string space;

  int count(const Count& count) const {
    const int variable = count.variable == 'v'   ? vector
                         : count.variable == 'x' ? repeat
                         : count.variable == 'd' ? rank
                         : count.variable == 'n' ? columns
                                                 : 1;
    return count.factor * variable / count.divisor + count.offset;
  }
};

bool is_space(std::string_view modifier) {
  for (const std::string_view space : {"global", "local", "const", "shared", "shared::cta", "shared::cluster", "param",
                                       "param::entry", "param::func"}) {
    if (modifier == space) return true;
  }
  return false;
}

/// Modifiers that ptxas accepts twice.
bool may_repeat(std::string_view modifier) {
  constexpr std::string_view known[] = {"NaN", "approx",    "cc",       "po",   "relu",
                                        "sat", "satfinite", "shiftamt", "sync", "uni"};
  return std::find(std::begin(known), std::end(known), modifier) != std::end(known);
}

void note_modifier(Form& form, std::string_view modifier) {
  const auto digits = [&](size_t at) {
    int value = 0;
    while (at < modifier.size() && modifier[at] >= '0' && modifier[at] <= '9')
      value = 10 * value + (modifier[at++] - '0');
    return value;
  };
  const auto is_digit = [&](size_t at) { return at < modifier.size() && modifier[at] >= '0' && modifier[at] <= '9'; };
  if (modifier.size() == 2 && modifier[0] == 'v' && is_digit(1)) form.vector = digits(1);
  if (modifier[0] == 'x' && is_digit(1)) form.repeat = digits(1);
  if (modifier.size() == 2 && modifier[1] == 'd' && is_digit(0)) form.rank = digits(0);
  if (modifier.starts_with("m64n")) form.columns = digits(4);
  if (is_space(modifier)) form.space = modifier;
}

/// State spaces, layouts and the operation of a product of bits: several of them have a fixed order.
int order_of(const ModifierGroup& group) {
  const std::string& name = group.names.front();
  if (is_space(name)) return 1;
  if (name == "row" || name == "col") return 2;
  return name == "and" || name == "xor" || name == "popc" ? 3 : 0;
}
/// Whether a modifier is taken that must follow this one.
bool is_behind(const std::vector<ModifierGroup>& groups, const std::vector<std::string_view>& taken, size_t group) {
  const int order = order_of(groups[group]);
  for (size_t g = group + 1; order != 0 && g < groups.size(); ++g) {
    if (!taken[g].empty() && order_of(groups[g]) == order) return true;
  }
  return false;
}

struct Misfit {
  int score = -1;  ///< how much matched
  std::string message;
};

/// Matches the modifiers from `first` on against the signature.
std::optional<Misfit> match(const Instruction& instruction, size_t first, const Signature& signature, Form& form) {
  form = Form{};
  form.signature = &signature;
  const std::vector<ModifierGroup>& groups = signature.groups;
  std::vector<std::string_view> taken(groups.size());
  std::vector<size_t> types;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].is_type) types.push_back(i);
  }
  int score = 0;
  for (size_t i = first; i < instruction.modifiers.size(); ++i) {
    const std::string& modifier = instruction.modifiers[i];
    const OperandType* const type = find_operand_type(modifier);
    bool found = false;
    for (size_t g = 0; g < groups.size() && !found; ++g) {
      if (!taken[g].empty() || groups[g].is_type != (type != nullptr)) continue;
      if (type != nullptr && (form.types.size() >= types.size() || types[form.types.size()] != g)) continue;
      if (groups[g].repeats && type != form.types.back()) continue;
      if (is_behind(groups, taken, g)) continue;
      if (std::find(groups[g].names.begin(), groups[g].names.end(), modifier) == groups[g].names.end()) continue;
      taken[g] = modifier;
      found = true;
    }
    if (!found && type == nullptr && may_repeat(modifier))
      found = std::find(taken.begin(), taken.end(), modifier) != taken.end();
    if (!found) {
      if (type != nullptr && form.types.size() < types.size()) {
        return Misfit{score, "the type " + join(groups[types[form.types.size()]].names) + " is required where ." +
                                 modifier + " stands"};
      }
      return Misfit{score, "the modifier ." + modifier + " does not belong there"};
    }
    if (type != nullptr) form.types.push_back(type);
    note_modifier(form, modifier);
    ++score;
  }
  std::vector<int> missing(static_cast<size_t>(signature.brackets), 0),
      present(static_cast<size_t>(signature.brackets), 0);
  const ModifierGroup* lacking = nullptr;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].bracket >= 0) {
      (taken[g].empty() ? missing : present)[static_cast<size_t>(groups[g].bracket)] = 1;
    } else if (taken[g].empty() && lacking == nullptr) {
      lacking = &groups[g];
    }
  }
  for (size_t g = 0; g < groups.size() && lacking == nullptr; ++g) {
    const auto bracket = static_cast<size_t>(std::max(groups[g].bracket, 0));
    if (groups[g].bracket >= 0 && taken[g].empty() && missing[bracket] && present[bracket]) lacking = &groups[g];
  }
  if (lacking != nullptr)
    return Misfit{score,
                  std::string(lacking->is_type ? "the type " : "the modifier ") + join(lacking->names) + " is missing"};
  return std::nullopt;
}

// ---- operands

class OperandMatch {
 public:
  OperandMatch(const Module& module, const Function& function, const Instruction& instruction, const Form& form)
      : module_(module), function_(function), instruction_(instruction), form_(form) {}

  /// nullopt if all operands match; otherwise the requirement, with the number that matched as the score.
  std::optional<Misfit> run() const {
    const std::vector<OperandPattern>& patterns = form_.signature->operands;
    const std::vector<Operand>& operands = instruction_.operands;
    std::vector<const OperandPattern*> wanted;
    size_t needed = 0;
    for (const OperandPattern& pattern : patterns) {
      if (!pattern.conditions.empty() && !has_one_of(pattern.conditions)) continue;
      wanted.push_back(&pattern);
      if (!pattern.optional && needed + 1 == wanted.size()) needed = wanted.size();
    }
    if (operands.size() < needed || operands.size() > wanted.size()) {
      std::string number = std::to_string(needed);
      if (needed < wanted.size()) number += " to " + std::to_string(wanted.size());
      return Misfit{0, number + (wanted.size() == 1 ? " operand is" : " operands are") + " required" + names(wanted) +
                           ", not " + std::to_string(operands.size())};
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      std::optional<std::string> wrong = match(*wanted[i], operands[i]);
      for (const OperandPattern& other : wanted[i]->other) {
        if (wrong && !match(other, operands[i])) wrong.reset();
      }
      if (wrong)
        return Misfit{static_cast<int>(i) + 1, "operand " + std::to_string(i + 1) +
                                                   (wanted[i]->name.empty() ? "" : " (" + wanted[i]->name + ")") +
                                                   " must be " + *wrong};
    }
    return std::nullopt;
  }

 private:
  using Result = std::optional<std::string>;

  /// " (D, A, B, enable-input-d)", if they have names.
  static std::string names(const std::vector<const OperandPattern*>& patterns) {
    std::string list;
    for (const OperandPattern* const pattern : patterns) {
      if (pattern->name.empty()) return "";
      list += (list.empty() ? "" : ", ") + pattern->name;
    }
    return list.empty() ? "" : " (" + list + ")";
  }

  bool has_one_of(const std::vector<std::string>& modifiers) const {
    return std::any_of(modifiers.begin(), modifiers.end(),
                       [&](const std::string& each) { return instruction_.has(each); });
  }

  const OperandType& type_of(const OperandPattern& pattern) const {
    const OperandType* type = pattern.type;
    if (type == nullptr) type = form_.types.at(static_cast<size_t>(pattern.type_index - 1));
    if (!pattern.doubled) return *type;
    const std::string wide = std::string(1, type->name[0]) + std::to_string(2 * type->bits);
    return *find_operand_type(wide);
  }

  std::string but(const std::string& wanted, const Operand& operand) const {
    return wanted + ", but here is " + what_is(operand);
  }

  std::string what_is(const Operand& operand) const {
    switch (operand.kind) {
      case OK::None: return "nothing";
      case OK::Register: {
        const Register& reg = function_.registers[operand.reg];
        std::string text = std::string(operand.negated ? "!" : "") + (operand.minus ? "-" : "") + reg.name;
        if (operand.has_offset) text += "+" + std::to_string(operand.value);
        if (!operand.text.empty()) text += "." + operand.text;
        return text + ", a ." + std::string(name_of(reg.type)) + " register";
      }
      case OK::Immediate: return operand.is_float_literal ? "a floating-point number" : "an integer";
      case OK::Variable: return "the address of the variable " + quoted(operand.variable->name);
      case OK::Label: return "the label " + quoted(operand.text);
      case OK::Function: return quoted(operand.text) + ", which is not declared as that";
      case OK::Special: return "the special register %" + operand.text;
      case OK::Address: return "an address in brackets";
      case OK::Vector: return operand.is_list ? "a list" : "a vector of " + std::to_string(operand.elements.size());
      case OK::Pair: return "a pair";
      case OK::Sink: return "'_'";
    }
    return "";
  }

  Result match(const OperandPattern& pattern, const Operand& operand) const {
    switch (pattern.kind) {
      case PK::Value:
        if (pattern.by_vector && form_.vector > 1) return vector(pattern, operand, form_.vector);
        return value(pattern, operand);
      case PK::Vector:
        return pattern.count.variable == 'p' ? pack(pattern, operand)
                                             : vector(pattern, operand, form_.count(pattern.count));
      case PK::Pair: return pair(pattern, operand);
      case PK::Address: return address(pattern, operand);
      case PK::Sink:
        if (operand.kind == OK::Sink) return std::nullopt;
        return but("'_'", operand);
      case PK::Label:
        if (operand.kind != OK::Label) return but("a label of this function", operand);
        return std::nullopt;
      case PK::Targets:
        for (const BranchTargets& table : function_.branch_targets) {
          if (operand.kind == OK::Function && table.name == operand.text) return std::nullopt;
        }
        return but("a table of labels (.branchtargets)", operand);
      case PK::Function:
        if (operand.kind != OK::Function) return but("a function", operand);
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::string wanted(const OperandPattern& pattern) const {
    const OperandType& type = type_of(pattern);
    std::string text = pattern.literal_only ? "" : describe(type, pattern.relaxed);
    if (!pattern.is_result && !pattern.register_only) {
      const bool real = type.kind == OperandType::Class::Float;
      if (real ? type.bits >= 32 : type.kind != OperandType::Class::Raw && type.name != "f16x2")
        text += std::string(text.empty() ? "" : " or ") + (real ? "a floating-point number" : "an integer");
    }
    return text;
  }

  Result value(const OperandPattern& pattern, const Operand& operand) const {
    const OperandType& type = type_of(pattern);
    if (operand.kind == OK::Sink && pattern.may_discard) return std::nullopt;
    const bool negated_well = !operand.negated || (pattern.may_negate && type.kind == OperandType::Class::Predicate);
    switch (operand.kind) {
      case OK::Register:
        if (pattern.literal_only || (operand.minus && !pattern.may_minus) || operand.has_offset ||
            !selects_well(pattern, operand) || !negated_well ||
            !fits(type, function_.registers[operand.reg].type, pattern.relaxed))
          break;
        return std::nullopt;
      case OK::Immediate:
        if (pattern.is_result || pattern.register_only || !fits_literal(type, operand)) break;
        return in_range(pattern.range, operand.value);
      case OK::Special: return special(pattern, type, operand);
      case OK::Variable:
        if (pattern.symbol) {  // of the space that the instruction names
          const std::string_view space = form_.space.empty() ? "shared" : std::string_view(form_.space);
          if (!is_in(pattern, space, operand.variable->space)) break;
          return std::nullopt;
        }
        if (!pattern.like_mov || type.kind == OperandType::Class::Float) break;
        return std::nullopt;
      case OK::Function:
        if (!pattern.like_mov || module_.find(operand.text) == nullptr) break;
        return std::nullopt;
      default: break;
    }
    return but(wanted(pattern), operand);
  }

  // Bytes and halves of a register: `.b0`, `.h1`; of two values `.h10`, of four `.b3210`.
  bool selects_well(const OperandPattern& pattern, const Operand& operand) const {
    const std::string& selector = operand.text;
    if (selector.empty()) return true;
    if (!pattern.may_select) return false;
    const char lanes = instruction_.opcode.back();
    const size_t most = lanes == '4' ? 4 : lanes == '2' ? 2 : 1, digits = selector.size() - 1;
    const char unit = lanes == '4' ? 'b' : lanes == '2' ? 'h' : selector[0];
    const int values = lanes == '4' ? 8 : lanes == '2' ? 4 : unit == 'b' ? 4 : 2;
    if (selector[0] != unit || (unit != 'b' && unit != 'h') || digits < 1 || digits > most) return false;
    if (!pattern.is_result && digits != most) return false;
    for (size_t i = 1; i < selector.size(); ++i) {
      const int digit = selector[i] - '0';
      if (digit < 0 || digit >= values) return false;
      // A result's mask names lanes, from the highest on.
      if (pattern.is_result && most > 1 &&
          (digit >= static_cast<int>(most) || (i > 1 && selector[i] >= selector[i - 1])))
        return false;
    }
    return true;
  }

  Result special(const OperandPattern& pattern, const OperandType& type, const Operand& operand) const {
    const size_t dot = operand.text.find('.');
    const SpecialRegisterType* const found = find_special(operand.text.substr(0, dot));
    const bool is_whole_vector = found != nullptr && found->is_vector && dot == std::string::npos;
    if (!pattern.like_mov || found == nullptr || is_whole_vector || operand.negated || operand.minus ||
        type.kind == OperandType::Class::Float)
      return but(wanted(pattern), operand);
    // Special registers that once had 16 bits may still be read as such.
    const std::string_view name = found->name;
    const bool was_short = name == "tid" || name == "ntid" || name == "ctaid" || name == "nctaid";
    const bool was_word = name == "gridid";
    if (fits(type, found->type, false) || (was_short && type.bits == 16) || (was_word && type.bits == 32))
      return std::nullopt;
    return but(wanted(pattern), operand);
  }

  static Result in_range(const CountRange& range, int64_t value) {
    const std::string here = ", not " + std::to_string(value);
    switch (range.kind) {
      case CountRange::Kind::None: return std::nullopt;
      case CountRange::Kind::Between:
        if (value >= range.low && value <= range.high && value % range.multiple == 0) return std::nullopt;
        if (range.low == range.high) return std::to_string(range.low) + here;
        if (range.low == kAnyNumber) return "a multiple of " + std::to_string(range.multiple) + here;
        return "a number from " + std::to_string(range.low) + " to " + std::to_string(range.high) +
               (range.multiple > 1 ? " that is a multiple of " + std::to_string(range.multiple) : "") + here;
      case CountRange::Kind::PowersOfTwo:
        if (value >= range.low && value <= range.high && std::has_single_bit(static_cast<uint64_t>(value)))
          return std::nullopt;
        return "a power of two from " + std::to_string(range.low) + " to " + std::to_string(range.high) + here;
      case CountRange::Kind::List: {
        if (std::find(range.values.begin(), range.values.end(), value) != range.values.end()) return std::nullopt;
        std::vector<std::string> names;
        for (const int64_t each : range.values) names.push_back(std::to_string(each));
        return join(names, "") + here;
      }
    }
    return std::nullopt;
  }

  Result vector(const OperandPattern& pattern, const Operand& operand, int count) const {
    const std::string size = "a vector of " + std::to_string(count) + " in braces";
    if (operand.kind != OK::Vector || operand.is_list || static_cast<int>(operand.elements.size()) != count)
      return but(size, operand);
    const bool may_discard = pattern.is_result && !pattern.register_only;
    const bool literals_alone =
        pattern.by_vector || (pattern.type != nullptr && pattern.type->kind == OperandType::Class::Integer);
    bool has_register = false, has_literal = false;
    for (const Operand& element : operand.elements) {
      if (element.kind == OK::Sink && may_discard) continue;
      // The first element shows whether the type fits; the others have to be like it.
      const bool first = !has_register && !has_literal;
      has_register |= element.kind == OK::Register;
      has_literal |= element.kind == OK::Immediate;
      const bool plain =
          element.kind == OK::Immediate || (element.kind == OK::Register && !element.negated && !element.minus &&
                                            !element.has_offset && element.text.empty());
      if (first || !plain || (element.kind == OK::Immediate && (pattern.register_only || pattern.is_result))) {
        if (std::optional<std::string> wrong = value(pattern, element)) return size + ", each element " + *wrong;
      }
    }
    if (!has_register && !(has_literal && literals_alone)) return size + ", with a register among its elements";
    return alike(operand, size);
  }

  // Elements of a vector have one size, and are not integers here and floating point there.
  Result alike(const Operand& vector, const std::string& size) const {
    int width = 0;
    bool integers = false, reals = false;
    for (const Operand& element : vector.elements) {
      if (element.kind == OK::Immediate)
        (element.is_float_literal && element.literal_bits == 64 ? reals : integers) |= !is_pattern(element);
      if (element.kind != OK::Register) continue;
      const Type type = function_.registers[element.reg].type;
      if (type == Type::Pred || (width != 0 && bits(type) != width))
        return but(size + ", all elements of one size", element);
      width = bits(type);
      reals |= is_float(type) && type != Type::F16x2;
      integers |= name_of(type)[0] == 'u' || name_of(type)[0] == 's' || type == Type::F16x2;
    }
    if (integers && reals) return size + ", not integers here and floating point there";
    return std::nullopt;
  }
  static bool is_pattern(const Operand& literal) { return literal.is_float_literal && literal.literal_bits == 32; }

  // Two or four elements that together are as wide as the type says.
  Result pack(const OperandPattern& pattern, const Operand& operand) const {
    const int width = form_.types.at(0)->bits;
    const std::string size = "a vector of registers with " + std::to_string(width) + " bits together";
    if (operand.kind != OK::Vector || operand.is_list) return but(size, operand);
    const auto count = static_cast<int>(operand.elements.size());
    if (count != 2 && count != 4) return but(size + " (2 or 4)", operand);
    bool only_sinks = true;
    for (const Operand& element : operand.elements) {
      if (element.kind == OK::Sink && pattern.is_result) continue;
      only_sinks = false;
      const bool is_literal = element.kind == OK::Immediate && !pattern.is_result;
      const bool is_register = element.kind == OK::Register && !element.minus && !element.negated &&
                               element.text.empty() && !element.has_offset &&
                               bits(function_.registers[element.reg].type) * count == width;
      if (!is_literal && !is_register) return but(size, element);
    }
    if (only_sinks) return size + ", of which at least one is no '_'";
    return alike(operand, size);
  }

  Result pair(const OperandPattern& pattern, const Operand& operand) const {
    if (operand.kind != OK::Pair) {
      if (pattern.second_optional) return value(pattern.more[0], operand);
      return but("a pair such as %r1|%p1", operand);
    }
    if (std::optional<std::string> wrong = value(pattern.more[0], operand.elements[0])) return wrong;
    return value(pattern.more[1], operand.elements[1]);
  }

  Result address(const OperandPattern& pattern, const Operand& operand) const {
    const bool indexed = operand.kind == OK::Variable && operand.is_indexed &&
                         (instruction_.opcode == "ld" || instruction_.opcode == "st");  // `x[2]`
    if (operand.kind != OK::Address && !indexed) return but("an address in brackets", operand);
    const Operand& base = indexed ? operand : operand.elements[0];
    if (std::optional<std::string> wrong = address_base(pattern, base)) return wrong;
    const size_t more = indexed ? 0 : operand.elements.size() - 1;
    if (more != pattern.more.size())
      return "an address with " + std::to_string(pattern.more.size() + 1) + " parts in its brackets, not " +
             std::to_string(more + 1);
    for (size_t i = 0; i < more; ++i) {
      if (std::optional<std::string> wrong = match(pattern.more[i], operand.elements[i + 1]))
        return "an address whose part " + std::to_string(i + 2) + " is " + *wrong;
    }
    return std::nullopt;
  }

  // ptxas asks for 64 bits in one instruction and overlooks 32 in another; the patterns say which.
  bool width_fits(const OperandPattern& pattern, std::string_view space, int width) const {
    if (space == "tmem") return width == 32;
    if (space == "texture") return width == 64;
    if (pattern.relaxed) return width <= 64;
    if (pattern.space == "any") return width == 32 || width == 64;
    if (pattern.space == "wide") return width == 64;
    const bool global = space.empty() || space == "global" || space == "generic";
    return width <= 64 && !(global && width == 32);
  }

  Result address_base(const OperandPattern& pattern, const Operand& base) const {
    // The space that the instruction names, unless the pattern itself names one.
    const bool by_instruction = pattern.space.empty() || pattern.space == "any" || pattern.space == "wide" ||
                                pattern.space == "atomic" || pattern.space == "barrier";
    const std::string_view space = by_instruction ? std::string_view(form_.space) : std::string_view(pattern.space);
    switch (base.kind) {
      case OK::Register: {
        const Type type = function_.registers[base.reg].type;
        if (type == Type::Pred || is_float(type)) break;
        if (width_fits(pattern, space, bits(type))) return std::nullopt;
        return but("an address of " + std::string(space == "tmem" ? "tensor memory, of 32 bits" : "64 bits"), base);
      }
      case OK::Variable: {
        const Space has = base.variable->space;
        if (space == "texture" && base.variable->type == Type::None) return std::nullopt;
        if (is_in(pattern, space, has)) return std::nullopt;
        return "an address in ." + std::string(space.empty() ? "global" : space) + " space, and the variable " +
               quoted(base.variable->name) + " is in " + std::string(name_of(has));
      }
      case OK::Immediate:
        if (space == "local") return std::nullopt;
        return "an address in a register or of a variable; a number is an address in .local space alone";
      default: break;
    }
    return but("an address in a register of integers or bits, or of a variable", base);
  }

  static bool is_in(const OperandPattern& pattern, std::string_view space, Space has) {
    if (space == "tmem") return false;
    if (space.starts_with("shared")) return has == Space::Shared;
    if (space.starts_with("param")) return has == Space::Param;
    if (!space.empty() && space != "generic") return name_of(has).substr(1) == space;
    if (pattern.space == "wide") return has == Space::Global;
    if (pattern.space == "barrier") return has == Space::Shared;
    return has == Space::Global || has == Space::Shared || (has == Space::Local && pattern.space != "atomic");
  }

  const Module& module_;
  const Function& function_;
  const Instruction& instruction_;
  const Form& form_;
};

// ---- what a target has

struct ModifierNeeds {
  std::string_view modifier;
  std::string_view needs;
};
constexpr ModifierNeeds kModifierNeeds[] = {
    {"shared::cluster", "7.8 sm_90"}, {"shared::cta", "7.8"},           {"L2::cache_hint", "7.4 sm_80"},
    {"cluster", "7.8 sm_90"},         {"L1::evict_first", "7.4 sm_70"}, {"L1::no_allocate", "7.4 sm_70"},
};

std::optional<std::string> check_needs(const Needs& needs, const Target& target, const std::string& what) {
  if (needs.version > target.version)
    return what + " is part of PTX " + std::to_string(needs.version / 10) + "." + std::to_string(needs.version % 10) +
           ", and .version says " + std::to_string(target.version / 10) + "." + std::to_string(target.version % 10);
  if (!runs_on(target, needs.targets))
    return what + " runs on " + describe(needs.targets) + ", and .target says " + describe(target);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_signature(const Module& module, const Function& function,
                                           const Instruction& instruction, const Target& target) {
  size_t parts = 0;
  const std::vector<Signature>* const signatures = Catalogue::instance().find(instruction, &parts);
  if (signatures == nullptr) return "there is no instruction " + quoted(instruction.form());

  Misfit modifiers, operands, needs;
  for (const Signature& signature : *signatures) {
    Form form;
    if (std::optional<Misfit> misfit = match(instruction, parts, signature, form)) {
      if (misfit->score > modifiers.score) modifiers = *misfit;
      continue;
    }
    if (std::optional<Misfit> misfit = OperandMatch(module, function, instruction, form).run()) {
      if (misfit->score > operands.score) operands = *misfit;
      continue;
    }
    std::optional<std::string> lacks = check_needs(signature.needs, target, quoted(instruction.form()));
    for (const ModifierNeeds& each : kModifierNeeds) {
      if (!lacks && instruction.has(each.modifier))
        lacks = check_needs(parse_needs(each.needs), target, "the modifier ." + std::string(each.modifier));
    }
    if (!lacks) return std::nullopt;
    needs = {0, *lacks};
  }
  if (needs.score >= 0) return needs.message;
  const Misfit& nearest = operands.score >= 0 ? operands : modifiers;
  return quoted(instruction.form()) + ": " + nearest.message;
}

}  // namespace sim::ptx
