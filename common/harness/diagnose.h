// What does a wrong D look like? Tries a list of explanations on some of the wrong elements.
#pragma once

#include <span>
#include <string>

#include "verify.h"

namespace harness {

/// One sentence, or an empty string when no explanation fits three quarters of `elements` (wrong ones, with finite or
/// non-finite d).
std::string diagnose(const Inputs& inputs, std::span<const Element> elements);

}  // namespace harness
