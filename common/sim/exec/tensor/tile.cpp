#include "exec/tensor/tile.h"

#include <bit>
#include <cstring>

#include "exec/arithmetic/numeric.h"

namespace sim::tensor {

int element_bytes(Format format) {
  switch (format) {
    case Format::F16:
    case Format::BF16: return 2;
    case Format::TF32: return 4;
    default: return 1;
  }
}

int min_exponent(Format format) {
  switch (format) {
    case Format::F16:
    case Format::E5M2: return -14;
    case Format::E4M3: return -6;
    case Format::E3M2: return -2;
    case Format::E2M3:
    case Format::E2M1: return 0;
    default: return -126;
  }
}

namespace {

/// A small float without infinities: sign, `e` exponent bits with `bias`, `m` fraction bits.
float small_float(uint8_t bits, int e, int m, int bias) {
  const int exponent = bits >> m & ((1 << e) - 1), fraction = bits & ((1 << m) - 1);
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - m)
                                        : std::ldexp(static_cast<float>((1 << m) + fraction), exponent - bias - m);
  return bits >> (e + m) & 1 ? -magnitude : magnitude;
}

}  // namespace

void widen(Format format, const uint8_t* bytes, int k, float* out) {
  switch (format) {
    case Format::BF16:
      for (int i = 0; i < k; ++i) {
        uint16_t half;
        std::memcpy(&half, bytes + 2 * i, 2);
        out[i] = std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
      }
      break;
    case Format::F16:
      for (int i = 0; i < k; ++i) {
        uint16_t half;
        std::memcpy(&half, bytes + 2 * i, 2);
        out[i] = f16_to_float(half);
      }
      break;
    case Format::TF32:
      for (int i = 0; i < k; ++i) {
        uint32_t word;
        std::memcpy(&word, bytes + 4 * i, 4);
        out[i] = std::bit_cast<float>(word & ~0x1FFFu);
      }
      break;
    case Format::E4M3:
      for (int i = 0; i < k; ++i) out[i] = e4m3_to_float(bytes[i]);
      break;
    case Format::E5M2:
      for (int i = 0; i < k; ++i) out[i] = e5m2_to_float(bytes[i]);
      break;
    case Format::E2M3:
      for (int i = 0; i < k; ++i) out[i] = small_float(bytes[i], 2, 3, 1);
      break;
    case Format::E3M2:
      for (int i = 0; i < k; ++i) out[i] = small_float(bytes[i], 3, 2, 3);
      break;
    case Format::E2M1:
      for (int i = 0; i < k; ++i) out[i] = small_float(bytes[i], 2, 1, 1);
      break;
    case Format::S8:
      for (int i = 0; i < k; ++i) out[i] = static_cast<float>(static_cast<int8_t>(bytes[i]));
      break;
    case Format::U8:
      for (int i = 0; i < k; ++i) out[i] = static_cast<float>(bytes[i]);
      break;
  }
}

const float* values_of(Format format) {
  static const auto tables = [] {
    std::array<std::array<float, 256>, 10> all{};
    for (size_t f = 0; f < all.size(); ++f) {
      if (element_bytes(static_cast<Format>(f)) != 1) continue;
      for (size_t bits = 0; bits < 256; ++bits) {
        const auto byte = static_cast<uint8_t>(bits);
        widen(static_cast<Format>(f), &byte, 1, &all[f][bits]);
      }
    }
    return all;
  }();
  return tables[static_cast<size_t>(format)].data();
}

int16_t model_exponent(float value, int minimum) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7FFF'FFFF;
  if (bits == 0) return kZeroExponent;
  if (bits >= 0x7F80'0000) return kSpecialExponent;
  const int exponent = static_cast<int>(bits >> 23) - 127;
  return static_cast<int16_t>(exponent > minimum ? exponent : minimum);
}

}  // namespace sim::tensor
