// The names that a program gives to parts of its dynamic shared memory.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace sim {

/// `count` consecutive parts of `bytes` bytes each, from `offset` of dynamic shared memory on.
struct SharedName {
  std::string name;
  uint32_t offset = 0, bytes = 0, count = 1;
};

/// One line each: offset, bytes of one part, count, name ("0 8 4 smem_full").
inline std::vector<SharedName> read_shared_names(const std::string& lines) {
  std::vector<SharedName> names;
  std::istringstream text(lines);
  for (SharedName each; text >> each.offset >> each.bytes >> each.count >> each.name;) {
    if (each.bytes > 0) names.push_back(each);
  }
  return names;
}

}  // namespace sim
