#include "check/order/finding.h"

#include <algorithm>

namespace sim::order {

std::vector<Finding> Findings::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> result;
  for (const auto& [key, entry] : entries_) result.push_back(entry.finding);
  return result;
}

bool Findings::any_errors() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& each) { return each.first.grade != Grade::Habit; });
}

namespace {

std::string with_commas(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string title(const Finding& finding) {
  if (finding.grade == Grade::Habit) return "habit " + std::string(text_of(finding.habit).name);
  return "error (" + std::string(text_of(finding.rule).name) + ")" + (finding.grade == Grade::Strict ? ", strict" : "");
}

std::string what(const Finding& finding) {
  return std::string(finding.second.instruction.empty() ? "It " : "The second ") + finding.what +
         (finding.where.empty() ? "" : ", at " + finding.where) + ".";
}

}  // namespace

std::string sentence(const Finding& finding) {
  return title(finding) + ": " + what(finding) + " Missing: " + finding.missing + ".";
}

std::string report(const Finding& finding, const std::string& kernel) {
  std::string text = "sim: check: " + title(finding) + " in kernel " + kernel + "\n";
  text += "  " + finding.first.instruction + "\n    " + finding.first.who + "\n";
  if (!finding.second.instruction.empty())
    text += "  " + finding.second.instruction + "\n    " + finding.second.who + "\n";
  text += "  " + what(finding) + "\n  Missing: " + finding.missing + ".\n";
  if (finding.count > 1) {
    text += "  " + with_commas(finding.count) + " times";
    if (finding.bytes > 0) text += ", " + with_commas(finding.bytes) + " bytes";
    text += " in all.\n";
  }
  return text;
}

}  // namespace sim::order
