// Small text helpers shared by the messages of the harness.
#pragma once

#include <string>

namespace harness {

/// `printf` into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

/// A byte count for people: "512 B", "25.6 KB", "1.21 GB" (powers of 1000).
std::string bytes_text(double bytes);

/// A whole number for people: "24,576".
std::string count_text(long long value);

/// `text` as a JSON string, quotes included.
std::string json_string(const std::string& text);

/// `word` as a POSIX shell would have to read it: unchanged if harmless, otherwise in single quotes.
std::string shell_quoted(const std::string& word);

}  // namespace harness
