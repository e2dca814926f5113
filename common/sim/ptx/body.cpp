#include "ptx/body.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "ptx/declarations.h"
#include "ptx/special.h"

namespace sim::ptx {
namespace {

constexpr uint64_t kMostRegisters = uint64_t{1} << 24;  // of one declaration `%r<N>`: far more than compilers emit
constexpr size_t kMostScopes = 1'000'000;

/// The object that a name denotes in one scope.
struct Symbol {
  enum class Kind : uint8_t { Register, Variable, Label, Targets, Prototype };
  Kind kind;
  uint8_t vector = 1;  ///< elements of a vector register: numbers `index` and on
  uint32_t index = 0;  ///< register, or instruction of a label
  Variable* variable = nullptr;
  uint32_t line = 0;
};

/// `.reg .b32 %r<5>`: registers are created on first use, so that a text can declare any number.
struct IndexRange {
  uint64_t count;
  Type type;
  uint8_t vector;
  std::unordered_map<uint64_t, uint32_t> made;
};

// Lexical scopes: names are looked up from the inside out. Inline assembly opens scopes of its own, with registers and
// labels that shadow those outside.
struct LexicalScope {
  int parent = -1;
  std::unordered_map<std::string_view, Symbol> symbols;
  std::unordered_map<std::string_view, IndexRange> ranges;  ///< by the name without its number
};

/// "%r12" is number 12 of "%r".
std::optional<std::pair<std::string_view, uint64_t>> split_number(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), number);
  if (digits == name.size() || digits == 0 || error != std::errc()) return std::nullopt;
  return std::make_pair(name.substr(0, digits), number);
}

int component(std::string_view selector) {
  constexpr std::string_view position = ".x.y.z.w", colour = ".r.g.b.a";
  for (const std::string_view names : {position, colour}) {
    if (selector.size() == 2 && names.find(selector) % 2 == 0) return static_cast<int>(names.find(selector) / 2);
  }
  return -1;
}

class Body {
 public:
  Body(TokenStream& tokens, Module& module, Function& function)
      : tokens_(tokens), module_(module), function_(function) {
    open_scope();
    for (const auto* list : {&function.results, &function.parameters}) {
      for (Variable* parameter : *list)
        define(parameter->name, {Symbol::Kind::Variable, 1, 0, parameter, parameter->line});
    }
  }

  void run() {
    tokens_.expect("{", "before the body of a function");
    for (int depth = 1; depth > 0;) {
      if (tokens_.at_end()) tokens_.fail("the body of '" + function_.name + "' is never closed by '}'");
      if (tokens_.accept("{")) {
        ++depth;
        open_scope();
      } else if (tokens_.accept("}")) {
        --depth;
        scope_ = scopes_[static_cast<size_t>(scope_)].parent;
      } else {
        statement();
      }
    }
    resolve_labels();
  }

 private:
  using Kind = Token::Kind;
  using OK = Operand::Kind;

  // ---- scopes and names
  LexicalScope& scope() { return scopes_[static_cast<size_t>(scope_)]; }

  void open_scope() {
    if (scopes_.size() == kMostScopes) tokens_.fail("a function with more than a million '{' is not supported");
    scopes_.push_back({scope_, {}, {}});
    scope_ = static_cast<int>(scopes_.size()) - 1;
  }

  void define(std::string_view name, Symbol symbol) {
    if (symbol.line == 0) symbol.line = tokens_.line();
    bool taken = !scope().symbols.try_emplace(name, symbol).second;
    if (const auto number = split_number(name)) {
      const auto range = scope().ranges.find(number->first);
      taken |= range != scope().ranges.end() && number->second < range->second.count;
    }
    if (taken) tokens_.fail("'" + std::string(name) + "' is declared already in this scope");
  }

  Symbol* find(std::string_view name) {
    const auto number = split_number(name);
    for (int at = scope_; at >= 0; at = scopes_[static_cast<size_t>(at)].parent) {
      LexicalScope& here = scopes_[static_cast<size_t>(at)];
      if (const auto found = here.symbols.find(name); found != here.symbols.end()) return &found->second;
      if (!number) continue;
      const auto range = here.ranges.find(number->first);
      if (range == here.ranges.end() || number->second >= range->second.count) continue;
      const auto [made, is_new] = range->second.made.try_emplace(number->second, 0);
      if (is_new) made->second = add_register(name, range->second.type, range->second.vector);
      Symbol symbol{Symbol::Kind::Register, range->second.vector, made->second, nullptr, tokens_.line()};
      return &here.symbols.emplace(name, symbol).first->second;
    }
    return nullptr;
  }

  Variable* find_global(std::string_view name) const {
    const auto found = module_.globals.find(std::string(name));
    return found == module_.globals.end() ? nullptr : found->second;
  }

  uint32_t add_register(std::string_view name, Type type, uint32_t vector) {
    const auto first = static_cast<uint32_t>(function_.registers.size());
    if (vector == 1) function_.registers.push_back({std::string(name), type});
    constexpr std::string_view components = "xyzw";
    for (uint32_t i = 0; vector > 1 && i < vector; ++i)
      function_.registers.push_back({std::string(name) + "." + components[i], type});
    return first;
  }

  // ---- statements
  void statement() {
    if (tokens_.is(Kind::Word) && tokens_.is(":", 1)) {
      label();
    } else if (tokens_.is(Kind::Dotted)) {
      directive();
    } else {
      instruction();
    }
  }

  void label() {
    const uint32_t line = tokens_.line();
    const std::string_view name = tokens_.name("a label");
    tokens_.take();
    if (tokens_.accept_dotted(".branchtargets")) {
      define(name, {Symbol::Kind::Targets, 1, 0, nullptr, line});
      branch_targets(name);
    } else if (tokens_.accept_dotted(".callprototype")) {
      define(name, {Symbol::Kind::Prototype, 1, 0, nullptr, line});
      call_prototype(name);
    } else if (tokens_.accept_dotted(".calltargets")) {
      define(name, {Symbol::Kind::Prototype, 1, 0, nullptr, line});
      call_targets(name);
    } else {
      const auto here = static_cast<uint32_t>(function_.instructions.size());
      define(name, {Symbol::Kind::Label, 1, here, nullptr, line});
    }
  }

  void directive() {
    const std::string_view text = tokens_.take().text;
    if (text == ".reg") {
      registers();
    } else if (text == ".loc") {
      location();
    } else if (text == ".pragma") {
      skip_pragma(tokens_);
    } else if (const auto space = space_of(text)) {
      for (Variable* variable : parse_variables(tokens_, module_, *space, Linkage::None, &function_)) {
        function_.variables.push_back(variable);
        define(variable->name, {Symbol::Kind::Variable, 1, 0, variable, variable->line});
      }
    } else {
      tokens_.fail("the directive '" + std::string(text) + "' does not belong in a function");
    }
  }

  // .reg [.v2|.v4] .type name[<count>], ... ;
  void registers() {
    uint8_t vector = 1;
    while (parse_alignment(tokens_) != 0) {}
    if (tokens_.accept_dotted(".v2"))
      vector = 2;
    else if (tokens_.accept_dotted(".v4"))
      vector = 4;
    const Type type = parse_type(tokens_);
    if (vector > 1 && type == Type::Pred) tokens_.fail("a predicate is no vector");
    if (bits(type) * vector > 128) tokens_.fail("a vector has at most 128 bits");
    do {
      const Declared declared = parse_declared_name(tokens_);
      if (tokens_.is("[")) tokens_.fail("a register is no array; declare `name<count>`");
      if (tokens_.is("=")) tokens_.fail("a register has no initial value");
      if (!declared.count) {
        define(declared.name,
               {Symbol::Kind::Register, vector, add_register(declared.name, type, vector), nullptr, declared.line});
        continue;
      }
      if (*declared.count > kMostRegisters)
        tokens_.fail("a declaration of " + std::to_string(*declared.count) + " registers; at most " +
                     std::to_string(kMostRegisters) + " are supported");
      for (const auto& [name, symbol] : scope().symbols) {
        const auto number = split_number(name);
        if (number && number->first == declared.name && number->second < *declared.count)
          tokens_.fail("'" + std::string(name) + "' is declared already in this scope");
      }
      if (!scope().ranges.try_emplace(declared.name, IndexRange{*declared.count, type, vector, {}}).second)
        tokens_.fail("'" + std::string(declared.name) + "<>' is declared already in this scope");
    } while (tokens_.accept(","));
    tokens_.expect(";", "behind a declaration");
  }

  // .loc file line column[, function_name label[+offset], inlined_at file line column]
  void location() {
    SourceLocation here = place();
    if (tokens_.accept(",")) {
      expect_word("function_name");
      if (!tokens_.is(Kind::Word)) tokens_.require("the label of a function's name");
      tokens_.take();
      if (tokens_.accept("+")) tokens_.number("an offset");
      tokens_.expect(",", "before inlined_at");
      expect_word("inlined_at");
      here.inlined_at = find_location(place());
    }
    if (here.line == 0 && location_ >= 0) return;  // "line 0": unknown to the compiler; the previous location remains
    location_ = add_location(here);
  }
  SourceLocation place() {
    SourceLocation at;
    at.file = static_cast<uint32_t>(tokens_.number("the index of a file"));
    at.line = static_cast<uint32_t>(tokens_.number("a line"));
    tokens_.number("a column");
    return at;
  }
  void expect_word(const char* word) {
    if (!tokens_.is(Kind::Word) || tokens_.peek().text != word) tokens_.require("'" + std::string(word) + "'");
    tokens_.take();
  }

  int32_t add_location(const SourceLocation& at) {
    module_.locations.push_back(at);
    return static_cast<int32_t>(module_.locations.size()) - 1;
  }

  // The latest location with this file and line, so that chains of inlining link up.
  int32_t find_location(const SourceLocation& wanted) {
    for (size_t i = module_.locations.size(); i-- > 0 && module_.locations.size() - i < 64;) {
      const SourceLocation& candidate = module_.locations[i];
      if (candidate.file == wanted.file && candidate.line == wanted.line) return static_cast<int32_t>(i);
    }
    return add_location(wanted);
  }

  void branch_targets(std::string_view name) {
    function_.branch_targets.push_back({std::string(name), {}});
    do {
      const uint32_t line = tokens_.line();
      pending_targets_.push_back({function_.branch_targets.size() - 1, tokens_.name("a label"), scope_, line});
    } while (tokens_.accept(","));
    tokens_.expect(";", "behind the labels");
  }

  void call_prototype(std::string_view name) {
    CallPrototype prototype;
    prototype.name = name;
    if (tokens_.is("(")) prototype.results = parse_parameters(tokens_, module_, ParameterOf::Prototype);
    if (!tokens_.is(Kind::Word) || tokens_.peek().text != "_") tokens_.require("'_' in the place of a function's name");
    tokens_.take();
    if (tokens_.is("(")) prototype.parameters = parse_parameters(tokens_, module_, ParameterOf::Prototype);
    tokens_.accept_dotted(".noreturn");
    while (tokens_.accept_dotted(".abi_preserve") || tokens_.accept_dotted(".abi_preserve_control"))
      tokens_.number("a number of registers");
    tokens_.expect(";", "behind a prototype");
    function_.prototypes.push_back(std::move(prototype));
  }

  void call_targets(std::string_view name) {
    CallPrototype prototype;
    prototype.name = name;
    prototype.is_target_list = true;
    do {
      const std::string target(tokens_.name("a function"));
      const Function* const found = module_.find(target);
      if (found == nullptr || found->is_entry)
        tokens_.fail("'" + target + "' is not a device function declared before");
      prototype.targets.push_back(target);
    } while (tokens_.accept(","));
    tokens_.expect(";", "behind the functions");
    function_.prototypes.push_back(std::move(prototype));
  }

  // ---- instructions
  void instruction() {
    Instruction instruction;
    instruction.line = tokens_.line();
    instruction.location = location_;
    if (tokens_.accept("@")) {
      instruction.guard_negated = tokens_.accept("!");
      const std::string_view name = tokens_.name("a predicate behind '@'");
      const Symbol* const guard = find(name);
      if (guard == nullptr || guard->kind != Symbol::Kind::Register ||
          function_.registers[guard->index].type != Type::Pred)
        tokens_.fail("'" + std::string(name) + "' behind '@' is not a predicate register (.reg .pred)");
      instruction.guard = static_cast<int32_t>(guard->index);
    }
    std::string_view last = tokens_.name("an instruction");
    instruction.opcode = last;
    while (tokens_.is(Kind::Dotted)) {
      const std::string_view next = tokens_.take().text;
      if (next.data() == last.data() + last.size() && instruction.glued == instruction.modifiers.size())
        ++instruction.glued;
      instruction.modifiers.emplace_back(next.substr(1));
      last = next;
    }
    index_ = function_.instructions.size();
    function_.instructions.push_back(std::move(instruction));
    std::vector<Operand> operands;
    if (function_.instructions[index_].opcode == "call") {
      call_operands(operands);
    } else if (!tokens_.is(";")) {
      operands.push_back(destination());
      while (tokens_.accept(",")) operands.push_back(operand());
    }
    if (!tokens_.is(";")) tokens_.require("',' or ';' behind an operand");
    tokens_.take();
    unwrap(function_.instructions[index_], operands);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].kind == OK::Function) pending_labels_.push_back({index_, i, scope_});
    }
    function_.instructions[index_].operands = std::move(operands);
  }

  /// ptxas accepts a single register in braces as the register itself where a vector is possible: in loads and stores,
  /// which Triton always writes in this way, and on one side of a move of bits.
  static void unwrap(const Instruction& instruction, std::vector<Operand>& operands) {
    const auto single = [](const Operand& operand) {
      return operand.kind == OK::Vector && operand.elements.size() == 1;
    };
    if (instruction.opcode == "mov") {
      const bool bits = !instruction.modifiers.empty() && instruction.modifiers.back().starts_with('b');
      if (!bits || std::count_if(operands.begin(), operands.end(), single) > 1) return;
    } else if (instruction.opcode != "ld" && instruction.opcode != "ldu" && instruction.opcode != "st") {
      return;
    }
    for (Operand& operand : operands) {
      if (single(operand)) operand = Operand(operand.elements.front());
    }
  }

  // [(results),] target [, (arguments)] [, prototype]
  void call_operands(std::vector<Operand>& operands) {
    if (tokens_.is("(")) {
      operands.push_back(list());
      tokens_.expect(",", "behind the results of a call");
    }
    operands.push_back(operand());
    while (tokens_.accept(",")) operands.push_back(tokens_.is("(") ? list() : operand());
  }

  Operand list() {
    Operand result;
    result.kind = OK::Vector;
    result.is_list = true;
    tokens_.expect("(", "before a list");
    if (tokens_.accept(")")) return result;
    do { result.elements.push_back(is_sink() ? sink() : operand()); } while (tokens_.accept(","));
    tokens_.expect(")", "behind a list");
    return result;
  }

  bool is_sink() const { return tokens_.is(Kind::Word) && tokens_.peek().text == "_"; }
  Operand sink() {
    tokens_.take();
    Operand result;
    result.kind = OK::Sink;
    return result;
  }

  // The first operand may be `_`, and a pair `d|p`.
  Operand destination() {
    Operand first = is_sink() ? sink() : operand();
    if (!tokens_.accept("|")) return first;
    Operand pair;
    pair.kind = OK::Pair;
    pair.elements.push_back(std::move(first));
    pair.elements.push_back(is_sink() ? sink() : operand());
    return pair;
  }

  Operand operand() {
    if (tokens_.is("{")) return vector();
    if (tokens_.is("[")) return address();
    if (tokens_.is(Kind::Word, 1) && tokens_.peek(1).text != "WARP_SZ") {
      if (tokens_.accept("!")) {
        Operand result = named();
        result.negated = true;
        return result;
      }
      if (tokens_.accept("-")) {
        Operand result = named();
        result.minus = true;
        return result;
      }
    }
    if (tokens_.is(Kind::Word) && tokens_.peek().text != "WARP_SZ") return named();
    return immediate();
  }

  Operand immediate() {
    const Constant constant = constant_expression(tokens_);
    Operand result;
    result.kind = OK::Immediate;
    result.is_float_literal = constant.is_float;
    result.literal_bits = constant.is_single ? 32 : 64;
    result.value = static_cast<int64_t>(constant.bits);
    return result;
  }

  Operand vector() {
    Operand result;
    result.kind = OK::Vector;
    tokens_.expect("{", "before a vector");
    do {
      if (tokens_.is("{")) tokens_.fail("a vector within a vector");
      result.elements.push_back(is_sink() ? sink() : operand());
      if (result.elements.back().kind == OK::Address) tokens_.fail("an address within a vector");
    } while (tokens_.accept(","));
    tokens_.expect("}", "behind a vector");
    return result;
  }

  // [base], [base+offset], and for TMA and textures [base, {coordinates}], [base, sampler, {coordinates}]
  Operand address() {
    Operand result;
    result.kind = OK::Address;
    tokens_.expect("[", "before an address");
    Operand base;
    if (tokens_.is(Kind::Word) && tokens_.peek().text != "WARP_SZ") {
      base = symbol(tokens_.name("an address"));
      const bool has_offset = tokens_.accept("+");
      int64_t offset = 0;
      if (has_offset) {
        offset = integer_expression(tokens_);
      } else if (tokens_.is("-")) {
        tokens_.fail("'-' in an address: an offset is added, `[%rd1+-8]`");
      }
      // The offset of a variable is part of the variable's operand.
      (base.kind == OK::Variable ? base.value : result.value) = offset;
      if (tokens_.is(",") && has_offset) tokens_.fail("an offset in an address that has more than one part");
    } else {
      base = immediate();
      if (base.is_float_literal) tokens_.fail("an address is an integer");
    }
    result.elements.push_back(std::move(base));
    while (tokens_.accept(",")) result.elements.push_back(operand());
    tokens_.expect("]", "behind an address");
    tokens_.accept_dotted(".unified");
    return result;
  }

  // A name with an optional suffix: a selector, `+4`, `[2]`.
  Operand named() {
    const std::string_view name = tokens_.name("a register, variable or label");
    std::string_view selector;
    if (tokens_.is(Kind::Dotted)) selector = tokens_.take().text;
    Operand result = symbol(name, selector);
    if (result.kind == OK::Special || result.kind == OK::Vector || !selector.empty()) return result;
    if (tokens_.accept("+")) {
      result.value += integer_expression(tokens_);
      result.has_offset = true;
      if (result.kind == OK::Function) tokens_.fail("nothing can be added to '" + std::string(name) + "'");
    } else if (tokens_.is("[")) {
      if (result.kind != OK::Variable || !result.variable->is_array)
        tokens_.fail("'" + std::string(name) + "' is not an array");
      tokens_.take();
      const int64_t element = std::max(bits(result.variable->type), 8) / 8;
      result.value += integer_expression(tokens_) * element;
      result.is_indexed = true;
      tokens_.expect("]", "behind an index");
    }
    return result;
  }

  Operand symbol(std::string_view name, std::string_view selector = {}) {
    Operand result;
    const Symbol* const found = find(name);
    if (found != nullptr && found->kind == Symbol::Kind::Register) {
      result.kind = OK::Register;
      result.reg = found->index;
      if (found->vector > 1) {
        if (selector.empty()) return whole_vector(*found);
        const int index = component(selector);
        if (index < 0 || index >= found->vector)
          tokens_.fail("'" + std::string(name) + "' is a vector of " + std::to_string(found->vector) +
                       " without a component " + std::string(selector));
        result.reg += static_cast<uint32_t>(index);
      } else if (!selector.empty()) {
        result.text = selector.substr(1);
      }
      return result;
    }
    if (found == nullptr && name[0] == '%') {
      if (const SpecialRegisterType* const special = find_special(name.substr(1))) {
        if (!selector.empty() && (!special->is_vector || component(selector) < 0))
          tokens_.fail("'" + std::string(name) + "' has no component " + std::string(selector));
        result.kind = OK::Special;
        result.text = std::string(name.substr(1)) + std::string(selector);
        return result;
      }
    }
    if (!selector.empty()) tokens_.fail("'" + std::string(name) + "' has no component " + std::string(selector));
    if (Variable* const variable = found != nullptr ? found->variable : find_global(name)) {
      result.kind = OK::Variable;
      result.variable = variable;
      return result;
    }
    // A label, a table, or the name of a function: resolved at the end.
    result.kind = OK::Function;
    result.text = name;
    return result;
  }

  Operand whole_vector(const Symbol& symbol) {
    Operand result;
    result.kind = OK::Vector;
    for (uint32_t i = 0; i < symbol.vector; ++i) {
      Operand element;
      element.kind = OK::Register;
      element.reg = symbol.index + i;
      result.elements.push_back(std::move(element));
    }
    return result;
  }

  void resolve_labels() {
    for (const auto& [table, name, scope, line] : pending_targets_) {
      scope_ = scope;
      const Symbol* const target = find(name);
      if (target == nullptr || target->kind != Symbol::Kind::Label)
        throw SyntaxError{line, "there is no label '" + std::string(name) + "' in '" + function_.name + "'"};
      function_.branch_targets[table].targets.push_back(target->index);
    }
    for (const auto& [instruction, operand, scope] : pending_labels_) {
      scope_ = scope;
      const Instruction& in = function_.instructions[instruction];
      Operand& label = function_.instructions[instruction].operands[operand];
      const Symbol* const found = find(label.text);
      if (found != nullptr && found->kind == Symbol::Kind::Label) {
        label.kind = OK::Label;
        label.value = found->index;
      } else if (found == nullptr && in.opcode == "bra" && module_.find(label.text) == nullptr) {
        throw SyntaxError{in.line, "there is no label '" + label.text + "' in '" + function_.name + "'"};
      }
    }
  }

  struct PendingLabel {
    size_t instruction, operand;
    int scope;
  };
  struct PendingTarget {
    size_t table;  // index into Function::branch_targets
    std::string_view label;
    int scope;
    uint32_t line;
  };

  TokenStream& tokens_;
  Module& module_;
  Function& function_;
  std::vector<LexicalScope> scopes_;
  int scope_ = -1;
  int32_t location_ = -1;
  size_t index_ = 0;  // of the instruction being read
  std::vector<PendingLabel> pending_labels_;
  std::vector<PendingTarget> pending_targets_;
};

}  // namespace

void parse_body(TokenStream& tokens, Module& module, Function& function) { Body(tokens, module, function).run(); }

}  // namespace sim::ptx
