#include "common/base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace base {
namespace {

/// The names at the beginning of a mangled name: "_ZN7cutlass13device_kernelIN..." gives "cutlass::device_kernel<...>".
/// The demangler gives up on template arguments as long as CUTLASS's.
std::string leading_names(std::string_view mangled) {
  std::string name;
  std::string_view rest = mangled.substr(mangled.starts_with("_ZN") ? 3 : 2);
  for (std::size_t length = 0; !rest.empty() && rest[0] >= '1' && rest[0] <= '9'; rest.remove_prefix(length)) {
    const char* const digits_end = std::from_chars(rest.data(), rest.data() + rest.size(), length).ptr;
    rest.remove_prefix(static_cast<std::size_t>(digits_end - rest.data()));
    if (length > rest.size()) return std::string(mangled);
    const std::string_view part = rest.substr(0, length);
    name += (name.empty() ? "" : "::") + std::string(part.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : part);
  }
  if (name.empty()) return std::string(mangled);
  return rest.starts_with('I') ? name + "<...>" : name;
}

}  // namespace

std::string readable_name(const std::string& mangled) {
  // nvcc -rdc puts the file before the name of what only that file sees.
  if (mangled.starts_with("__nv_static_")) {
    if (const std::size_t at = mangled.find("__Z"); at != mangled.npos) return readable_name(mangled.substr(at + 1));
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return mangled.starts_with("_Z") ? leading_names(mangled) : mangled;
  std::string name = demangled.get();
  // The list of parameters starts at the last parenthesis that is outside template arguments, and closes at the end.
  if (name.ends_with(')')) {
    std::size_t at = name.size();
    for (int depth = 0; at > 0;) {
      depth += name[--at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
      if (depth == 0) break;
    }
    name.resize(at);
  }
  if (name.starts_with("void ")) name.erase(0, 5);  // a template's name starts with what it returns: void, of a kernel
  constexpr std::size_t LONGEST = 120;
  if (name.size() > LONGEST) name = name.substr(0, std::min(name.find('<'), LONGEST)) + "<...>";
  return name;
}

}  // namespace base
