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

int stored_bits(Format format) {
  switch (format) {
    case Format::E2M3:
    case Format::E3M2: return 6;
    case Format::E2M1:
    case Format::E2M1x2: return 4;
    default: return 8 * element_bytes(format);
  }
}

int min_exponent(Format format) {
  switch (format) {
    case Format::F16:
    case Format::E5M2: return -14;
    case Format::E4M3: return -6;
    case Format::E3M2: return -2;
    case Format::E2M3:
    case Format::E2M1:
    case Format::E2M1x2: return 0;
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

float value_of_code(Format format, uint8_t code) {
  switch (format) {
    case Format::E4M3: return e4m3_to_float(code);
    case Format::E5M2: return e5m2_to_float(code);
    case Format::E2M3: return small_float(code, 2, 3, 1);
    case Format::E3M2: return small_float(code, 3, 2, 3);
    case Format::E2M1:
    case Format::E2M1x2: return small_float(code, 2, 1, 1);
    case Format::S8: return static_cast<float>(static_cast<int8_t>(code));
    default: return static_cast<float>(code);
  }
}

}  // namespace

uint32_t code_at(Format format, const uint8_t* row, int i) {
  const uint8_t* const sixteen = row + i / 16 * 16;
  const int within = i % 16;
  switch (format) {
    case Format::E2M1x2: return row[i / 2] >> 4 * (i % 2) & 15u;
    case Format::E2M1: return sixteen[within / 2] >> 4 * (within % 2) & 15u;
    case Format::E2M3:
    case Format::E3M2: {
      const int bit = 6 * within;
      return (sixteen[bit / 8] | static_cast<uint32_t>(sixteen[bit / 8 + 1]) << 8) >> bit % 8 & 63u;
    }
    default: return row[i];
  }
}

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
    default: {
      const float* const values = values_of(format);
      for (int i = 0; i < k; ++i) out[i] = values[code_at(format, bytes, i)];
    }
  }
}

const float* values_of(Format format) {
  static const auto tables = [] {
    std::array<std::array<float, 256>, 11> all{};
    for (size_t f = 0; f < all.size(); ++f) {
      if (element_bytes(static_cast<Format>(f)) != 1) continue;
      for (size_t code = 0; code < 256; ++code)
        all[f][code] = value_of_code(static_cast<Format>(f), static_cast<uint8_t>(code));
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
