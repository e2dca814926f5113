// Scalar arithmetic as PTX defines it: small formats, rounding, saturation. Used by several families.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sim {

// ---- BF16 and F16, as bit patterns

inline float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// Round to nearest even; every NaN becomes 0x7FFF (measured on hardware over all inputs).
inline uint16_t float_to_bf16_rn(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFF'FFFF) > 0x7F80'0000) return 0x7FFF;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
inline uint16_t float_to_bf16_rz(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFF'FFFF) > 0x7F80'0000) return 0x7FFF;
  return static_cast<uint16_t>(bits >> 16);
}

inline float f16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t fraction = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F80'0000 | fraction << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

enum class Rounding : uint8_t { Nearest, Zero, Down, Up };

/// A double rounded to F16 (a double holds every product and sum of two F16 or F32 values closely enough for one
/// rounding).
inline uint16_t double_to_f16(double value, Rounding rounding = Rounding::Nearest) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7FFF;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | 0x7C00;
  int exponent = 0;
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);  // the last place kept
  const double scaled = std::ldexp(magnitude, -unit);
  double rounded = 0;
  switch (rounding) {
    case Rounding::Nearest: rounded = std::nearbyint(scaled); break;
    case Rounding::Zero: rounded = std::floor(scaled); break;
    case Rounding::Down: rounded = sign ? std::ceil(scaled) : std::floor(scaled); break;
    case Rounding::Up: rounded = sign ? std::floor(scaled) : std::ceil(scaled); break;
  }
  magnitude = std::ldexp(rounded, unit);
  if (magnitude >= 65536.0 || (magnitude > 65504.0)) {
    const bool to_infinity =
        rounding == Rounding::Nearest || (rounding == Rounding::Up && !sign) || (rounding == Rounding::Down && sign);
    return static_cast<uint16_t>(sign | (to_infinity ? 0x7C00 : 0x7BFF));
  }
  if (magnitude < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(magnitude, 24)));
  std::frexp(magnitude, &exponent);
  const auto fraction = static_cast<uint16_t>(std::ldexp(magnitude, 11 - exponent)) & 0x3FF;
  return static_cast<uint16_t>(sign | (exponent + 14) << 10 | fraction);
}
inline uint16_t float_to_f16_rn(float value) { return double_to_f16(static_cast<double>(value)); }

/// A double rounded to BF16 at once: to float with its last bit set if that was inexact ("round to odd"), then to BF16.
inline uint16_t double_to_bf16(double value, Rounding rounding = Rounding::Nearest) {
  if (std::isnan(value)) return 0x7FFF;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude));
  const auto back = static_cast<double>(std::bit_cast<float>(bits));
  if (back > magnitude) --bits;  // truncated, and below infinity
  if (back != magnitude) bits |= 1;
  uint32_t rounded = 0;
  const bool away = rounding == (sign ? Rounding::Down : Rounding::Up);
  if (rounding == Rounding::Nearest)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  else
    rounded = (away ? bits + 0xFFFF : bits) >> 16;
  return static_cast<uint16_t>(sign | rounded);
}

/// a * b + c in double, with the last bit set if it was inexact: rounding that to a small type is rounding once. The
/// product of two values of at most 26 significant bits is exact.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product, error = (product - (sum - part)) + (c - part);
  if (error == 0) return sum;
  auto bits = std::bit_cast<uint64_t>(sum);
  if (bits & 1) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/// FP8. E4M3 has no infinity: conversions saturate to 448 (.satfinite, the only form PTX has).
inline float e4m3_to_float(uint8_t bits) {
  const int exponent = (bits >> 3) & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                        : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}
inline float e5m2_to_float(uint8_t bits) { return f16_to_float(static_cast<uint16_t>(bits << 8)); }
inline uint8_t float_to_fp8(float value, int fraction_bits, int bias, float largest, uint8_t nan) {
  if (std::isnan(value)) return nan;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  int exponent = 0;
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 1 - fraction_bits, 1 - bias - fraction_bits);
  const float rounded = std::min(std::ldexp(std::nearbyint(std::ldexp(magnitude, -unit)), unit), largest);
  if (rounded == 0) return sign;
  std::frexp(rounded, &exponent);
  const int biased = exponent - 1 + bias;
  if (biased <= 0) return static_cast<uint8_t>(sign | static_cast<int>(std::ldexp(rounded, bias - 1 + fraction_bits)));
  const int fraction = static_cast<int>(std::ldexp(rounded, fraction_bits + 1 - exponent)) & ((1 << fraction_bits) - 1);
  return static_cast<uint8_t>(sign | biased << fraction_bits | fraction);
}
inline uint8_t float_to_e4m3(float value) { return float_to_fp8(value, 3, 7, 448.0f, 0x7F); }
inline uint8_t float_to_e5m2(float value) { return float_to_fp8(value, 2, 15, 57344.0f, 0x7F); }

inline float flush_subnormal(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

/// The canonical NaN that floating-point instructions return.
inline float canonical(float value) { return std::isnan(value) ? std::bit_cast<float>(0x7FFF'FFFFu) : value; }

// ---- the less and the greater of two numbers: a NaN loses against a number, and -0 is less than +0

inline constexpr auto minimum = []<class T>(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
};
inline constexpr auto maximum = []<class T>(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
};

}  // namespace sim
