// The two 16-bit formats, for operations that exist for both.
#pragma once

#include "exec/arithmetic/numeric.h"

namespace sim {

struct Half {                                   // F16
  static constexpr double kSmallest = 0x1p-14;  ///< of the normal numbers
  static constexpr uint16_t kExponent = 0x7C00;
  static constexpr uint16_t kOne = 0x3C00;
  static float widen(uint16_t bits) { return f16_to_float(bits); }
  static uint16_t narrow(double value) { return double_to_f16(value); }
};
struct Brain {  // BF16
  static constexpr double kSmallest = 0x1p-126;
  static constexpr uint16_t kExponent = 0x7F80;
  static constexpr uint16_t kOne = 0x3F80;
  static float widen(uint16_t bits) { return bf16_to_float(bits); }
  static uint16_t narrow(double value) { return double_to_bf16(value); }
};

}  // namespace sim
