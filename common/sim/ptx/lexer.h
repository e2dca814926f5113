// PTX text to tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

/// All tokens of `text`, an End token last. Throws SyntaxError. The source must outlive the tokens.
std::vector<Token> tokenize(std::string_view text);

}  // namespace sim::ptx
