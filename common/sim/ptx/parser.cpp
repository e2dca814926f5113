#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "common/base/align.h"
#include "ptx/lexer.h"
#include "ptx/module.h"

namespace sim::ptx {
namespace {

std::vector<std::string> split_dots(std::string_view text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('.', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Lexical scopes of one function body: registers, variables and labels are looked up from the inside out. Inline
// assembly opens scopes of its own, with registers and labels that shadow those outside.
struct Scope {
  int parent = -1;
  std::map<std::string, uint32_t, std::less<>> registers;
  std::map<std::string, Variable*, std::less<>> variables;
  std::map<std::string, uint32_t, std::less<>> labels;
};

class Parser {
 public:
  Parser(std::string_view text, std::string name) : tokens_(tokenize(text)), module_(std::make_unique<Module>()) {
    module_->name = std::move(name);
  }

  std::unique_ptr<Module> run() {
    while (!at_end()) top_level();
    return std::move(module_);
  }

 private:
  using Kind = Token::Kind;

  // ---- tokens
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool at_end() const { return peek().kind == Kind::End; }
  const Token& take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool is(char c, size_t ahead = 0) const {
    return peek(ahead).kind == Kind::Punctuation && peek(ahead).punctuation == c;
  }
  bool is_word(std::string_view word) const { return peek().kind == Kind::Word && peek().text == word; }
  bool accept(char c) {
    if (!is(c)) return false;
    take();
    return true;
  }
  [[noreturn]] void fail(const std::string& message) const { throw SyntaxError{peek().line, message}; }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "', found '" + std::string(peek().text) + "'");
  }
  std::string word() {
    if (peek().kind != Kind::Word) fail("expected a name, found '" + std::string(peek().text) + "'");
    return std::string(take().text);
  }
  int64_t integer() {
    const bool negative = accept('-');
    if (peek().kind != Kind::Integer) fail("expected a number, found '" + std::string(peek().text) + "'");
    const int64_t value = static_cast<int64_t>(take().value);
    return negative ? -value : value;
  }

  // ---- module scope
  void top_level() {
    const std::string directive = word();
    if (directive == ".version") {
      // "9.0" lexes as a real number.
      const Token& version = take();
      const std::string text(version.text);
      module_->version_major = std::atoi(text.c_str());
      const size_t dot = text.find('.');
      module_->version_minor = dot == std::string::npos ? 0 : std::atoi(text.c_str() + dot + 1);
    } else if (directive == ".target") {
      module_->target = word();
      while (accept(',')) word();
    } else if (directive == ".address_size") {
      integer();
    } else if (directive == ".file") {
      const uint32_t index = static_cast<uint32_t>(integer());
      if (peek().kind == Kind::String) module_->files[index] = std::string(take().text);
      while (accept(',')) integer();
    } else if (directive == ".section") {
      word();
      skip_braces();
    } else if (directive == ".visible" || directive == ".weak" || directive == ".common" || directive == ".extern") {
      external_ = directive == ".extern";
      return;  // a linkage prefix: the declaration follows
    } else if (directive == ".entry" || directive == ".func") {
      function(directive == ".entry");
    } else if (const auto space = space_of(directive)) {
      variable(*space, nullptr);
    } else if (directive == ".pragma") {
      while (!accept(';')) take();
    } else if (directive == ".alias") {
      while (!accept(';')) take();
    } else {
      --at_;
      fail("unknown directive '" + directive + "'");
    }
    external_ = false;
  }

  static std::optional<Space> space_of(std::string_view directive) {
    if (directive == ".global") return Space::Global;
    if (directive == ".const") return Space::Const;
    if (directive == ".shared") return Space::Shared;
    if (directive == ".local") return Space::Local;
    if (directive == ".param") return Space::Param;
    return std::nullopt;
  }

  void skip_braces() {
    expect('{');
    for (int depth = 1; depth > 0;) {
      if (at_end()) fail("a '{' is never closed");
      if (is('{')) ++depth;
      if (is('}')) --depth;
      take();
    }
  }

  // [.align N] .type [.ptr ...] name [dims] [= init] {, name ...} ;   The space directive has been taken.
  // With `single`, parses one declarator and stops before ',' or ')' (function parameters).
  Variable* variable(Space space, Scope* scope, bool single = false) {
    uint32_t align = 0;
    uint32_t vector = 1;
    Type type = Type::None;
    while (peek().kind == Kind::Word && peek().text[0] == '.') {
      const std::string attribute = word();
      if (attribute == ".align") {
        align = static_cast<uint32_t>(integer());
      } else if (attribute == ".v2" || attribute == ".v4") {
        vector = attribute == ".v2" ? 2 : 4;
      } else if (attribute == ".ptr") {
        while (peek().kind == Kind::Word && peek().text[0] == '.') {
          if (word() == ".align") integer();
        }
      } else if (attribute == ".attribute") {
        expect('(');
        while (!accept(')')) take();
      } else if (type_of(attribute.substr(1)) != Type::None) {
        type = type_of(attribute.substr(1));
      } else if (attribute != ".texref" && attribute != ".surfref" && attribute != ".samplerref") {
        --at_;
        fail("unknown attribute '" + attribute + "' of a variable");
      }
    }
    const uint32_t element_bytes = static_cast<uint32_t>(std::max(bits(type), 8)) / 8;
    Variable* last = nullptr;
    do {
      auto owned = std::make_unique<Variable>();
      last = owned.get();
      last->name = word();
      last->space = space;
      last->external = external_;
      last->align = align ? align : element_bytes * vector;
      uint64_t count = vector;
      bool unsized = false;
      while (accept('[')) {
        if (accept(']')) {
          unsized = true;
          continue;
        }
        count *= static_cast<uint64_t>(integer());
        expect(']');
      }
      last->bytes = unsized ? 0 : count * element_bytes;
      if (accept('=')) {
        initialiser(*last, element_bytes);
        if (unsized) last->bytes = last->initial.size();
        last->initial.resize(last->bytes);
      }
      if (scope != nullptr) {
        scope->variables[last->name] = last;
      } else if (!single) {
        // An `extern` declaration names what another declaration in the same text may define.
        const auto known = module_->globals.find(last->name);
        if (known == module_->globals.end() || known->second->external) module_->globals[last->name] = last;
      }
      module_->variables.push_back(std::move(owned));
    } while (!single && accept(','));
    if (!single) expect(';');
    return last;
  }

  void initialiser(Variable& variable, uint32_t element_bytes) {
    if (accept('{')) {
      while (!accept('}')) {
        initialiser(variable, element_bytes);
        accept(',');
      }
      return;
    }
    const auto append = [&](uint64_t value, uint32_t bytes) {
      for (uint32_t i = 0; i < bytes; ++i)
        variable.initial.push_back(static_cast<uint8_t>(i < 8 ? value >> (8 * i) : 0));
    };
    if (peek().kind == Kind::Float) {
      const Token& token = take();
      uint64_t value = token.value;
      if (token.float_bits == 64 && element_bytes == 4) {
        value = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
      }
      append(value, element_bytes);
    } else if (peek().kind == Kind::Word) {
      std::string symbol = word();
      const bool generic = symbol == "generic";
      if (generic) {
        expect('(');
        symbol = word();
        expect(')');
      }
      const int64_t addend = accept('+') ? integer() : 0;
      variable.relocations.push_back({variable.initial.size(), symbol, addend, static_cast<uint8_t>(element_bytes)});
      append(0, element_bytes);
    } else {
      append(static_cast<uint64_t>(integer()), element_bytes);
    }
  }

  // ---- functions
  std::vector<Variable*> parameter_list() {
    std::vector<Variable*> list;
    expect('(');
    uint64_t offset = 0;
    while (!accept(')')) {
      const std::string directive = word();
      if (directive != ".param") {
        fail("function parameters in '" + directive + "' space are not supported: nvcc passes them in .param");
      }
      Variable* parameter = variable(Space::Param, nullptr, true);
      offset = base::round_up(offset, parameter->align);
      parameter->offset = offset;
      offset += parameter->bytes;
      list.push_back(parameter);
      accept(',');
    }
    return list;
  }

  void function(bool is_entry) {
    auto owned = std::make_unique<Function>();
    function_ = owned.get();
    function_->is_entry = is_entry;
    if (!is_entry && is('(')) function_->results = parameter_list();
    function_->name = word();
    if (is('(')) function_->parameters = parameter_list();
    while (peek().kind == Kind::Word && !is('{')) {
      const std::string directive = word();
      if (directive == ".maxntid" || directive == ".reqntid") {
        triple(function_->max_threads);
        function_->exact_threads = directive == ".reqntid";
      } else if (directive == ".minnctapersm") {
        function_->min_ctas = static_cast<uint32_t>(integer());
      } else if (directive == ".maxnctapersm") {
        integer();
      } else if (directive == ".maxnreg") {
        function_->max_registers = static_cast<uint32_t>(integer());
      } else if (directive == ".explicitcluster") {
        function_->explicit_cluster = true;
      } else if (directive == ".reqnctapercluster") {
        triple(function_->cluster);
      } else if (directive == ".maxclusterrank") {
        integer();
      } else if (directive == ".noreturn" || directive == ".blocksareclusters" || directive == ".unique") {
      } else if (directive == ".pragma") {
        while (!accept(';')) take();
      } else if (directive == ".abi_preserve" || directive == ".abi_preserve_control") {
        integer();
      } else {
        --at_;
        fail("unknown performance directive '" + directive + "'");
      }
    }
    if (is('{')) {
      function_->has_body = true;
      body();
    } else {
      accept(';');
    }
    module_->functions.push_back(std::move(owned));
    function_ = nullptr;
  }

  void triple(uint32_t (&values)[3]) {
    values[0] = values[1] = values[2] = 1;
    values[0] = static_cast<uint32_t>(integer());
    for (int i = 1; i < 3 && accept(','); ++i) values[i] = static_cast<uint32_t>(integer());
  }

  void body() {
    scopes_.assign(1, Scope{});
    scope_ = 0;
    location_ = -1;
    pending_labels_.clear();
    pending_targets_.clear();
    for (Variable* parameter : function_->parameters) scopes_[0].variables[parameter->name] = parameter;
    for (Variable* result : function_->results) scopes_[0].variables[result->name] = result;
    expect('{');
    for (int depth = 1; depth > 0;) {
      if (at_end()) fail("the body of '" + function_->name + "' is never closed");
      if (accept('{')) {
        ++depth;
        scopes_.push_back(Scope{scope_, {}, {}, {}});
        scope_ = static_cast<int>(scopes_.size()) - 1;
      } else if (accept('}')) {
        --depth;
        scope_ = scopes_[static_cast<size_t>(scope_)].parent;
      } else {
        statement();
      }
    }
    for (const auto& [table, name, scope, line] : pending_targets_) {
      const auto target = find_label(name, scope);
      if (!target) throw SyntaxError{line, "no label '" + name + "' in '" + function_->name + "'"};
      function_->branch_targets[table].targets.push_back(*target);
    }
    for (const auto& [instruction, operand, scope, name, line] : pending_labels_) {
      Operand& label = function_->instructions[instruction].operands[operand];
      if (const auto target = find_label(name, scope)) {
        label.kind = Operand::Kind::Label;
        label.value = *target;
      } else if (label.kind == Operand::Kind::Label) {
        throw SyntaxError{line, "no label '" + name + "' in '" + function_->name + "'"};
      }
    }
  }

  void statement() {
    if (accept(';')) return;
    if (peek().kind == Kind::Word && is(':', 1)) {
      std::string name = word();
      take();
      if (is_word(".branchtargets")) {
        branch_targets(std::move(name));
      } else if (is_word(".callprototype")) {
        while (!accept(';')) take();
      } else {
        scopes_[static_cast<size_t>(scope_)].labels[std::move(name)] =
            static_cast<uint32_t>(function_->instructions.size());
      }
      return;
    }
    if (peek().kind == Kind::Word && peek().text[0] == '.') return directive();
    instruction();
  }

  void directive() {
    const std::string text = word();
    Scope& scope = scopes_[static_cast<size_t>(scope_)];
    if (text == ".reg" || text.starts_with(".reg.")) {
      Type type = Type::None;
      if (text.size() > 4) type = type_of(text.substr(5));
      while (peek().kind == Kind::Word && peek().text[0] == '.') {
        const std::string attribute = word().substr(1);
        if (attribute == "v2" || attribute == "v4") fail("vector registers are not supported: nvcc does not emit them");
        type = type_of(attribute);
      }
      if (type == Type::None) fail("unknown type of a register");
      do {
        const std::string name = word();
        if (accept('<')) {
          const int64_t count = integer();
          expect('>');
          for (int64_t i = 0; i < count; ++i) add_register(scope, name + std::to_string(i), type);
        } else {
          add_register(scope, name, type);
        }
      } while (accept(','));
      expect(';');
    } else if (text == ".loc") {
      location();
    } else if (text == ".pragma") {
      while (!accept(';')) take();
    } else if (const auto space = space_of(text)) {
      function_->variables.push_back(variable(*space, &scope));
    } else if (text == ".visible" || text == ".weak" || text == ".extern") {
    } else {
      --at_;
      fail("unknown directive '" + text + "'");
    }
  }

  void add_register(Scope& scope, std::string name, Type type) {
    scope.registers[name] = static_cast<uint32_t>(function_->registers.size());
    function_->registers.push_back({std::move(name), type});
  }

  // .loc file line column[, function_name label[+offset], inlined_at file line column]
  void location() {
    SourceLocation here;
    here.file = static_cast<uint32_t>(integer());
    here.line = static_cast<uint32_t>(integer());
    integer();
    if (accept(',')) {
      word();  // function_name
      word();
      if (accept('+')) integer();
      expect(',');
      word();  // inlined_at
      SourceLocation caller;
      caller.file = static_cast<uint32_t>(integer());
      caller.line = static_cast<uint32_t>(integer());
      integer();
      here.inlined_at = find_location(caller);
    }
    if (here.line == 0 && location_ >= 0) return;  // "line 0": the compiler does not say; keep the last place
    location_ = add_location(here);
  }

  int32_t add_location(const SourceLocation& at) {
    module_->locations.push_back(at);
    return static_cast<int32_t>(module_->locations.size()) - 1;
  }

  // The latest location with this file and line, so that chains of inlining link up.
  int32_t find_location(const SourceLocation& wanted) {
    for (size_t i = module_->locations.size(); i-- > 0 && module_->locations.size() - i < 64;) {
      const SourceLocation& candidate = module_->locations[i];
      if (candidate.file == wanted.file && candidate.line == wanted.line) return static_cast<int32_t>(i);
    }
    return add_location(wanted);
  }

  void branch_targets(std::string name) {
    take();
    function_->branch_targets.push_back({std::move(name), {}});
    do {
      const uint32_t line = peek().line;
      pending_targets_.push_back({function_->branch_targets.size() - 1, word(), scope_, line});
    } while (accept(','));
    expect(';');
  }

  std::optional<uint32_t> find_label(std::string_view name, int scope) const {
    for (; scope >= 0; scope = scopes_[static_cast<size_t>(scope)].parent) {
      const auto& labels = scopes_[static_cast<size_t>(scope)].labels;
      if (const auto found = labels.find(name); found != labels.end()) return found->second;
    }
    return std::nullopt;
  }
  std::optional<uint32_t> find_register(std::string_view name) const {
    for (int scope = scope_; scope >= 0; scope = scopes_[static_cast<size_t>(scope)].parent) {
      const auto& registers = scopes_[static_cast<size_t>(scope)].registers;
      if (const auto found = registers.find(name); found != registers.end()) return found->second;
    }
    return std::nullopt;
  }
  Variable* find_variable(const std::string& name) const {
    for (int scope = scope_; scope >= 0; scope = scopes_[static_cast<size_t>(scope)].parent) {
      const auto& variables = scopes_[static_cast<size_t>(scope)].variables;
      if (const auto found = variables.find(name); found != variables.end()) return found->second;
    }
    const auto global = module_->globals.find(name);
    return global == module_->globals.end() ? nullptr : global->second;
  }

  void instruction() {
    Instruction instruction;
    instruction.line = peek().line;
    instruction.location = location_;
    if (accept('@')) {
      instruction.guard_negated = accept('!');
      const std::string name = word();
      const auto guard = find_register(name);
      if (!guard) fail("unknown predicate '" + name + "'");
      instruction.guard = static_cast<int32_t>(*guard);
    }
    std::vector<std::string> parts = split_dots(word());
    instruction.opcode = std::move(parts.front());
    parts.erase(parts.begin());
    instruction.modifiers = std::move(parts);
    function_->instructions.push_back(std::move(instruction));
    const size_t index = function_->instructions.size() - 1;
    while (!accept(';')) {
      if (at_end()) fail("an instruction is never ended by ';'");
      Operand parsed = operand(index);
      function_->instructions[index].operands.push_back(std::move(parsed));
      if (!is(';')) expect(',');
    }
    // Labels are resolved when the whole body is known.
    auto& operands = function_->instructions[index].operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].kind == Operand::Kind::Label || operands[i].kind == Operand::Kind::Function) {
        pending_labels_.push_back({index, i, scope_, operands[i].text, function_->instructions[index].line});
      }
    }
  }

  Operand operand(size_t index) {
    Operand result = simple_operand(index);
    if (accept('|')) {
      Operand pair;
      pair.kind = Operand::Kind::Pair;
      pair.elements.push_back(std::move(result));
      pair.elements.push_back(simple_operand(index));
      return pair;
    }
    return result;
  }

  Operand simple_operand(size_t index) {
    using OK = Operand::Kind;
    Operand result;
    if (accept('!')) {
      result = simple_operand(index);
      result.negated = true;
      return result;
    }
    if (accept('{') || accept('(')) {
      result.kind = OK::Vector;
      while (!accept('}') && !accept(')')) {
        result.elements.push_back(operand(index));
        accept(',');
      }
      return result;
    }
    if (accept('[')) {
      result.kind = OK::Address;
      result.elements.push_back(simple_operand(index));
      // "[symbol+8]" arrives as a variable with its offset; "[%rd1+8]" and "[%rd1-8]" are added here.
      if (accept('+')) {
        result.value = integer();
      } else if (is('-')) {
        result.value = integer();
      }
      while (accept(',')) result.elements.push_back(operand(index));
      expect(']');
      return result;
    }
    const Token& token = peek();
    switch (token.kind) {
      case Kind::Integer:
        result.kind = OK::Immediate;
        result.value = static_cast<int64_t>(take().value);
        return result;
      case Kind::Float:
        result.kind = OK::Immediate;
        result.is_float_literal = true;
        result.literal_bits = token.float_bits;
        result.value = static_cast<int64_t>(take().value);
        return result;
      case Kind::Punctuation:
        if (token.punctuation == '-') {
          take();
          result = simple_operand(index);
          if (result.kind != OK::Immediate) fail("'-' stands before something that is not a number");
          if (result.is_float_literal) {
            result.value ^= static_cast<int64_t>(uint64_t{1} << (result.literal_bits - 1));
          } else {
            result.value = -result.value;
          }
          return result;
        }
        fail("unexpected '" + std::string(token.text) + "' in the operands of '" +
             function_->instructions[index].form() + "'");
      case Kind::Word: break;
      default: fail("unexpected '" + std::string(token.text) + "' in an operand");
    }
    std::string name = word();
    if (name == "_") {
      result.kind = OK::Sink;
      return result;
    }
    if (function_->instructions[index].opcode == "bra") {  // only labels
      result.kind = OK::Label;
      result.text = std::move(name);
      return result;
    }
    if (const auto reg = find_register(name)) {
      result.kind = OK::Register;
      result.reg = *reg;
      return result;
    }
    if (const Variable* found = find_variable(name)) {
      result.kind = OK::Variable;
      result.variable = found;
      if (accept('+')) {
        result.value = integer();
      } else if (is('-') && peek(1).kind == Kind::Integer) {
        result.value = integer();
      }
      return result;
    }
    if (name[0] == '%') {
      result.kind = OK::Special;
      result.text = name.substr(1);
      return result;
    }
    // A label of this function, or the name of a function: known only at the end.
    result.kind = OK::Function;
    result.text = std::move(name);
    return result;
  }

  struct PendingLabel {
    size_t instruction, operand;
    int scope;
    std::string name;
    uint32_t line;
  };
  struct PendingTarget {
    size_t table;  // index into Function::branch_targets
    std::string label;
    int scope;
    uint32_t line;
  };

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::unique_ptr<Module> module_;
  bool external_ = false;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  int32_t location_ = -1;
  std::vector<PendingLabel> pending_labels_;
  std::vector<PendingTarget> pending_targets_;
};

}  // namespace

std::unique_ptr<Module> parse(std::string_view text, std::string name) { return Parser(text, std::move(name)).run(); }

}  // namespace sim::ptx
