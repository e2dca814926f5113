#include "common/base/text.h"

#include <cinttypes>
#include <cstdio>

namespace base {

std::string format_list(const char* pattern, std::va_list arguments) {
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string format(const char* pattern, ...) {
  std::va_list arguments;
  va_start(arguments, pattern);
  std::string text = format_list(pattern, arguments);
  va_end(arguments);
  return text;
}

std::string group_digits(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string in_bytes(std::uint64_t bytes) { return grouped(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string short_bytes(double bytes) {
  if (bytes < 1000) return format("%.0f B", bytes);
  const char* unit = "KMGTPE";
  bytes /= 1000;
  while (bytes >= 999.5 && unit[1] != '\0') {
    bytes /= 1000;
    ++unit;
  }
  return format("%.3g %cB", bytes, *unit);
}

std::string hex(std::uint64_t value) { return format("0x%" PRIx64, value); }

std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += format("%02x", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace base
