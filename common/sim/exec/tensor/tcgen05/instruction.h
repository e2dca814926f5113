// The instruction descriptor of tcgen05.mma: 32 bits that say shapes, types and transpositions.
#pragma once

#include <string>

#include "exec/tensor/kernels.h"

namespace sim::tcgen05 {

enum class Kind : uint8_t { F16, TF32, F8F6F4, I8 };

struct Instruction {
  int m, n, k;
  tensor::Format a, b;
  tensor::Result result;
  bool a_mn_major, b_mn_major, negate_a, negate_b;

  bool operator==(const Instruction&) const = default;
};

/// Decodes the descriptor for an instruction of this kind. `stationary`: tcgen05.mma.ws. Throws Fault on what does not
/// exist or is not supported.
Instruction decode_instruction(uint32_t bits, Kind kind, int group, bool stationary);

[[noreturn]] void bad_instruction(uint32_t bits, const std::string& message);

}  // namespace sim::tcgen05
