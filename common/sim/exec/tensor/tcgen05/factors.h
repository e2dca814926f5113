// Block scaling: the factors of rows of A and of columns of B, as they lie in tensor memory.
//
// Row r's factors are bytes of the cell in lane r % 32 and column r / 32 from the operand's address on, beginning at the byte
// that the instruction descriptor names. All four quarters of the lanes hold the same: each reads its own.
#pragma once

#include <array>
#include <cstdint>

#include "exec/tensor/tcgen05/instruction.h"
#include "machine/cta.h"

namespace sim::tcgen05 {

inline constexpr int kMostFactors = 4;
/// Columns of tensor memory that the factors of so many rows of A or columns of B take.
inline int factor_columns(int rows) { return (rows + 31) / 32; }

/// The bytes of a row's factors. Those that the instruction does not have are 0.
using FactorCodes = std::array<uint8_t, kMostFactors>;

/// Those of rows [first, first + count) of the operand at `column`, in one quarter of the lanes.
void read_factors(Cta& cta, const InstructionDescriptor& in, int column, int byte, int quarter, int first, int count,
                  FactorCodes* out);

/// What a byte stands for. `exponent` is the one that aligns terms: kZeroExponent of a zero, kSpecialExponent of a NaN.
struct Factor {
  float value;
  int16_t exponent;
};
Factor factor_of(uint8_t code, bool ue8m0);

/// Beyond this exponent of a factor, products with it may leave FP32.
inline constexpr int kWideFactor = 100;

}  // namespace sim::tcgen05
