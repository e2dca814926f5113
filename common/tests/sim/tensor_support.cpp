#include "tensor_support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "support.h"

namespace sim::test {
namespace {

struct Format {
  int exponent_bits, fraction_bits, bias;
  bool infinities;   ///< the highest exponent holds infinity and NaNs
  bool last_is_nan;  ///< only the last pattern is NaN
};
Format format_of(Element element) {
  switch (element) {
    case Element::F16: return {5, 10, 15, true, false};
    case Element::BF16: return {8, 7, 127, true, false};
    case Element::TF32: return {8, 10, 127, true, false};
    case Element::E4M3: return {4, 3, 7, false, true};
    case Element::E5M2: return {5, 2, 15, true, false};
    case Element::E2M3: return {2, 3, 1, false, false};
    case Element::E3M2: return {3, 2, 3, false, false};
    default: return {2, 1, 1, false, false};
  }
}

/// A finite number is significand * 2^(exponent - fraction_bits).
struct Number {
  bool negative = false, nan = false, infinite = false;
  int64_t significand = 0;
  int exponent = 0;
};
Number decode(const Format& f, uint32_t bits) {
  Number n;
  const uint32_t fraction = bits & ((1u << f.fraction_bits) - 1),
                 field = bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1), top = (1u << f.exponent_bits) - 1;
  n.negative = bits >> (f.fraction_bits + f.exponent_bits) & 1;
  if (f.infinities && field == top) {
    n.nan = fraction != 0, n.infinite = fraction == 0;
    return n;
  }
  if (f.last_is_nan && field == top && fraction == (1u << f.fraction_bits) - 1) {
    n.nan = true;
    return n;
  }
  n.significand = fraction | (field ? 1u << f.fraction_bits : 0);
  n.exponent = static_cast<int>(std::max(field, 1u)) - f.bias;
  return n;
}
Number decode(Element element, uint32_t bits) {
  return decode(format_of(element), element == Element::TF32 ? bits >> 13 : bits);
}
double value_of(Element element, uint32_t bits) {
  const Number n = decode(element, bits);
  const double magnitude =
      n.nan        ? NAN
      : n.infinite ? INFINITY
                   : std::ldexp(static_cast<double>(n.significand), n.exponent - format_of(element).fraction_bits);
  return n.negative ? -magnitude : magnitude;
}

int64_t shifted(int64_t value, int by) {  // toward zero
  if (value == 0) return 0;               // by any number of places
  if (by >= 0) return value << by;
  return by <= -63 ? 0 : value >> -by;
}

/// sum * 2^unit, toward zero, with so many places behind the first.
uint32_t truncated(int64_t sum, int unit, int kept = 23) {
  if (sum == 0) return 0;
  const bool negative = sum < 0;
  const auto magnitude = static_cast<uint64_t>(negative ? -sum : sum);
  const int leading = 63 - std::countl_zero(magnitude), exponent = leading + unit;
  const uint32_t sign = negative ? 0x8000'0000 : 0;
  if (exponent >= 128) return sign | 0x7F80'0000;
  if (exponent < -126) {  // multiples of 2^-149
    const auto fraction = static_cast<uint32_t>(shifted(static_cast<int64_t>(magnitude), unit + 149));
    return fraction == 0 ? 0 : sign | fraction;
  }
  const auto cut = ~((1u << (23 - kept)) - 1);
  const auto fraction = static_cast<uint32_t>(shifted(static_cast<int64_t>(magnitude), 23 - leading)) & 0x7F'FFFF & cut;
  return sign | static_cast<uint32_t>(exponent + 127) << 23 | fraction;
}

}  // namespace

int bytes_of(Element element) {
  return element == Element::TF32 ? 4 : element == Element::F16 || element == Element::BF16 ? 2 : 1;
}

int bits_of_element(Element element) {
  switch (element) {
    case Element::E2M1: return 4;
    case Element::E2M3:
    case Element::E3M2: return 6;
    default: return 8 * bytes_of(element);
  }
}

uint32_t element_of_row(const std::vector<uint8_t>& row, Element element, int i) {
  const int bits = bits_of_element(element), bit = bits < 8 ? 128 * (i / 16) + bits * (i % 16) : bits * i;
  uint64_t word = 0;
  for (int byte = std::min(bit / 8 + 4, 31); byte >= bit / 8; --byte)
    word = word << 8 | row.at(static_cast<size_t>(byte));
  return static_cast<uint32_t>(word >> bit % 8 & ((uint64_t{1} << bits) - 1));
}

uint32_t exact_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                      const std::vector<uint32_t>& b, bool negate_a, bool negate_b, uint32_t c, bool accumulate,
                      int fraction_bits, bool half, int scale) {
  const Format c_format = half ? Format{5, 10, 15, true, false} : Format{8, 23, 127, true, false};
  struct Term {
    int64_t magnitude;
    int exponent, fraction;
    bool negative;
  };
  std::vector<Term> terms;
  bool nan = false, plus = false, minus = false;
  const auto infinity = [&](bool negative) { (negative ? minus : plus) = true; };
  if (accumulate) {
    const Number n = decode(c_format, c);
    nan |= n.nan;
    if (n.infinite) infinity(n.negative);
    if (!n.nan && !n.infinite) terms.push_back({n.significand, n.exponent, c_format.fraction_bits, n.negative});
  }
  for (size_t k = 0; k < a.size(); ++k) {
    const Number x = decode(a_element, a[k]), y = decode(b_element, b[k]);
    const bool negative = (x.negative != negate_a) != (y.negative != negate_b);
    if (x.nan || y.nan || (x.infinite && !y.infinite && y.significand == 0) ||
        (y.infinite && !x.infinite && x.significand == 0)) {
      nan = true;
    } else if (x.infinite || y.infinite) {
      infinity(negative);
    } else {
      terms.push_back({x.significand * y.significand, x.exponent + y.exponent + scale,
                       format_of(a_element).fraction_bits + format_of(b_element).fraction_bits, negative});
    }
  }
  if (nan || (plus && minus)) return half ? 0x7FFF : 0x7FFF'FFFF;
  if (plus || minus) return half ? (plus ? 0x7C00 : 0xFC00) : plus ? 0x7F80'0000 : 0xFF80'0000;
  int top = -133;
  for (const Term& term : terms) {
    if (term.magnitude != 0) top = std::max(top, term.exponent);
  }
  int64_t sum = 0;
  for (const Term& term : terms) {
    const int64_t q = shifted(term.magnitude, fraction_bits - term.fraction - (top - term.exponent));
    sum += term.negative ? -q : q;
  }
  // sum * 2^(top - fraction_bits)
  const bool negative = sum < 0;
  const auto magnitude = static_cast<uint64_t>(negative ? -sum : sum);
  if (half) {
    int unit = top - fraction_bits;
    const int drop = std::max(64 - std::countl_zero(magnitude) - 11, -24 - unit);
    uint64_t kept = magnitude;
    if (drop > 0) {
      const uint64_t rest = drop >= 64 ? magnitude : magnitude & ((uint64_t{1} << drop) - 1),
                     middle = drop > 64 ? ~uint64_t{0} : uint64_t{1} << (drop - 1);
      kept = drop >= 64 ? 0 : magnitude >> drop;
      kept += rest > middle || (rest == middle && (kept & 1));
      unit += drop;
    }
    const uint32_t sign = negative ? 0x8000 : 0;
    if (kept == 0) return sign;
    const double x = std::ldexp(static_cast<double>(kept), unit);
    if (x >= 65536) return sign | 0x7C00;
    if (x < 0x1p-14) return sign | static_cast<uint32_t>(std::ldexp(x, 24));
    const int e = std::ilogb(x);
    return sign | static_cast<uint32_t>(e + 15) << 10 | (static_cast<uint32_t>(std::ldexp(x, 10 - e)) & 1023);
  }
  return truncated(sum, top - fraction_bits, std::min(fraction_bits, 23));
}

uint32_t fp4_output(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, bool negative,
                    const std::vector<uint32_t>& a_factors, const std::vector<uint32_t>& b_factors, bool ue8m0,
                    uint32_t c, bool accumulate) {
  const auto factor = [&](uint32_t code) {
    if (!ue8m0) return decode(Element::E4M3, code & 0x7F);
    Number n;  // in the form of E4M3: three places
    n.nan = code == 0xFF, n.significand = 8, n.exponent = static_cast<int>(code) - 127;
    return n;
  };
  const Format f32{8, 23, 127, true, false};
  const Number start = decode(f32, accumulate ? c : 0);
  bool nan = start.nan;
  int top = start.significand != 0 ? start.exponent : -133;
  struct Block {
    int64_t significand;
    int exponent;
  };
  std::vector<Block> blocks;
  for (size_t block = 0; block < 4; ++block) {
    double sum = 0;
    for (size_t k = 16 * block; k < 16 * block + 16; ++k)
      sum += value_of(Element::E2M1, a[k]) * value_of(Element::E2M1, b[k]);
    const Number x = factor(a_factors[block]), y = factor(b_factors[block]);
    nan |= x.nan || y.nan;
    const auto quarters = static_cast<int64_t>(4 * (negative ? -sum : sum));
    if (x.significand == 0 || y.significand == 0) continue;
    blocks.push_back({quarters * x.significand * y.significand, x.exponent + y.exponent});
    top = std::max(top, x.exponent + y.exponent);
  }
  if (nan) return 0x7FFF'FFFF;
  if (start.infinite) return c;
  const auto toward_zero = [](int64_t value, int by) { return value < 0 ? -shifted(-value, by) : shifted(value, by); };
  int64_t total = toward_zero(start.negative ? -start.significand : start.significand, 35 - 23 + start.exponent - top);
  for (const Block& each : blocks) total += toward_zero(each.significand, 35 - 8 + each.exponent - top);
  return truncated(total, top - 35);
}

uint32_t fast_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                     const std::vector<uint32_t>& b, bool negate_a, bool negate_b, uint32_t c, bool accumulate) {
  float sum = accumulate ? std::bit_cast<float>(c) : 0.0f;
  const bool pairs = a_element == Element::BF16 && b_element == Element::BF16;
  const auto flushed = [&](float value) { return pairs && std::fpclassify(value) == FP_SUBNORMAL ? 0 * value : value; };
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t k = pairs ? i ^ 1 : i;
    const auto x = static_cast<float>(value_of(a_element, a[k])), y = static_cast<float>(value_of(b_element, b[k]));
    sum = flushed(std::fma(flushed(negate_a ? -x : x), flushed(negate_b ? -y : y), flushed(sum)));
  }
  return std::isnan(sum) ? 0x7FFF'FFFF : std::bit_cast<uint32_t>(sum);
}

uint32_t integer_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                        const std::vector<uint32_t>& b, uint32_t c, bool accumulate) {
  uint32_t sum = accumulate ? c : 0;
  const auto widen = [](Element element, uint32_t bits) {
    return element == Element::S8 ? int32_t{static_cast<int8_t>(bits)} : static_cast<int32_t>(bits & 0xFF);
  };
  for (size_t k = 0; k < a.size(); ++k) sum += static_cast<uint32_t>(widen(a_element, a[k]) * widen(b_element, b[k]));
  return sum;
}

uint32_t element_offset(const OperandLayout& layout, int element_bytes, int row, int k) {
  const auto bytes = static_cast<uint32_t>(element_bytes), r = static_cast<uint32_t>(row),
             kk = static_cast<uint32_t>(k);
  const uint32_t span = layout.swizzle == Swizzle::None  ? 16
                        : layout.swizzle == Swizzle::B32 ? 32
                        : layout.swizzle == Swizzle::B64 ? 64
                                                         : 128;
  uint32_t linear = layout.start;
  if (!layout.mn_major) {
    if (layout.swizzle == Swizzle::None)
      linear += r % 8 * 16 + r / 8 * layout.stride + kk * bytes % 16 + kk * bytes / 16 * layout.leading;
    else
      linear += r % 8 * span + r / 8 * layout.stride + kk * bytes;
  } else {
    const uint32_t contiguous = span / bytes;  // elements
    if (layout.swizzle == Swizzle::None)
      linear += r % contiguous * bytes + r / contiguous * layout.stride + kk % 8 * 16 + kk / 8 * layout.leading;
    else if (layout.swizzle == Swizzle::B128Atom32)
      linear += r % contiguous * bytes + r / contiguous * layout.leading + kk % 4 * span + kk / 4 * layout.stride;
    else
      linear += r % contiguous * bytes + r / contiguous * layout.leading + kk % 8 * span + kk / 8 * layout.stride;
  }
  const uint32_t line = (linear >> 7) - layout.base_offset;
  switch (layout.swizzle) {
    case Swizzle::None: return linear;
    case Swizzle::B32: return linear ^ (line & 1) << 4;
    case Swizzle::B64: return linear ^ (line & 3) << 4;
    case Swizzle::B128: return linear ^ (line & 7) << 4;
    default: return linear ^ (line & 3) << 5;
  }
}

namespace {
uint64_t common_fields(const OperandLayout& layout) {
  return uint64_t{layout.start >> 4 & 0x3FFF} | uint64_t{layout.leading >> 4 & 0x3FFF} << 16 |
         uint64_t{layout.stride >> 4 & 0x3FFF} << 32 | uint64_t{layout.base_offset & 7} << 49;
}
}  // namespace

uint32_t format_code(Element element) {
  switch (element) {
    case Element::F16:
    case Element::E4M3:
    case Element::U8: return 0;
    case Element::BF16:
    case Element::E5M2:
    case Element::S8: return 1;
    case Element::TF32: return 2;
    case Element::E2M3: return 3;
    case Element::E3M2: return 4;
    default: return 5;
  }
}

uint64_t tcgen05_descriptor(const OperandLayout& layout) {
  const uint64_t codes[] = {0, 6, 4, 2, 1};
  return common_fields(layout) | uint64_t{1} << 46 | codes[static_cast<size_t>(layout.swizzle)] << 61;
}
uint64_t wgmma_descriptor(const OperandLayout& layout) {
  const uint64_t codes[] = {0, 3, 2, 1};
  return common_fields(layout) | codes[static_cast<size_t>(layout.swizzle)] << 62;
}

OperandLayout dense_layout(Swizzle swizzle, bool mn_major, int element_bytes, int rows, uint32_t start) {
  OperandLayout layout{.swizzle = swizzle, .mn_major = mn_major, .start = start};
  const uint32_t span = swizzle == Swizzle::None  ? 16
                        : swizzle == Swizzle::B32 ? 32
                        : swizzle == Swizzle::B64 ? 64
                                                  : 128;
  const auto r = static_cast<uint32_t>(rows), k = 32 / static_cast<uint32_t>(element_bytes),
             contiguous = span / static_cast<uint32_t>(element_bytes), deep = swizzle == Swizzle::B128Atom32 ? 4u : 8u;
  if (!mn_major) {
    layout.stride = 8 * span;
    layout.leading = swizzle == Swizzle::None ? (r + 7) / 8 * 128 : 0;
  } else if (swizzle == Swizzle::None) {
    layout.stride = 128;
    layout.leading = (r + contiguous - 1) / contiguous * 128;
  } else {
    layout.stride = deep * span;
    layout.leading = k / deep * deep * span;
  }
  return layout;
}

std::vector<uint32_t> read_row(const std::vector<uint8_t>& shared, uint32_t shared_begin, const OperandLayout& layout,
                               Element element, int row) {
  const int bytes = bytes_of(element);
  std::vector<uint8_t> stored(32);
  for (int k = 0; k < 32 / bytes; ++k)
    std::memcpy(&stored[static_cast<size_t>(k * bytes)],
                &shared.at(element_offset(layout, bytes, row, k) - shared_begin), static_cast<size_t>(bytes));
  std::vector<uint32_t> values;
  for (int k = 0; k < 32 / bytes; ++k) values.push_back(element_of_row(stored, element, k));
  return values;
}

void fill_elements(std::vector<uint8_t>& bytes, Element element, uint64_t seed) {
  Dice dice(seed);
  const auto size = static_cast<size_t>(bytes_of(element));
  for (size_t i = 0; i + size <= bytes.size(); i += size) {
    uint32_t bits = dice.word();
    const auto exponent = static_cast<uint32_t>(dice.between(-6, 6));
    switch (element) {
      case Element::F16: bits = (bits & 0x83FF) | (exponent + 15) << 10; break;
      case Element::BF16: bits = (bits & 0x807F) | (exponent + 127) << 7; break;
      case Element::TF32: bits = (bits & 0x807F'FFFF) | (exponent + 127) << 23; break;
      case Element::E4M3: bits = (bits & 0x7F) == 0x7F ? 0x38 : bits; break;
      case Element::E5M2: bits = (bits & 0x83) | (exponent + 15) << 2; break;
      default: break;
    }
    std::memcpy(&bytes[i], &bits, size);
  }
}

}  // namespace sim::test
