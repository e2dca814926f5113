#include "ptx/declarations.h"
#include "common/base/align.h"

#include <bit>
#include <limits>

namespace sim::ptx {
namespace {

// More than any memory of a GPU: a declaration of more is an error.
constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr uint64_t kMostConstants = 64 * 1024;
constexpr uint64_t kMostShared = 16 * 1024 * 1024;
constexpr uint64_t kMostLocal = 512 * 1024;
constexpr uint64_t kMostInitialBytes = uint64_t{1} << 30;
constexpr uint64_t kMostNames = 65536;  // of one declaration `name<N>`

uint64_t most_bytes(Space space) {
  switch (space) {
    case Space::Const: return kMostConstants;
    case Space::Shared: return kMostShared;
    case Space::Local:
    case Space::Param: return kMostLocal;
    default: return kMostBytes;
  }
}

/// a * b, or the greatest number if that does not fit.
uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

struct Attributes {
  uint32_t align = 0;
  uint32_t vector = 1;
  Type type = Type::None;
  bool is_opaque = false;  // a texture, surface or sampler
  bool is_managed = false;
};

Attributes parse_attributes(TokenStream& tokens, Space space) {
  Attributes attributes;
  for (;;) {
    if (tokens.accept_dotted(".attribute")) {
      tokens.expect("(", "behind .attribute");
      do {
        if (tokens.accept_dotted(".unified")) {
          tokens.expect("(", "behind .unified");
          tokens.number("the first half of a unique id");
          tokens.expect(",", "between the halves of a unique id");
          tokens.number("the second half of a unique id");
          tokens.expect(")", "behind the id of .unified");
        } else if (tokens.accept_dotted(".managed")) {
          if (space != Space::Global) tokens.fail(".managed is for variables in .global space");
          attributes.is_managed = true;
        } else {
          tokens.require(".managed or .unified");
        }
      } while (tokens.accept(","));
      tokens.expect(")", "behind the attributes");
    } else if (const uint32_t align = parse_alignment(tokens)) {
      attributes.align = std::max(attributes.align, align);
    } else if (tokens.accept_dotted(".v2")) {
      attributes.vector = 2;
      break;
    } else if (tokens.accept_dotted(".v4")) {
      attributes.vector = 4;
      break;
    } else {
      break;
    }
  }
  for (const std::string_view opaque : {".texref", ".surfref", ".samplerref"}) {
    if (!tokens.is_dotted(opaque)) continue;
    if (space != Space::Global && space != Space::Param)
      tokens.fail(std::string(opaque) + " is declared in .global space or as a kernel's parameter");
    tokens.take();
    attributes.is_opaque = true;
    return attributes;
  }
  attributes.type = parse_type(tokens);
  if (bits(attributes.type) * static_cast<int>(attributes.vector) > 128) tokens.fail("a vector has at most 128 bits");
  return attributes;
}

uint32_t element_bytes(const Attributes& attributes) {
  return attributes.is_opaque ? 8 : static_cast<uint32_t>(std::max(bits(attributes.type), 8)) / 8;
}

std::unique_ptr<Variable> make_variable(const Attributes& attributes, std::string_view name, Space space,
                                        uint32_t line) {
  auto variable = std::make_unique<Variable>();
  variable->name = name;
  variable->space = space;
  variable->type = attributes.type;
  variable->vector = attributes.vector;
  variable->line = line;
  variable->align = attributes.align != 0 ? attributes.align : element_bytes(attributes) * attributes.vector;
  variable->bytes = uint64_t{element_bytes(attributes)} * attributes.vector;
  return variable;
}

/// `[2][3]`, of which the first may be empty. Returns the lengths; 0 for an empty one.
std::vector<uint64_t> parse_dimensions(TokenStream& tokens, bool only_one) {
  std::vector<uint64_t> dimensions;
  while (tokens.is("[") && !(only_one && !dimensions.empty())) {
    tokens.take();
    if (tokens.accept("]")) {
      if (!dimensions.empty()) tokens.fail("only the first dimension of an array may be left open");
      dimensions.push_back(0);
      continue;
    }
    dimensions.push_back(tokens.number("the length of an array"));
    if (dimensions.size() > 1 && dimensions.back() == 0) tokens.fail("a dimension of an array must not be 0");
    tokens.expect("]", "behind the length of an array");
  }
  return dimensions;
}

void check_size(const TokenStream& tokens, const Variable& variable) {
  const uint64_t most = most_bytes(variable.space);
  if (variable.bytes <= most) return;
  const std::string size =
      variable.bytes == std::numeric_limits<uint64_t>::max() ? "more than 2^64" : std::to_string(variable.bytes);
  tokens.fail("the variable '" + variable.name + "' has " + size + " bytes; " + std::string(name_of(variable.space)) +
              " space holds at most " + std::to_string(most));
}

// Initial values: a scalar, or lists in braces nested as the dimensions are.
class Initialiser {
 public:
  Initialiser(TokenStream& tokens, const Module& module, Variable& variable, const std::vector<uint64_t>& dimensions)
      : tokens_(tokens), module_(module), variable_(variable), dimensions_(dimensions) {
    bytes_ = static_cast<uint32_t>(std::max(bits(variable.type), 8)) / 8;
  }

  void run() {
    if (variable_.type == Type::F16 || variable_.type == Type::F16x2)
      tokens_.fail("variables of type ." + std::string(name_of(variable_.type)) + " have no initial value in PTX");
    if (variable_.type == Type::None) tokens_.fail("textures, surfaces and samplers have no initial value here");
    value(0);
    if (!dimensions_.empty() && dimensions_[0] == 0) {
      const uint64_t row = row_bytes(1);
      const uint64_t rows = (variable_.initial.size() + row - 1) / row;
      if (rows == 0) tokens_.fail("the array '" + variable_.name + "' has neither a length nor initial values");
      variable_.bytes = rows * row;
    }
  }

 private:
  uint64_t row_bytes(size_t level) const {
    uint64_t bytes = uint64_t{bytes_} * variable_.vector;
    for (size_t i = level; i < dimensions_.size(); ++i) bytes *= dimensions_[i];
    return bytes;
  }

  void value(size_t level) {
    const bool is_vector = level == dimensions_.size() && variable_.vector > 1;
    if (level < dimensions_.size() || is_vector) {
      list(level, is_vector ? variable_.vector : dimensions_[level], is_vector);
    } else {
      if (tokens_.is("{"))
        tokens_.fail("'" + variable_.name + "' has " + std::to_string(dimensions_.size()) +
                     " dimensions, its initial value has more");
      element();
    }
  }

  void list(size_t level, uint64_t length, bool is_vector) {
    tokens_.expect("{", "before the initial values of an array or vector");
    const uint64_t begin = variable_.initial.size(), step = is_vector ? bytes_ : row_bytes(level + 1);
    uint64_t count = 0;
    if (!tokens_.is("}")) {
      do {
        if (length != 0 && count == length)
          tokens_.fail("'" + variable_.name + "' has more initial values than its length of " + std::to_string(length));
        if (count * step > kMostInitialBytes - begin)
          tokens_.fail("initial values this far into a variable are not supported");
        variable_.initial.resize(begin + count * step);  // zeros, up to here
        if (is_vector)
          element();
        else
          value(level + 1);
        ++count;
      } while (tokens_.accept(","));
    }
    tokens_.expect("}", "behind the initial values");
    if (is_vector && count != length)
      tokens_.fail("a vector of " + std::to_string(length) + " needs as many initial values");
  }

  void append(uint64_t bits) {
    for (uint32_t i = 0; i < bytes_; ++i)
      variable_.initial.push_back(static_cast<uint8_t>(i < 8 ? bits >> (8 * i) : 0));
  }

  // A number, or the address of a variable or function: `x`, `x+4`, `generic(x)`, or one byte of it: `0xff00(x)`.
  void element() {
    if (tokens_.is(TokenStream::Kind::Integer) && tokens_.is("(", 1)) {
      const uint64_t mask = tokens_.take().value;
      if (std::popcount(mask) != 8 || std::countr_zero(mask) % 8 != 0)
        tokens_.fail("the mask before an address selects one byte: 0xff, 0xff00 and so on");
      if (bytes_ != 1) tokens_.fail("a byte of an address is the initial value of a .u8, .s8 or .b8");
      tokens_.take();
      address(static_cast<uint8_t>(std::countr_zero(mask)));
      tokens_.expect(")", "behind the address");
    } else if (tokens_.is(TokenStream::Kind::Word) && tokens_.peek().text != "WARP_SZ") {
      if (variable_.type != Type::U32 && variable_.type != Type::U64)
        tokens_.fail("an address is the initial value of a .u32 or .u64, and '" + variable_.name + "' is a ." +
                     std::string(name_of(variable_.type)));
      address(0);
    } else {
      number();
    }
  }

  void address(uint8_t shift) {
    bool is_generic = false;
    std::string symbol(tokens_.name("a variable or function"));
    if (symbol == "generic" && tokens_.accept("(")) {
      is_generic = true;
      symbol = tokens_.name("a variable");
      tokens_.expect(")", "behind generic(");
    }
    const auto known = module_.globals.find(symbol);
    if (known != module_.globals.end()) {
      if (known->second->space != Space::Global && known->second->space != Space::Const)
        tokens_.fail("the initial value is the address of '" + symbol + "', which is not in .global or .const space");
    } else if (is_generic || module_.find(symbol) == nullptr) {
      tokens_.fail("the initial value is the address of '" + symbol + "', which is not declared before");
    }
    int64_t addend = 0;
    if (tokens_.accept("+")) {
      if (known == module_.globals.end()) tokens_.fail("nothing can be added to the address of a function");
      addend = integer_expression(tokens_);
    }
    variable_.relocations.push_back(
        {variable_.initial.size(), std::move(symbol), addend, static_cast<uint8_t>(bytes_), shift});
    append(0);
  }

  void number() {
    const Constant constant = constant_expression(tokens_);
    const bool real_variable = is_float(variable_.type);
    const bool is_bits = name_of(variable_.type)[0] == 'b';
    if (constant.is_float ? !(real_variable || is_bits) : real_variable)
      tokens_.fail("the initial value of a ." + std::string(name_of(variable_.type)) + " is " +
                   (real_variable ? "a floating-point number, such as 1.0" : "an integer"));
    if (!constant.is_float) return append(constant.bits);
    const double real = constant.is_single ? std::bit_cast<float>(static_cast<uint32_t>(constant.bits))
                                           : std::bit_cast<double>(constant.bits);
    append(bytes_ >= 8 ? std::bit_cast<uint64_t>(real) : std::bit_cast<uint32_t>(static_cast<float>(real)));
  }

  TokenStream& tokens_;
  const Module& module_;
  Variable& variable_;
  const std::vector<uint64_t>& dimensions_;
  uint32_t bytes_ = 1;
};

/// Enters a variable of module scope, or finds what is wrong with a second declaration.
void enter(TokenStream& tokens, Module& module, Variable& variable) {
  if (module.find(variable.name) != nullptr) tokens.fail("'" + variable.name + "' is declared already, as a function");
  const auto [known, is_new] = module.globals.try_emplace(variable.name, &variable);
  if (is_new) return;
  const Variable& earlier = *known->second;
  const std::string before = "'" + variable.name + "' is declared already, on line " + std::to_string(earlier.line);
  if (earlier.linkage != Linkage::Extern && variable.linkage != Linkage::Extern) tokens.fail(before);
  if (earlier.space != variable.space || earlier.type != variable.type || earlier.vector != variable.vector)
    tokens.fail(before + ", and differently");
  if (earlier.linkage == Linkage::Extern && variable.linkage == Linkage::None)
    tokens.fail(before + " as .extern: its definition must be .visible");
  if (variable.linkage != Linkage::Extern) known->second = &variable;
}

/// One parameter of a function, from its space on. Its offset is left to the caller.
Variable* parse_parameter(TokenStream& tokens, Module& module, ParameterOf what) {
  const uint32_t line = tokens.line();
  const std::string_view directive = tokens.dotted("a parameter (.param .type name)");
  if (directive == ".reg" && what != ParameterOf::Entry)
    tokens.fail("function parameters in .reg space are not supported here: declare them .param, as compilers do");
  if (directive != ".param") tokens.fail("a parameter is declared in .param space, not in " + std::string(directive));
  Attributes attributes = parse_attributes(tokens, Space::Param);
  if (attributes.type == Type::Pred) tokens.fail("a predicate cannot be a parameter in .param space");
  if (attributes.vector > 1 || attributes.type == Type::F16x2)
    tokens.fail("a parameter is no vector and no .f16x2; declare an array of bytes (.b8) instead");
  if (what == ParameterOf::Entry) {
    if (tokens.accept_dotted(".ptr")) {
      for (const std::string_view space : {".const", ".global", ".local", ".shared"}) {
        if (tokens.accept_dotted(space)) break;
      }
      parse_alignment(tokens);  // of what it points at
    } else if (const uint32_t align = parse_alignment(tokens)) {
      attributes.align = align;
    }
  }
  // A prototype names its parameters `_`.
  std::string_view name = "_";
  if (!(what == ParameterOf::Prototype && tokens.is(TokenStream::Kind::Word) && tokens.peek().text == "_")) {
    name = tokens.name("the name of a parameter");
  } else {
    tokens.take();
  }
  auto variable = make_variable(attributes, name, Space::Param, line);
  const std::vector<uint64_t> dimensions = parse_dimensions(tokens, true);
  variable->is_array = !dimensions.empty();
  for (const uint64_t length : dimensions) variable->bytes = saturating_product(variable->bytes, length);
  if (variable->is_array && dimensions[0] == 0 && what == ParameterOf::Entry)
    tokens.fail("the parameter '" + variable->name + "' is an array without a length");
  check_size(tokens, *variable);
  module.variables.push_back(std::move(variable));
  return module.variables.back().get();
}

}  // namespace

std::optional<Space> space_of(std::string_view directive) {
  if (directive == ".global") return Space::Global;
  if (directive == ".const") return Space::Const;
  if (directive == ".shared") return Space::Shared;
  if (directive == ".local") return Space::Local;
  if (directive == ".param") return Space::Param;
  if (directive == ".reg") return Space::Register;
  return std::nullopt;
}

uint32_t parse_alignment(TokenStream& tokens) {
  if (!tokens.accept_dotted(".align")) return 0;
  const uint64_t align = tokens.number("an alignment");
  if (align > (uint64_t{1} << 31) || !std::has_single_bit(align))
    tokens.fail("an alignment is a power of two, and " + std::to_string(align) + " is not");
  return static_cast<uint32_t>(align);
}

Type parse_type(TokenStream& tokens) {
  const std::string_view name = tokens.dotted("a type, such as .b32,");
  const Type type = type_of(name.substr(1));
  switch (type) {
    case Type::None: tokens.fail("'" + std::string(name) + "' is not a type");
    case Type::BF16:
    case Type::BF16x2:
    case Type::TF32:
    case Type::F32x2:
    case Type::E4M3:
    case Type::E5M2:
    case Type::E4M3x2:
    case Type::E5M2x2:
    case Type::U16x2:
    case Type::S16x2:
      tokens.fail("'" + std::string(name) + "' is a type of instructions; declare .b" + std::to_string(bits(type)));
    default: return type;
  }
}

Declared parse_declared_name(TokenStream& tokens) {
  Declared declared;
  declared.line = tokens.line();
  declared.name = tokens.name("a name");
  if (tokens.accept("<")) {
    declared.count = tokens.number("a number of names");
    tokens.expect(">", "behind the number of names");
  }
  return declared;
}

std::vector<Variable*> parse_variables(TokenStream& tokens, Module& module, Space space, Linkage linkage,
                                       const Function* scope) {
  if (scope == nullptr && (space == Space::Local || space == Space::Param))
    tokens.fail(std::string(name_of(space)) + " variables are declared inside functions");
  const Attributes attributes = parse_attributes(tokens, space);
  if (attributes.type == Type::Pred) tokens.fail("predicates are declared in .reg space");
  if (space == Space::Param && attributes.vector > 1) tokens.fail("a .param variable is no vector");
  if (linkage == Linkage::Common && space != Space::Global) tokens.fail(".common is for variables in .global space");

  std::vector<Variable*> declared;
  const auto own = [&](std::unique_ptr<Variable> variable) {
    check_size(tokens, *variable);
    if (scope == nullptr) enter(tokens, module, *variable);
    declared.push_back(variable.get());
    module.variables.push_back(std::move(variable));
  };
  do {
    const Declared name = parse_declared_name(tokens);
    if (name.count) {
      if (*name.count > kMostNames)
        tokens.fail("a declaration of " + std::to_string(*name.count) + " variables; at most " +
                    std::to_string(kMostNames) + " are supported");
      for (uint64_t i = 0; i < *name.count; ++i)
        own(make_variable(attributes, std::string(name.name) + std::to_string(i), space, name.line));
      continue;
    }
    auto variable = make_variable(attributes, name.name, space, name.line);
    variable->linkage = linkage;
    const std::vector<uint64_t> dimensions = parse_dimensions(tokens, false);
    variable->is_array = !dimensions.empty();
    for (const uint64_t length : dimensions) variable->bytes = saturating_product(variable->bytes, length);
    const bool is_open = variable->is_array && dimensions[0] == 0;
    if (tokens.accept("=")) {
      if (space != Space::Global && space != Space::Const)
        tokens.fail("'" + variable->name + "' has an initial value; only .global and .const variables can have one");
      if (linkage == Linkage::Extern)
        tokens.fail("'" + variable->name + "' is .extern and cannot have an initial value");
      check_size(tokens, *variable);
      Initialiser(tokens, module, *variable, dimensions).run();
    } else if (is_open && linkage != Linkage::Extern) {
      tokens.fail("the array '" + variable->name + "' has no length");
    }
    // Of shared memory, only what is dynamic is defined elsewhere.
    variable->external = linkage == Linkage::Extern && (is_open || space != Space::Shared);
    own(std::move(variable));
  } while (tokens.accept(","));
  tokens.expect(";", "behind a declaration");
  return declared;
}

std::vector<Variable*> parse_parameters(TokenStream& tokens, Module& module, ParameterOf what) {
  std::vector<Variable*> list;
  tokens.expect("(", "before parameters");
  if (tokens.accept(")")) return list;
  uint64_t offset = 0;
  do {
    Variable* const parameter = parse_parameter(tokens, module, what);
    offset = base::round_up(offset, parameter->align);
    parameter->offset = offset;
    offset += parameter->bytes;
    list.push_back(parameter);
  } while (tokens.accept(","));
  tokens.expect(")", "behind parameters");
  constexpr uint64_t kMostParameterBytes = 32764;
  if (what == ParameterOf::Entry && offset > kMostParameterBytes)
    tokens.fail("the parameters of a kernel have at most " + std::to_string(kMostParameterBytes) + " bytes, these " +
                std::to_string(offset));
  return list;
}

void skip_pragma(TokenStream& tokens) {
  do { tokens.string("a string behind .pragma"); } while (tokens.accept(","));
  tokens.expect(";", "behind a pragma");
}

}  // namespace sim::ptx
