// Text of the harness's messages.
#pragma once

#include <string>

#include "common/base/text.h"

namespace harness {

using base::format;
using base::grouped;
using base::short_bytes;

/// `word` as a POSIX shell would have to read it: unchanged if harmless, otherwise in single quotes.
std::string shell_quoted(const std::string& word);

}  // namespace harness
