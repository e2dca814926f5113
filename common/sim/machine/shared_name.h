// What a program calls the parts of its dynamic shared memory.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

/// `count` equal pieces, one behind the other, from `offset` of dynamic shared memory on.
struct SharedName {
  std::string name;
  uint32_t offset = 0, bytes = 0, count = 1;
};

}  // namespace sim
