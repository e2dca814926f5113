#include "ptx/lexer.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "ptx/module.h"

namespace sim::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
bool continues_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }

using Kind = Token::Kind;

}  // namespace

void Lexer::fail(std::string message) const { throw SyntaxError{line_, std::move(message)}; }

void Lexer::skip_blank() {
  bool line_starts = at_ == 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
      line_starts = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if ((c == '/' && peek(1) == '/') || (c == '#' && line_starts && is_line_mark())) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '/' && peek(1) == '*') {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail("a comment is opened by '/*' and never closed by '*/'");
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

// A preprocessor's line mark: `# 12 "file"` at the start of a line.
bool Lexer::is_line_mark() const {
  size_t ahead = 1;
  while (peek(ahead) == ' ') ++ahead;
  return is_digit(peek(ahead));
}

Token Lexer::token(Kind kind, size_t bytes) {
  Token made;
  made.kind = kind;
  made.line = line_;
  made.text = text_.substr(at_, bytes);
  at_ += made.text.size();
  return made;
}

Token Lexer::next() {
  skip_blank();
  if (at_ >= text_.size()) return token(Kind::End, 0);
  const char c = text_[at_];
  if (is_digit(c)) return number();
  if (c == '.') return starts_fraction() ? real() : dotted();
  if (starts_word(c)) return word();
  if (c == '"') return string();
  return punctuation();
}

// ".5" is a number, ".1d" and ".16x64b" are modifiers.
bool Lexer::starts_fraction() const {
  size_t ahead = 1;
  while (is_digit(peek(ahead))) ++ahead;
  if (ahead == 1) return false;
  if (peek(ahead) == 'e' || peek(ahead) == 'E') {
    ++ahead;
    if (peek(ahead) == '+' || peek(ahead) == '-') ++ahead;
    while (is_digit(peek(ahead))) ++ahead;
  }
  return !continues_word(peek(ahead));
}

Token Lexer::word() {
  size_t end = at_ + 1;
  while (end < text_.size() && continues_word(text_[end])) ++end;
  if (end == at_ + 1 && text_[at_] == '%') return punctuation();
  if (end == at_ + 1 && text_[at_] == '$') fail("a name is longer than '$'");
  return token(Kind::Word, end - at_);
}

Token Lexer::dotted() {
  size_t end = at_ + 1;
  while (end < text_.size()) {
    if (continues_word(text_[end])) {
      ++end;
    } else if (text_.substr(end, 2) == "::" && end + 2 < text_.size() && continues_word(text_[end + 2])) {
      end += 2;  // part of the modifier ("shared::cluster"); a single ':' ends a label
    } else {
      break;
    }
  }
  if (end == at_ + 1) fail("a '.' stands alone: a directive or modifier must follow it at once");
  return token(Kind::Dotted, end - at_);
}

Token Lexer::string() {
  const size_t end = text_.find('"', at_ + 1);
  if (end == std::string_view::npos) fail("a string is opened by '\"' and never closed");
  Token made = token(Kind::String, end + 1 - at_);
  for (const char c : made.text) line_ += c == '\n';
  made.text = made.text.substr(1, made.text.size() - 2);
  return made;
}

Token Lexer::punctuation() {
  constexpr std::string_view singles = ",;:{}[]()+-*/%|&^~!@<>?=";
  constexpr std::string_view pairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  const char c = text_[at_];
  if (singles.find(c) == std::string_view::npos) {
    const auto code = static_cast<unsigned char>(c);
    fail(code > ' ' && code < 127 ? std::string("the character '") + c + "' has no meaning in PTX"
                                  : "a character with the code " + std::to_string(code) + " has no meaning in PTX");
  }
  size_t bytes = 1;
  for (const std::string_view pair : pairs) {
    if (text_.substr(at_, 2) == pair) bytes = 2;
  }
  Token made = token(Kind::Punctuation, bytes);
  made.punctuation = c;
  return made;
}

Token Lexer::number() {
  const char second = peek(1);
  Token made;
  if (text_[at_] == '0' && (second == 'f' || second == 'F')) {
    made = bit_pattern(8);
  } else if (text_[at_] == '0' && (second == 'd' || second == 'D')) {
    made = bit_pattern(16);
  } else if (text_[at_] == '0' && (second == 'x' || second == 'X')) {
    made = integer(2, 16);
  } else if (text_[at_] == '0' && (second == 'b' || second == 'B')) {
    made = integer(2, 2);
  } else {
    size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const char behind = end < text_.size() ? text_[end] : '\0';
    if (behind == '.' || behind == 'e' || behind == 'E') return real();
    made = integer(0, text_[at_] == '0' && end > at_ + 1 ? 8 : 10);
  }
  if (continues_word(peek())) {
    fail("the number " + std::string(made.text) + " runs into '" + peek() +
         "': numbers are decimal, 0x (hexadecimal), 0b (binary), 0 (octal), 0f with 8 or 0d with 16 digits");
  }
  return made;
}

Token Lexer::bit_pattern(size_t digits) {
  for (size_t i = 0; i < digits; ++i) {
    if (!is_hex(peek(2 + i)))
      fail("0" + std::string(1, peek(1)) + " must be followed by exactly " + std::to_string(digits) +
           " hexadecimal digits");
  }
  Token made = token(Kind::Float, 2 + digits);
  made.float_bits = static_cast<uint8_t>(4 * digits);
  std::from_chars(made.text.data() + 2, made.text.data() + made.text.size(), made.value, 16);
  return made;
}

Token Lexer::integer(size_t prefix, int base) {
  uint64_t value = 0;
  const char* const first = text_.data() + at_ + prefix;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value, base);
  if (error == std::errc::result_out_of_range) fail("a number that does not fit 64 bits");
  if (error != std::errc()) fail("digits must follow '" + std::string(text_.substr(at_, prefix)) + "'");
  const auto digits = static_cast<size_t>(end - first);
  const bool suffix = peek(prefix + digits) == 'U';
  Token made = token(Kind::Integer, prefix + digits + (suffix ? 1 : 0));
  made.value = value;
  made.is_unsigned = suffix || value > uint64_t{0x7FFF'FFFF'FFFF'FFFF};
  return made;
}

Token Lexer::real() {
  size_t end = at_;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  if (end < text_.size() && text_[end] == '.') ++end;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    ++end;
    if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
    if (end >= text_.size() || !is_digit(text_[end])) fail("digits must follow the 'e' of a number");
    while (end < text_.size() && is_digit(text_[end])) ++end;
  }
  Token made = token(Kind::Float, end - at_);
  const double value = std::strtod(std::string(made.text).c_str(), nullptr);
  if (std::isinf(value) || (value == 0 && made.text.find_first_of("123456789") < made.text.find_first_of("eE")))
    fail("the number " + std::string(made.text) + " does not fit a double");
  made.value = std::bit_cast<uint64_t>(value);
  if (continues_word(peek())) fail("the number " + std::string(made.text) + " runs into '" + peek() + "'");
  return made;
}

}  // namespace sim::ptx
