// The stream of a text's tokens, as the parsers read it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace sim::ptx {

class TokenStream {
 public:
  using Kind = Token::Kind;
  explicit TokenStream(std::string_view text) : lexer_(text), ahead_{lexer_.next(), lexer_.next()} {}

  /// The next token, or (ahead: 1) the one after it.
  const Token& peek(size_t ahead = 0) const { return ahead_[ahead]; }
  Token take() { return std::exchange(ahead_[0], std::exchange(ahead_[1], lexer_.next())); }
  bool at_end() const { return peek().kind == Kind::End; }
  uint32_t line() const { return peek().line; }

  bool is(Kind kind, size_t ahead = 0) const { return peek(ahead).kind == kind; }
  bool is(std::string_view punctuation, size_t ahead = 0) const {
    return peek(ahead).kind == Kind::Punctuation && peek(ahead).text == punctuation;
  }
  bool is_dotted(std::string_view text) const { return is(Kind::Dotted) && peek().text == text; }
  bool accept(std::string_view punctuation) {
    if (!is(punctuation)) return false;
    take();
    return true;
  }
  bool accept_dotted(std::string_view text) {
    if (!is_dotted(text)) return false;
    take();
    return true;
  }

  [[noreturn]] void fail(std::string message) const { throw SyntaxError{line(), std::move(message)}; }
  /// Fails with "<what> is required, but here is '<token>'".
  [[noreturn]] void require(const std::string& what) const {
    fail(what + " is required, but here " + (at_end() ? "the text ends" : "is '" + std::string(peek().text) + "'"));
  }
  void expect(std::string_view punctuation, const char* where) {
    if (!accept(punctuation)) require("'" + std::string(punctuation) + "' " + where);
  }
  std::string_view name(const char* what) {
    if (!is(Kind::Word) || peek().text == "_" || peek().text == "WARP_SZ") require(what);
    return take().text;
  }
  std::string_view dotted(const char* what) {
    if (!is(Kind::Dotted)) require(what);
    return take().text;
  }
  std::string_view string(const char* what) {
    if (!is(Kind::String)) require(what);
    return take().text;
  }
  /// An unsigned integer literal.
  uint64_t number(const char* what) {
    if (!is(Kind::Integer)) require(what);
    return take().value;
  }

 private:
  Lexer lexer_;
  std::array<Token, 2> ahead_;
};

/// A constant expression's value: an integer or a floating-point number.
struct Constant {
  bool is_float = false, is_unsigned = false;
  bool is_single = false;  ///< written 0fXXXXXXXX
  uint64_t bits = 0;       ///< of the integer, of the double, or of the float
};

/// Parses a constant expression: literals, WARP_SZ, the operators of C, and casts to .s64 and .u64.
Constant constant_expression(TokenStream& tokens);
/// The same, of integers only.
int64_t integer_expression(TokenStream& tokens);

}  // namespace sim::ptx
