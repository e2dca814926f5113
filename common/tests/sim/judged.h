// What the simulated device's parser and rules say of a PTX text, in one line: sim_judge prints it.
#pragma once

#include <algorithm>
#include <string>

#include "ptx/module.h"
#include "ptx/rules/rules.h"

namespace sim::test {

inline std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

/// "ok", or "no LINE: SENTENCE" and more of that behind tabs.
inline std::string judged(const std::string& text) {
  std::string said;
  try {
    const auto module = ptx::parse(text, "text");
    for (const ptx::RuleViolation& finding : ptx::check(*module))
      said += "\t" + std::to_string(finding.line) + ": " + in_one_line(finding.message);
  } catch (const ptx::SyntaxError& error) {
    said = "\t" + std::to_string(error.line) + ": " + in_one_line(error.message);
  }
  return said.empty() ? "ok" : "no" + said;
}

}  // namespace sim::test
