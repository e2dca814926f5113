#include "exec/tensor/tcgen05/factors.h"

#include <cmath>

#include "exec/arithmetic/numeric.h"
#include "exec/tensor/tile.h"

namespace sim::tcgen05 {

void read_factors(Cta& cta, const InstructionDescriptor& in, int column, int byte, int quarter, int first, int count,
                  FactorCodes* out) {
  for (int i = 0; i < count; ++i) {
    const int row = first + i;
    const uint32_t cell = cta.tmem.column(column + row / 32)[32 * quarter + row % 32];
    out[i] = {};
    for (int f = 0; f < in.factors; ++f) out[i][static_cast<size_t>(f)] = static_cast<uint8_t>(cell >> 8 * (byte + f));
  }
}

Factor factor_of(uint8_t code, bool ue8m0) {
  if (ue8m0) {
    if (code == 0xFF) return {NAN, tensor::kSpecialExponent};
    return {std::ldexp(1.0f, code - 127), static_cast<int16_t>(code - 127)};
  }
  const float value = e4m3_to_float(code & 0x7F);  // no sign
  return {value, tensor::model_exponent(value, tensor::min_exponent(tensor::Format::E4M3))};
}

}  // namespace sim::tcgen05
