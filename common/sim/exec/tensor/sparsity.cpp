#include "exec/tensor/sparsity.h"

#include "exec/core/op.h"

namespace sim::tensor {
namespace {

[[noreturn]] void bad_nibble(uint32_t nibble, const char* allowed) {
  throw Fault{Status::LaunchFailure, "the sparsity metadata hold the four bits " + base::hex(nibble) + "; " + allowed};
}

}  // namespace

void equal_indices(uint32_t nibble) {
  bad_nibble(nibble,
             "they are two indices of two bits, which must differ (0x4, 0x8, 0xC, 0x9, 0xD, 0x6 or 0xE) where A is not "
             "zero");
}

void neither_of_two(uint32_t nibble) {
  bad_nibble(nibble, "of two elements of 32 bits, 0x4 selects the first and 0xE the second");
}

}  // namespace sim::tensor
