#include "common/base/json.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "common/base/text.h"

namespace base {
namespace {

/// The bytes of the character of UTF-8 that `text` starts with; 0 if it does not start with one.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const std::uint8_t first = byte(0), second = byte(1);
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;  // a byte from a character's middle, or the long form of a short character
  if (first < 0xE0) return follows(1) ? 2 : 0;
  if (first < 0xF0) {  // neither long forms nor surrogates
    const bool good = follows(1) && !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second >= 0xA0);
    return good && follows(2) ? 3 : 0;
  }
  if (first > 0xF4) return 0;  // beyond U+10FFFF, as is the second half of 0xF4
  const bool good = follows(1) && !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second >= 0x90);
  return good && follows(2) && follows(3) ? 4 : 0;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<std::uint8_t>(c) < 0x20) {
      out += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (std::exchange(after_key_, false)) return;
  if (!first_) out_ += layout_ == Layout::row ? ", " : ",";
  first_ = false;
  if (depth_ > 0 && layout_ == Layout::lines) break_line();
}

void JsonWriter::break_line() {
  out_ += '\n';
  out_.append(2 * static_cast<std::size_t>(depth_), ' ');
}

void JsonWriter::key(std::string_view name) {
  value(name);
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
}

void JsonWriter::value(std::string_view text) {
  separate();
  append_quoted(out_, text);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return raw("null");
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  raw({text, static_cast<std::size_t>(end - text)});
}

void JsonWriter::value(double number, int digits) {
  raw(std::isfinite(number) ? format("%.*g", digits, number) : "null");
}

}  // namespace base
