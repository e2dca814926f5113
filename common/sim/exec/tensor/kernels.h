// The multiplications: 32 lanes of accumulators at a time. Two arithmetics:
//
//   fast   one FP32 fused multiply-add per product, in order of k; of BF16 in pairs of k (Arithmetic::pairs). The same
//          on every machine.
//   exact  the tensor core's own: all products of an instruction and the accumulator are aligned to the greatest
//          exponent, truncated to `fraction_bits` binary places, added exactly, and the sum truncated to FP32.
//          Bit-identical to wgmma on an H200 (levels.digests compares whole products); assumed for tcgen05.
//
// Compiled for several instruction sets; `kernels()` picks the best that this processor has.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/tensor/tile.h"

namespace sim::tensor {

/// The format of the accumulator after an instruction.
enum class ResultFormat : uint8_t { F32, F16, S32 };

struct Arithmetic {
  bool exact = true;
  int k = 16;              ///< products per instruction
  int fraction_bits = 25;  ///< kept when terms are aligned: 25; 13 for FP8 on Hopper, of an FP32 result too
  ResultFormat result = ResultFormat::F32;
  /// In fast arithmetic, if multiplies_pairs is true: of each two products the odd k's comes first, and subnormal
  /// numbers, including sums, count as zeros. An instruction of some processors does this, at twice the rate.
  bool pairs = false;
  /// Of fast arithmetic: instructions one after the other into the same accumulators, which stay in registers. The
  /// tiles of B of the next one begin `pitch` tiles further on.
  int steps = 1, pitch = 0;
};
inline constexpr int kMaxSteps = 4;

/// Whether fast arithmetic multiplies these formats in pairs.
inline bool multiplies_pairs(Format a, Format b, ResultFormat result) {
  return a == Format::BF16 && b == Format::BF16 && result == ResultFormat::F32;
}

/// The form into which the elements of an operand are unpacked.
struct Packing {
  Format format = Format::F16;
  int k = 16;
  bool negate = false;
  bool exponents = true;  ///< exact arithmetic needs them
  bool pairs = false;     ///< as in Arithmetic; the layout of such a tile depends on the instruction set
};

/// The packing of an operand with as many k as the arithmetic takes.
inline Packing packing_for(const Arithmetic& how, Format format, bool negate) {
  return {.format = format, .k = how.k, .negate = negate, .exponents = how.exact, .pairs = how.pairs};
}

struct Kernels {
  /// acc[column] points at 32 accumulators (FP32 bits; F16 results in the low half of a cell; S32 bits). B per column.
  /// With `accumulate` false the old contents are ignored. Only the lanes in `mask` are written. a[step].
  void (*columns)(const Arithmetic& how, const LaneTile* a, const ColumnTile* b, uint32_t* const* acc, int columns,
                  bool accumulate, uint32_t mask);
  /// The same for one sparse instruction.
  void (*deep_columns)(const Arithmetic& how, const DeepLaneTile& a, const DeepColumnTile* b, uint32_t* const* acc,
                       int columns, bool accumulate, uint32_t mask);
  /// The same for FP4 with factors. Exact: the sum of each block's products, times both factors, aligned to the
  /// greatest exponent of factors and accumulator, truncated to 35 binary places, and added.
  void (*fp4_columns)(const Arithmetic& how, const Fp4Lanes& a, const Fp4Column* b, uint32_t* const* acc, int columns,
                      bool accumulate, uint32_t mask);
  /// Hopper fragments of one warp: registers in groups of four, (rows +0, +8) x (even, odd columns): register 4g + 2h +
  /// p uses a[2 * step + h] and b[2g + p].
  void (*fragments)(const Arithmetic& how, const LaneTile* a, const QuadTile* b, uint32_t* const* acc, int groups,
                    bool accumulate);
  /// The same for one sparse instruction.
  void (*deep_fragments)(const Arithmetic& how, const DeepLaneTile* a, const DeepQuadTile* b, uint32_t* const* acc,
                         int groups, bool accumulate);
  /// 32 / `repeat` rows of A, each for `repeat` lanes (1 or 4).
  void (*pack_lanes)(const Packing& how, const Row* rows, int repeat, LaneTile* out);
  /// `count` columns of B, a tile for each.
  void (*pack_columns)(const Packing& how, const Row* rows, int count, ColumnTile* out);
  /// `count` columns of B (a multiple of 8), two tiles for every eight: the even ones, the odd ones.
  void (*pack_quads)(const Packing& how, const Row* rows, int count, QuadTile* out);
  const char* name;
};

/// The fastest kernels for this processor.
const Kernels& kernels();
/// All kernels that this processor can run, fastest first. Their results are bit-identical.
std::vector<Kernels> all_kernels();

/// The reference of both: one output, straight from the definition, any input. `acc` as above. Every product is
/// multiplied by 2^scale.
uint32_t multiply_one(const Arithmetic& how, const float* a, const int16_t* a_exponent, const float* b,
                      const int16_t* b_exponent, uint32_t acc, bool accumulate, int scale = 0);

}  // namespace sim::tensor
