#include "text.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace harness {

std::string format(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string bytes_text(double bytes) {
  if (bytes < 1000) return format("%.0f B", bytes);
  const char* unit = "KMGTPE";
  bytes /= 1000;
  while (bytes >= 999.5 && unit[1] != '\0') {
    bytes /= 1000;
    ++unit;
  }
  return format("%.3g %cB", bytes, *unit);
}

std::string shell_quoted(const std::string& word) {
  constexpr const char* HARMLESS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%";
  if (!word.empty() && word.find_first_not_of(HARMLESS) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string count_text(long long value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > (text[0] == '-' ? 4u : 3u);) text.insert(at -= 3, ",");
  return text;
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += format("\\u%04x", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace harness
