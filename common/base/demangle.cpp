#include "common/base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace base {

std::string readable_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return mangled;
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
