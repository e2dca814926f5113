// BF16 on the host, as its 16 bits: the upper half of an IEEE binary32.
#pragma once

#include <bit>
#include <cstdint>

namespace harness {

using Bf16 = std::uint16_t;

/// What D is filled with before every run: a NaN that no GEMM instruction produces (they give 0x7FFF), so an element
/// that still holds it was never written.
inline constexpr Bf16 BF16_POISON = 0xFFFF;

inline float to_float(Bf16 value) { return std::bit_cast<float>(std::uint32_t{value} << 16); }

inline bool is_finite(Bf16 value) { return (value & 0x7F80) != 0x7F80; }

/// Round to nearest, ties to even, as `cvt.rn.bf16.f32` does: every NaN becomes 0x7FFF, overflow becomes infinity.
inline Bf16 round_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<Bf16>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/// Round toward zero.
inline Bf16 truncate_to_bf16(float value) { return static_cast<Bf16>(std::bit_cast<std::uint32_t>(value) >> 16); }

}  // namespace harness
