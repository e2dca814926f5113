// Operand tiles of tensor-core instructions, unpacked from shared memory into the order in which the kernels read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sim::tensor {

/// Sixteen elements of four or six bits are packed at the beginning of 16 bytes, followed by padding, as TMA writes
/// them (16U4_ALIGN16B, 16U6_ALIGN16B). Two elements of E2M1x2 share a byte.
enum class Format : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, E2M3, E3M2, E2M1, E2M1x2 };
/// Bytes of an element in memory; of E2M1x2, bytes of two elements.
int element_bytes(Format format);
/// Bits that make an element.
int stored_bits(Format format);
/// Elements along K that one dense instruction consumes: 32 bytes of each row.
inline int instruction_k(Format format) { return format == Format::E2M1x2 ? 64 : 32 / element_bytes(format); }
/// The smallest exponent of a normal number: subnormals count with it.
int min_exponent(Format format);

inline constexpr int kMaxK = 32;
inline constexpr int kLanes = 32;
inline constexpr uint32_t kEveryLane = ~uint32_t{0};

/// The bytes along K that one instruction takes from a row of A or a column of B, in the layout of memory.
using Row = std::array<uint8_t, 32>;

/// Exponents of values that are no ordinary numbers, chosen so that sums of two of them stay recognisable in 16 bits.
inline constexpr int16_t kZeroExponent = -8000;
inline constexpr int16_t kSpecialExponent = 16000;  ///< infinity, NaN
/// A position that a sparse row omits: no product is formed here, not even with zero.
inline constexpr int16_t kAbsentExponent = kZeroExponent - 1;

/// 32 rows of A, one per lane: value[k][lane]. Exponents are filled only for exact arithmetic.
template <int K>
struct alignas(64) LaneTileOf {
  static constexpr int kDepth = K;
  float value[K][kLanes];
  int16_t exponent[K][kLanes];
};
using LaneTile = LaneTileOf<kMaxK>;

/// B for lanes that all multiply the same column: value[k] per column.
template <int K>
struct alignas(64) ColumnTileOf {
  float value[K];
  int16_t exponent[K];
};
using ColumnTile = ColumnTileOf<kMaxK>;

/// For sparse instructions, with twice the K; A's rows have zeros between their elements.
using DeepLaneTile = LaneTileOf<2 * kMaxK>;
using DeepColumnTile = ColumnTileOf<2 * kMaxK>;

/// FP4 with block factors: each row and column consists of four blocks, each with its factor and the factor's exponent.
inline constexpr int kFp4Blocks = 4, kMaxFp4K = 128;
struct alignas(64) Fp4Lanes {
  float value[kMaxFp4K][kLanes];
  float factor[kFp4Blocks][kLanes];
  int16_t exponent[kFp4Blocks][kLanes];
};
struct alignas(64) Fp4Column {
  float value[kMaxFp4K];
  float factor[kFp4Blocks];
  int16_t exponent[kFp4Blocks];
};

/// B for Hopper's fragments: a register holds, in lane l, column 2 * (l % 4) + parity of a group of 8. quad[k][l % 4].
template <int K>
struct alignas(64) QuadTileOf {
  float value[K][4];
  int16_t exponent[K][4];
};
using QuadTile = QuadTileOf<kMaxK>;
using DeepQuadTile = QuadTileOf<2 * kMaxK>;

/// The pattern of element `i` of a row, for formats of at most eight bits.
uint32_t code_at(Format format, const uint8_t* row, int i);

/// Widens `k` elements of a row at `bytes` to floats; integers to their value.
void widen(Format format, const uint8_t* bytes, int k, float* out);

/// The values of all patterns of an FP8, FP6 or FP4 format.
const float* values_of(Format format);

/// The exponent of a value of this format, as the accumulation model counts it.
int16_t model_exponent(float value, int minimum);

}  // namespace sim::tensor
