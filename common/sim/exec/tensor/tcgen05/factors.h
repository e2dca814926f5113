// Block scaling: the factors of rows of A and of columns of B in tensor memory.
//
// Row r's factors are bytes of the cell in lane r % 32 and column r / 32 from the operand's address on, beginning at
// the byte that the instruction descriptor names. All four quarters of the lanes hold copies; each quarter reads its
// own.
#pragma once

#include <array>
#include <cstdint>

#include "exec/tensor/tcgen05/instruction.h"
#include "machine/cta.h"

namespace sim::tcgen05 {

inline constexpr int kMostFactors = 4;
/// Columns of tensor memory for the factors of `rows` rows of A or columns of B.
inline int factor_columns(int rows) { return (rows + 31) / 32; }

/// The bytes of a row's factors; unused ones are 0.
using FactorCodes = std::array<uint8_t, kMostFactors>;

/// Reads the factors of rows [first, first + count) of the operand at `column`, in one quarter of the lanes.
void read_factors(Cta& cta, const InstructionDescriptor& in, int column, int byte, int quarter, int first, int count,
                  FactorCodes* out);

/// The value of a byte. `exponent` is used to align terms: kZeroExponent for a zero, kSpecialExponent for a NaN.
struct Factor {
  float value;
  int16_t exponent;
};
Factor factor_of(uint8_t code, bool ue8m0);

/// Beyond this exponent of a factor, products with it may leave FP32.
inline constexpr int kWideFactor = 100;

}  // namespace sim::tcgen05
