#include "exec/tensor/sparsity.h"

#include "exec/core/op.h"

namespace sim::tensor {
namespace {

[[noreturn]] void bad_nibble(uint32_t nibble, const char* allowed) {
  throw Fault{Status::LaunchFailure, "the sparsity metadata hold the four bits " + base::hex(nibble) + "; " + allowed};
}

}  // namespace

Selection selected(uint32_t nibble) {
  const Selection where{static_cast<int>(nibble & 3), static_cast<int>(nibble >> 2 & 3)};
  if (where.first == where.second)
    bad_nibble(nibble, "they are two indices of two bits, which must differ (0x4, 0x8, 0xC, 0x9, 0xD, 0x6 or 0xE)");
  return where;
}

int selected_of_two(uint32_t nibble) {
  if (nibble != 0x4 && nibble != 0xE)
    bad_nibble(nibble, "of two elements of 32 bits, 0x4 selects the first and 0xE the second");
  return nibble == 0xE;
}

}  // namespace sim::tensor
