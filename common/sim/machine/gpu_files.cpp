#include "machine/gpu_files.h"

#include <algorithm>
#include <stdexcept>

namespace sim {
namespace {

/// The fields of a line; those in quotes may contain commas.
std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      all.emplace_back();
    else
      all.back() += c;
  }
  return all;
}

}  // namespace

std::vector<GpuFact> read_gpu_file(std::string_view csv) {
  std::vector<GpuFact> facts;
  size_t number = 0;
  for (size_t at = 0; at < csv.size(); ++number) {
    const size_t end = std::min(csv.find('\n', at), csv.size());
    const std::string_view line = csv.substr(at, end - at);
    at = end + 1;
    if (number == 0 || line.empty()) continue;
    const std::vector<std::string> parts = fields(line);
    if (parts.size() != 5)
      throw std::runtime_error("line " + std::to_string(number + 1) +
                               " of a GPU's file: not name,value,unit,kind,source");
    facts.push_back({parts[0], parts[1], parts[2], parts[3], parts[4]});
  }
  return facts;
}

}  // namespace sim
