// Text for people: what messages of the harness and of the simulated device are made of.
#pragma once

#include <concepts>
#include <cstdarg>
#include <cstdint>
#include <string>

namespace base {

/// `printf` into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);
[[gnu::format(printf, 1, 0)]] std::string format_list(const char* pattern, std::va_list arguments);

/// The decimal `digits`, of which the first may be a sign, in groups of three: "24,576", "-1,000".
std::string group_digits(std::string digits);

/// "24,576"
template <std::integral T>
std::string grouped(T value) {
  return group_digits(std::to_string(value));
}

/// "1,234 bytes", "1 byte"
std::string in_bytes(std::uint64_t bytes);

/// "512 B", "25.6 KB", "1.21 GB" (powers of 1000)
std::string short_bytes(double bytes);

/// "0x1a0"
std::string hex(std::uint64_t value);
/// "00ff": two digits a byte.
std::string in_hex(std::string_view bytes);

}  // namespace base
