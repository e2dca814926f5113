// Constant expressions: what may stand in PTX where a number is wanted.
#include <bit>
#include <optional>

#include "ptx/tokens.h"

namespace sim::ptx {
namespace {

constexpr int kMaxDepth = 200;  // of parentheses and signs: each is a call of the parser

class Expression {
 public:
  explicit Expression(TokenStream& tokens) : tokens_(tokens) {}

  Constant conditional() {
    const Deeper deeper(*this);
    const Constant condition = binary(0);
    if (!tokens_.accept("?")) return condition;
    const Constant yes = conditional();
    tokens_.expect(":", "between the two values of a conditional expression");
    const Constant no = conditional();
    if (yes.is_float != no.is_float) mismatch();
    return truth(condition) ? yes : no;
  }

 private:
  using Kind = Token::Kind;

  struct Deeper {
    explicit Deeper(Expression& in) : depth(in.depth_) {
      if (++depth > kMaxDepth) in.tokens_.fail("a constant expression is nested too deeply");
    }
    ~Deeper() { --depth; }
    int& depth;
  };

  [[noreturn]] void mismatch() const {
    tokens_.fail("a constant expression mixes integers and floating-point numbers");
  }
  static bool truth(const Constant& value) { return value.is_float ? real(value) != 0 : value.bits != 0; }
  static double real(const Constant& value) {
    return value.is_single ? std::bit_cast<float>(static_cast<uint32_t>(value.bits))
                           : std::bit_cast<double>(value.bits);
  }
  static Constant integer(uint64_t bits, bool is_unsigned = false) { return {false, is_unsigned, false, bits}; }
  static Constant floating(double value) { return {true, false, false, std::bit_cast<uint64_t>(value)}; }

  // Rising precedence.
  static std::optional<int> precedence(std::string_view text) {
    constexpr std::string_view levels[][4] = {
        {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="},
        {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
    for (int level = 0; level < static_cast<int>(std::size(levels)); ++level) {
      for (const std::string_view each : levels[level]) {
        if (!each.empty() && each == text) return level;
      }
    }
    return std::nullopt;
  }

  Constant binary(int lowest) {
    Constant left = unary();
    while (tokens_.is(Kind::Punctuation)) {
      const auto level = precedence(tokens_.peek().text);
      if (!level || *level < lowest) break;
      const std::string_view operation = tokens_.take().text;
      const Constant right = binary(*level + 1);
      left = left.is_float || right.is_float ? on_reals(operation, left, right) : on_integers(operation, left, right);
    }
    return left;
  }

  Constant on_reals(std::string_view operation, const Constant& left, const Constant& right) const {
    if (left.is_float != right.is_float) mismatch();
    const double a = real(left), b = real(right);
    if (operation == "+") return floating(a + b);
    if (operation == "-") return floating(a - b);
    if (operation == "*") return floating(a * b);
    if (operation == "/") return floating(a / b);
    if (operation == "<") return integer(a < b);
    if (operation == "<=") return integer(a <= b);
    if (operation == ">") return integer(a > b);
    if (operation == ">=") return integer(a >= b);
    if (operation == "==") return integer(a == b);
    if (operation == "!=") return integer(a != b);
    if (operation == "&&") return integer(a != 0 && b != 0);
    if (operation == "||") return integer(a != 0 || b != 0);
    tokens_.fail("'" + std::string(operation) + "' takes integers, not floating-point numbers");
  }

  Constant on_integers(std::string_view operation, const Constant& left, const Constant& right) const {
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const uint64_t a = left.bits, b = right.bits;
    const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    if (operation == "+") return integer(a + b, is_unsigned);
    if (operation == "-") return integer(a - b, is_unsigned);
    if (operation == "*") return integer(a * b, is_unsigned);
    if (operation == "/" || operation == "%") {
      if (b == 0) tokens_.fail("a constant expression divides by zero");
      const bool divide = operation == "/";
      if (is_unsigned) return integer(divide ? a / b : a % b, true);
      if (y == -1) return integer(divide ? 0 - a : 0);  // also of the smallest integer
      return integer(static_cast<uint64_t>(divide ? x / y : x % y));
    }
    if (operation == "<<") return integer(b < 64 ? a << b : 0, left.is_unsigned);
    if (operation == ">>") {
      if (left.is_unsigned) return integer(b < 64 ? a >> b : 0, true);
      return integer(static_cast<uint64_t>(x >> (b < 64 ? b : 63)));
    }
    if (operation == "<") return integer(is_unsigned ? a < b : x < y);
    if (operation == "<=") return integer(is_unsigned ? a <= b : x <= y);
    if (operation == ">") return integer(is_unsigned ? a > b : x > y);
    if (operation == ">=") return integer(is_unsigned ? a >= b : x >= y);
    if (operation == "==") return integer(a == b);
    if (operation == "!=") return integer(a != b);
    if (operation == "&") return integer(a & b, is_unsigned);
    if (operation == "|") return integer(a | b, is_unsigned);
    if (operation == "^") return integer(a ^ b, is_unsigned);
    if (operation == "&&") return integer(a != 0 && b != 0);
    return integer(a != 0 || b != 0);  // "||"
  }

  Constant unary() {
    const Deeper deeper(*this);
    if (tokens_.accept("-")) {
      Constant value = unary();
      if (!value.is_float) return integer(0 - value.bits, value.is_unsigned);
      value.bits ^= uint64_t{1} << (value.is_single ? 31 : 63);
      return value;
    }
    if (tokens_.accept("+")) return unary();
    if (tokens_.accept("!")) return integer(!truth(unary()));
    if (tokens_.accept("~")) {
      const Constant value = unary();
      if (value.is_float) tokens_.fail("'~' takes an integer, not a floating-point number");
      return integer(~value.bits, value.is_unsigned);
    }
    if (tokens_.accept("(")) {
      if (tokens_.is(Kind::Dotted)) {  // a cast
        const std::string_view type = tokens_.take().text;
        if (type != ".s64" && type != ".u64") tokens_.fail("a cast is to .s64 or .u64, not to " + std::string(type));
        tokens_.expect(")", "behind the type of a cast");
        const Constant value = unary();
        return integer(value.is_float ? static_cast<uint64_t>(static_cast<int64_t>(real(value))) : value.bits,
                       type == ".u64");
      }
      const Constant value = conditional();
      tokens_.expect(")", "behind a constant expression");
      return value;
    }
    if (tokens_.is(Kind::Word) && tokens_.peek().text == "WARP_SZ") {
      tokens_.take();
      return integer(32);
    }
    if (tokens_.is(Kind::Float)) {
      const Token token = tokens_.take();
      return {true, false, token.float_bits == 32, token.value};
    }
    if (!tokens_.is(Kind::Integer)) tokens_.require("a number");
    const Token token = tokens_.take();
    return integer(token.value, token.is_unsigned);
  }

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace

Constant constant_expression(TokenStream& tokens) { return Expression(tokens).conditional(); }

int64_t integer_expression(TokenStream& tokens) {
  const Constant value = constant_expression(tokens);
  if (value.is_float) tokens.fail("an integer is required, not a floating-point number");
  return static_cast<int64_t>(value.bits);
}

}  // namespace sim::ptx
