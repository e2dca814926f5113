#include "report/suppressions.h"

#include <fnmatch.h>

#include <algorithm>
#include <stdexcept>

namespace sim::report {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The part before the separator, which is removed with it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool fits(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

Suppressions::Suppressions(std::string_view text) {
  for (uint32_t number = 1; !text.empty(); ++number) {
    std::string_view line = cut(text, '\n');
    line = trimmed(cut(line, '#'));
    if (line.empty()) continue;
    Entry entry{.line = number, .text = std::string(line)};
    while (!line.empty()) {
      std::string_view field = cut(line, ';');
      const std::string name(trimmed(cut(field, ':')));
      const std::string pattern(trimmed(field));
      std::string* const place = name == "rule"     ? &entry.rule
                                 : name == "kernel" ? &entry.kernel
                                 : name == "file"   ? &entry.file
                                 : name == "line"   ? &entry.source_line
                                                    : nullptr;
      if (place == nullptr || pattern.empty()) {
        throw std::invalid_argument("line " + std::to_string(number) + ": '" + entry.text +
                                    "' is no list of rule, kernel, file and line, each with a colon and a pattern, "
                                    "separated by semicolons");
      }
      *place = pattern;
    }
    entries_.push_back(std::move(entry));
  }
}

bool Suppressions::take(const Finding& finding) {
  if (!finding.is_of_check() && !finding.is_tolerated) return false;
  const auto is_at = [&](const Entry& entry) {
    if (entry.file == "*" && entry.source_line == "*") return true;
    for (const Side* side : {&finding.first, &finding.second}) {
      for (const SourceLine& frame : side->at.frames) {
        if (fits(entry.file, frame.file) && fits(entry.source_line, std::to_string(frame.line))) return true;
      }
    }
    return false;
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return fits(entry.rule, finding.rule) && fits(entry.kernel, finding.kernel) && is_at(entry);
  });
  if (found == entries_.end()) return false;
  ++found->matches, ++taken_;
  return true;
}

std::vector<std::string> Suppressions::unmatched() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    if (entry.matches == 0) lines.push_back("line " + std::to_string(entry.line) + ": " + entry.text);
  }
  return lines;
}

}  // namespace sim::report
