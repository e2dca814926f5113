#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <string>

#include "ptx/module.h"

namespace sim::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool continues_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '.'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 5);
    for (;;) {
      skip_blank();
      tokens.push_back(next());
      if (tokens.back().kind == Token::Kind::End) return tokens;
    }
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        at_ += 2;
        while (at_ < text_.size() && !(text_[at_] == '*' && peek(1) == '/')) line_ += text_[at_++] == '\n';
        at_ += 2;
      } else {
        return;
      }
    }
  }

  Token next() {
    Token token;
    token.line = line_;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (starts_word(c) && !(c == '.' && is_digit(peek(1)))) return word();
    if (c == '"') return string();
    token.kind = Token::Kind::Punctuation;
    token.punctuation = c;
    token.text = text_.substr(at_++, 1);
    return token;
  }

  Token word() {
    const size_t begin = at_++;
    // "::" belongs to a modifier ("shared::cluster"), a single ":" ends a label.
    while (at_ < text_.size()) {
      if (continues_word(text_[at_])) {
        ++at_;
      } else if (text_[at_] == ':' && peek(1) == ':' && (is_letter(peek(2)) || is_digit(peek(2)) || peek(2) == '_')) {
        at_ += 2;
      } else {
        break;
      }
    }
    Token token;
    token.kind = Token::Kind::Word;
    token.line = line_;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  Token string() {
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      ++at_;
    }
    Token token;
    token.kind = Token::Kind::String;
    token.line = line_;
    token.text = text_.substr(begin, at_ - begin);
    ++at_;
    return token;
  }

  Token number() {
    Token token;
    token.line = line_;
    const size_t begin = at_;
    const char second = peek(1);
    if (text_[at_] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
      token.kind = Token::Kind::Float;
      token.float_bits = (second == 'f' || second == 'F') ? 32 : 64;
      at_ += 2;
      token.value = digits(16);
    } else if (text_[at_] == '0' && (second == 'x' || second == 'X')) {
      token.kind = Token::Kind::Integer;
      at_ += 2;
      token.value = digits(16);
    } else if (text_[at_] == '0' && (second == 'b' || second == 'B')) {
      token.kind = Token::Kind::Integer;
      at_ += 2;
      token.value = digits(2);
    } else {
      size_t end = at_;
      while (end < text_.size() && is_digit(text_[end])) ++end;
      const bool is_real = end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E') &&
                           (is_digit(end + 1 < text_.size() ? text_[end + 1] : '\0') || text_[end] != '.');
      if (is_real) {
        char* stop = nullptr;
        const std::string copy(text_.substr(at_, 64));
        token.kind = Token::Kind::Float;
        token.value = std::bit_cast<uint64_t>(std::strtod(copy.c_str(), &stop));
        at_ += static_cast<size_t>(stop - copy.c_str());
      } else {
        token.kind = Token::Kind::Integer;
        token.value = digits(text_[at_] == '0' && end > at_ + 1 ? 8 : 10);
      }
    }
    if (token.kind == Token::Kind::Integer && peek() == 'U') ++at_;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  uint64_t digits(int base) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, base);
    if (error != std::errc()) throw SyntaxError{line_, "a number that does not fit 64 bits"};
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace sim::ptx
