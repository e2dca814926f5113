// Operand tiles of tensor-core instructions, unpacked from shared memory into the order in which the kernels read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sim::tensor {

enum class Format : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, E2M3, E3M2, E2M1 };
/// Bytes of an element in memory; the 6- and 4-bit formats occupy a byte each in kind::f8f6f4.
int element_bytes(Format format);
/// Elements along K that one instruction consumes: 32 bytes of each row.
inline int instruction_k(Format format) { return 32 / element_bytes(format); }
/// The smallest exponent of a normal number: subnormals count with it.
int min_exponent(Format format);

inline constexpr int kMaxK = 32;
inline constexpr int kLanes = 32;
inline constexpr uint32_t kEveryLane = ~uint32_t{0};

/// What one instruction takes of a row of A or of a column of B, along K, as it lies in memory.
using Row = std::array<uint8_t, 32>;

/// Exponents of values that are no ordinary numbers, chosen so that sums of two of them stay recognisable in 16 bits.
inline constexpr int16_t kZeroExponent = -8000;
inline constexpr int16_t kSpecialExponent = 16000;  ///< infinity, NaN

/// 32 rows of A, one per lane: value[k][lane]. Exponents are filled only for exact arithmetic.
struct alignas(64) LaneTile {
  float value[kMaxK][kLanes];
  int16_t exponent[kMaxK][kLanes];
};

/// B for lanes that all multiply the same column: value[k] per column.
struct alignas(64) ColumnTile {
  float value[kMaxK];
  int16_t exponent[kMaxK];
};

/// B for Hopper's fragments: a register holds, in lane l, column 2 * (l % 4) + parity of a group of 8. quad[k][l % 4].
struct alignas(64) QuadTile {
  float value[kMaxK][4];
  int16_t exponent[kMaxK][4];
};

/// Widens `k` elements at `bytes` (contiguous) to floats; integers to their value, FP4 and FP6 from one byte each.
void widen(Format format, const uint8_t* bytes, int k, float* out);

/// The values of all patterns of an FP8, FP6 or FP4 format.
const float* values_of(Format format);

/// The exponent of a value of this format, as the accumulation model counts it.
int16_t model_exponent(float value, int minimum);

}  // namespace sim::tensor
