// What the simulated device says to its user: sentences on standard error, each with the prefix "sim: ".
#pragma once

#include <array>
#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>

namespace sim::runtime {

/// printf into a string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format_list(const char* pattern, std::va_list args) __attribute__((format(printf, 1, 0)));

/// 1234567 -> "1,234,567".
std::string grouped(unsigned long long value);
/// "1,234 bytes", "1 byte".
std::string in_bytes(unsigned long long value);
/// "2 x 1 x 1".
std::string extents(const std::array<uint32_t, 3>& dim);

/// The source name of a kernel without its parameters: "_ZN7level015gemmEPi" -> "level01::gemm".
std::string readable(std::string_view mangled_name);

/// Writes one sentence (or a report of several lines). A sentence that was already written is not repeated: a program
/// that makes the same mistake in a loop is told once.
void say(std::string_view sentence);

/// Exit codes that mean the simulated device, not the program.
inline constexpr int EXIT_USAGE = 2;
inline constexpr int EXIT_SIMULATION_FAILED = 86;

/// Ends the process at once, without destructors, after flushing what the program has written to stdio.
[[noreturn]] void stop(int exit_code);

}  // namespace sim::runtime
