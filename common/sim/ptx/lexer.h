// Splits PTX text into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sim::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,        ///< an identifier: "add", "%r1", "$L__BB0_2"; "_" alone
    Dotted,      ///< a directive, modifier, type or selector with its dot: ".reg", ".s32", ".shared::cta", ".x"
    Integer,     ///< value; 0x.., 0b.., 0.., decimal, U suffix
    Float,       ///< 0fXXXXXXXX, 0dXXXXXXXXXXXXXXXX (value: bits), 1.5 (value: bits of the double)
    String,      ///< text without quotes
    Punctuation  ///< one character, or one of << >> <= >= == != && ||
  };
  Kind kind = Kind::End;
  char punctuation = 0;  ///< its first character
  uint8_t float_bits = 64;
  bool is_unsigned = false;  ///< an integer with the suffix U, or one that only uint64_t holds
  uint32_t line = 1;
  uint64_t value = 0;
  std::string_view text;  ///< points into the source
};

/// Produces the tokens of a text on demand, since a text may be long and most tokens are read once. The text must
/// outlive them. Throws SyntaxError.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// The next token; after the last one always Kind::End.
  Token next();

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  [[noreturn]] void fail(std::string message) const;
  void skip_blank();
  bool is_line_mark() const;
  bool starts_fraction() const;
  Token token(Token::Kind kind, size_t bytes);
  Token word();
  Token dotted();
  Token string();
  Token punctuation();
  Token number();
  Token bit_pattern(size_t digits);
  Token integer(size_t prefix, int base);
  Token real();

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace sim::ptx
