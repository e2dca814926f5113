#include "runtime/message.h"

#include <cxxabi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_set>

namespace sim::runtime {

std::string format_list(const char* pattern, std::va_list args) {
  std::va_list again;
  va_copy(again, args);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, pattern, args)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string format(const char* pattern, ...) {
  std::va_list args;
  va_start(args, pattern);
  std::string text = format_list(pattern, args);
  va_end(args);
  return text;
}

std::string grouped(unsigned long long value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string in_bytes(unsigned long long value) { return grouped(value) + (value == 1 ? " byte" : " bytes"); }

std::string extents(const std::array<uint32_t, 3>& dim) {
  return grouped(dim[0]) + " x " + grouped(dim[1]) + " x " + grouped(dim[2]);
}

std::string readable(std::string_view mangled_name) {
  std::string name(mangled_name);
  int status = 0;
  char* demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (status != 0 || demangled == nullptr) return name;
  name = demangled;
  std::free(demangled);
  // The parameter list starts at the last parenthesis that is outside template arguments and closes at the end.
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) {
      name.resize(at);
      break;
    }
  }
  // A template's name starts with its return type, which for a kernel is always void.
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

void say(std::string_view sentence) {
  static std::mutex mutex;
  static auto& said = *new std::unordered_set<std::string>;      // never destroyed: static destructors may still speak
  if (sentence.starts_with("sim: ")) sentence.remove_prefix(5);  // a report of the device brings its own
  std::lock_guard lock(mutex);
  if (!said.emplace(sentence).second) return;
  std::fprintf(stderr, "sim: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::fflush(stderr);
}

void stop(int exit_code) {
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace sim::runtime
