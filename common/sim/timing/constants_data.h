// The files of constants, as text. CMake generates constants_data.cpp from them.
#pragma once

#include <string_view>

namespace sim::timing {
extern const std::string_view H200_CONSTANTS, B200_CONSTANTS;
}  // namespace sim::timing
