// Names of C++ functions as their authors wrote them.
#pragma once

#include <string>

namespace base {

/// A function's name without its parameters and what it returns: "_ZN7level015gemmEPi" gives "level01::gemm". A
/// template's arguments are left out where they would fill lines. What is not a mangled name stays as it is.
std::string readable_name(const std::string& mangled);

}  // namespace base
