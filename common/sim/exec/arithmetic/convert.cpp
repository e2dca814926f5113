// cvt: conversions between types.
#include <algorithm>
#include <cmath>

#include "exec/arithmetic/lanewise.h"
#include "exec/arithmetic/narrow.h"
#include "exec/arithmetic/numeric.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

struct Convert {
  int32_t d = -1, a = -1, b = -1;  ///< b: the lower of two floats that are packed to a pair
  Type to = Type::None, from = Type::None;
  Rounding rounding = Rounding::Nearest;
  bool to_integral = false;  ///< .rni and the like: rounds to an integral float
  bool ties_away = false;    ///< .rna
  bool saturate = false;     ///< .sat
  bool finite = false;       ///< .satfinite
  bool flush = false;        ///< .ftz
  bool relu = false;
  bool wide_source = false;    ///< the source's register has 64 bits, whatever its type
  uint8_t register_bits = 32;  ///< of the destination; 16 for all that are narrower

  /// Whether the conversion has no modifiers except perhaps a rounding mode.
  bool is_plain() const { return !to_integral && !ties_away && !saturate && !finite && !flush && !relu; }
};

// ---- any number to any other, by way of int64_t or double, which together hold every PTX type exactly

struct Number {
  bool is_real;
  int64_t integer;  // two's complement; for U64 the same bits
  double real;
};

Number read_number(uint64_t raw, Type type) {
  switch (type) {
    case Type::U8:
    case Type::B8: return {false, static_cast<uint8_t>(raw), 0};
    case Type::S8: return {false, static_cast<int8_t>(raw), 0};
    case Type::U16:
    case Type::B16: return {false, static_cast<uint16_t>(raw), 0};
    case Type::S16: return {false, static_cast<int16_t>(raw), 0};
    case Type::U32:
    case Type::B32: return {false, static_cast<uint32_t>(raw), 0};
    case Type::S32: return {false, static_cast<int32_t>(raw), 0};
    case Type::U64:
    case Type::B64:
    case Type::S64: return {false, static_cast<int64_t>(raw), 0};
    case Type::F16: return {true, 0, static_cast<double>(f16_to_float(static_cast<uint16_t>(raw)))};
    case Type::BF16: return {true, 0, static_cast<double>(bf16_to_float(static_cast<uint16_t>(raw)))};
    case Type::F32:
    case Type::TF32: return {true, 0, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw)))};
    case Type::F64: return {true, 0, std::bit_cast<double>(raw)};
    default: return {false, 0, 0};
  }
}

/// An integer as a double of `bits` significant bits, rounded once.
double round_integer(int64_t value, bool is_unsigned, int bits, Rounding rounding) {
  const bool negative = !is_unsigned && value < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int drop = 64 - std::countl_zero(magnitude) - bits;
  if (drop <= 0) return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  const uint64_t kept = magnitude >> drop, rest = magnitude & ((uint64_t{1} << drop) - 1),
                 half = uint64_t{1} << (drop - 1);
  bool away = false;
  switch (rounding) {
    case Rounding::Nearest: away = rest > half || (rest == half && (kept & 1)); break;
    case Rounding::Zero: break;
    case Rounding::Down: away = rest > 0 && negative; break;
    case Rounding::Up: away = rest > 0 && !negative; break;
  }
  const double result = std::ldexp(static_cast<double>(kept + (away ? 1 : 0)), drop);
  return negative ? -result : result;
}

double round_to_integer(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::Zero: return std::trunc(value);
    case Rounding::Down: return std::floor(value);
    case Rounding::Up: return std::ceil(value);
    case Rounding::Nearest: break;
  }
  return std::nearbyint(value);
}

/// The NaN that results from a NaN, as on an H200: from FP64 with its sign and first bits, otherwise always the same.
uint64_t converted_nan(const Convert& o, double nan) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(nan));
  const bool keeps = o.from == Type::F64;
  switch (o.to) {
    case Type::F64:
      return o.flush ? std::bit_cast<uint64_t>(double{std::bit_cast<float>(0x7FFF'FFFFu)})
                     : std::bit_cast<uint64_t>(nan) | (o.to_integral ? uint64_t{1} << 51 : 0);
    case Type::F32: return keeps ? bits : 0x7FFF'FFFF;
    case Type::F16: return keeps ? (bits >> 16 & 0x8000) | 0x7C00 | (bits >> 13 & 0x3FF) : 0x7FFF;
    case Type::BF16: return keeps ? bits >> 16 : 0x7FFF;
    default: return o.ties_away ? 0x7FFF'FFFF : 0x7FFF'E000;
  }
}

Flow cvt_general(Warp& w, const Convert& o, Mask m) {
  const Type to = o.to, from = o.from;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    Number value = read_number(number(w, o.a, o.wide_source, lane), from);
    // Contrary to the ISA's text, an H200 flushes no input of a conversion to F16.
    if (value.is_real && o.flush && from == Type::F32 && to != Type::F16) {
      value.real = static_cast<double>(flush_subnormal(static_cast<float>(value.real)));
    }
    uint64_t result = 0;
    if (!ptx::is_float(to)) {
      const int bits = ptx::bits(to);
      if (value.is_real) {
        double rounded = round_to_integer(value.real, o.rounding);
        const bool not_a_number = std::isnan(rounded);
        if (not_a_number) rounded = 0;
        const double low = ptx::is_signed(to) ? -std::ldexp(1.0, bits - 1) : 0.0;
        const double high = ptx::is_signed(to) ? std::ldexp(1.0, bits - 1) : std::ldexp(1.0, bits);
        if (rounded < low) rounded = low;
        if (rounded >= high) {
          result = ptx::is_signed(to) ? (uint64_t{1} << (bits - 1)) - 1
                                      : (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
        } else {
          result = ptx::is_signed(to) || bits < 64 ? static_cast<uint64_t>(static_cast<int64_t>(rounded))
                                                   : static_cast<uint64_t>(rounded);
        }
        // NaN becomes 0, or only the highest bit set when either side has 64 bits.
        if (not_a_number && (bits == 64 || from == Type::F64)) result = uint64_t{1} << (bits - 1);
      } else {
        int64_t integer = value.integer;
        if (o.saturate) {
          const bool unsigned_source = from == Type::U64 && integer < 0;
          if (ptx::is_signed(to)) {
            const int64_t high = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
            integer = unsigned_source ? high : std::clamp(integer, -high - 1, high);
          } else {
            const uint64_t high = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
            if (integer < 0 && !unsigned_source)
              integer = 0;
            else
              integer = static_cast<int64_t>(std::min(static_cast<uint64_t>(integer), high));
          }
        }
        result = static_cast<uint64_t>(integer);
      }
      // The value is extended to the destination register by the destination type's signedness.
      if (bits < 64) {
        const int shift = 64 - bits;
        result = ptx::is_signed(to) ? static_cast<uint64_t>(static_cast<int64_t>(result << shift) >> shift)
                                    : result << shift >> shift;
      }
    } else {
      double real = value.real;
      if (!value.is_real) {
        const int significant = to == Type::F64 ? 53 : to == Type::F32 ? 24 : to == Type::F16 ? 11 : 8;
        real = round_integer(value.integer, from == Type::U64 || from == Type::B64, significant, o.rounding);
      }
      if (o.to_integral) real = round_to_integer(real, o.rounding);
      if (o.saturate) real = real > 0 ? std::min(real, 1.0) : 0.0;
      if (o.relu && !(real > 0) && !std::isnan(real)) real = 0;
      switch (to) {
        case Type::F64: result = std::bit_cast<uint64_t>(real); break;
        case Type::F32: {
          float narrow = static_cast<float>(real);
          const double back = static_cast<double>(narrow);
          if (o.rounding == Rounding::Zero && std::fabs(back) > std::fabs(real)) narrow = std::nextafter(narrow, 0.0f);
          if (o.rounding == Rounding::Down && back > real) narrow = std::nextafter(narrow, -INFINITY);
          if (o.rounding == Rounding::Up && back < real) narrow = std::nextafter(narrow, INFINITY);
          if (o.flush) narrow = flush_subnormal(narrow);
          result = std::bit_cast<uint32_t>(narrow);
          break;
        }
        case Type::F16:
          result = double_to_f16(real, o.rounding);
          if (o.finite && (result & 0x7FFF) == 0x7C00) result -= 1;
          break;
        case Type::BF16:
          result = double_to_bf16(real, o.rounding);
          if (o.finite && (result & 0x7FFF) == 0x7F80) result -= 1;
          break;
        case Type::TF32: {
          const auto bits = std::bit_cast<uint32_t>(static_cast<float>(real));
          result = o.rounding == Rounding::Zero ? bits & ~0x1FFFu : (bits + 0x0FFF + ((bits >> 13) & 1)) & ~0x1FFFu;
          if (o.ties_away) result = (bits + 0x1000) & ~0x1FFFu;  // .rna: ties away from zero
          if (o.finite && (result & 0x7FFF'FFFF) == 0x7F80'0000) result -= 0x2000;
          break;
        }
        default: break;
      }
      if (std::isnan(real)) result = converted_nan(o, real);
    }
    if (o.register_bits == 64)
      lanes<uint64_t>(w, o.d)[lane] = result;
    else
      lanes<uint32_t>(w, o.d)[lane] = static_cast<uint32_t>(o.register_bits == 16 ? result & 0xFFFF : result);
  }
  return Flow::Next;
}

// ---- loops for frequent conversions

/// From register type S, as a T, to register type D.
template <class D, class S, class T>
Flow cvt_integer(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<D>(w, o.d);
  const auto* a = lanes<S>(w, o.a);
  for_lanes(m, [&](int i) { d[i] = static_cast<D>(static_cast<std::make_signed_t<D>>(static_cast<T>(a[i]))); });
  return Flow::Next;
}
template <class D, class T, auto F>
Flow cvt_by(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<D>(w, o.d);
  const auto* a = lanes<T>(w, o.a);
  for_lanes(m, [&](int i) { d[i] = F(a[i]); });
  return Flow::Next;
}
constexpr auto kRoundToBf16 = [](uint32_t bits) -> uint32_t {
  return (bits & 0x7FFF'FFFF) > 0x7F80'0000 ? 0x7FFF : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
};
constexpr auto cvt_f32_bf16 = execution<cvt_by<uint32_t, uint32_t, [](uint32_t bits) { return bits << 16; }>>;
constexpr auto cvt_bf16_f32 = execution<cvt_by<uint32_t, uint32_t, kRoundToBf16>>;
constexpr auto cvt_f32_s32 = execution<cvt_by<float, int32_t, [](int32_t value) { return static_cast<float>(value); }>>;

// ---- pairs. Of two floats, a goes to the upper half.

Flow cvt_bf16x2_f32(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b);
  for_lanes(m, [&](int i) { d[i] = kRoundToBf16(a[i]) << 16 | kRoundToBf16(b[i]); });
  return Flow::Next;
}
Flow cvt_pair(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<float>(w, o.a), *b = lanes<float>(w, o.b);
  const auto convert = [&](float value) -> uint32_t {
    if (o.relu && !(value > 0) && !std::isnan(value)) value = 0;
    switch (o.to) {
      case Type::F16x2: {
        uint16_t half = double_to_f16(static_cast<double>(value), o.rounding);
        if (o.finite && (half & 0x7FFF) == 0x7C00) half -= 1;
        return half;
      }
      case Type::BF16x2: {
        uint16_t half = o.rounding == Rounding::Zero ? float_to_bf16_rz(value) : float_to_bf16_rn(value);
        if (o.finite && (half & 0x7FFF) == 0x7F80) half -= 1;
        return half;
      }
      case Type::E4M3x2: return float_to_e4m3(value);
      case Type::E5M2x2: return float_to_e5m2(value);
      default: return 0;
    }
  };
  const int bits = ptx::bits(o.to) / 2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    d[i] = convert(a[i]) << bits | convert(b[i]);
  }
  return Flow::Next;
}
Flow cvt_f16x2_fp8x2(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto* a = lanes<uint32_t>(w, o.a);
  const auto widen = [&](uint32_t byte) -> uint32_t {
    const auto bits = static_cast<uint8_t>(byte);
    const float value = o.from == Type::E4M3x2 ? e4m3_to_float(bits) : e5m2_to_float(bits);
    return float_to_f16_rn(o.relu && value <= 0 ? 0 : value);
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    d[i] = widen(a[i] >> 8) << 16 | widen(a[i]);
  }
  return Flow::Next;
}
Flow cvt_fp8x2_f16x2(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto* a = lanes<uint32_t>(w, o.a);
  const auto narrow = [&](uint32_t half) -> uint32_t {
    const float wide = f16_to_float(static_cast<uint16_t>(half)), value = o.relu && wide <= 0 ? 0 : wide;
    return o.to == Type::E4M3x2 ? float_to_e4m3(value) : float_to_e5m2(value);
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    d[i] = narrow(a[i] >> 16) << 8 | narrow(a[i]);
  }
  return Flow::Next;
}

// ---- cvt.pack.sat.T.s32 d, a, b(, c): b to the lowest bits, a above it; with c, c's lower bits above both

struct PackOperands {
  Registers r;
  int bits;  ///< of T
  bool is_signed;
};
Flow cvt_pack(Warp& w, const PackOperands& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.r.d);
  const auto *a = lanes<int32_t>(w, o.r.a), *b = lanes<int32_t>(w, o.r.b);
  const auto* c = o.r.c >= 0 ? lanes<uint32_t>(w, o.r.c) : nullptr;
  const int64_t low = o.is_signed ? -(int64_t{1} << (o.bits - 1)) : 0,
                high = (int64_t{1} << (o.is_signed ? o.bits - 1 : o.bits)) - 1;
  const auto narrow = [&](int32_t v) {
    return static_cast<uint32_t>(std::clamp<int64_t>(v, low, high)) & ((1u << o.bits) - 1);
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const uint32_t pair = narrow(a[i]) << o.bits | narrow(b[i]);
    d[i] = c != nullptr ? c[i] << (2 * o.bits) | pair : pair;
  }
  return Flow::Next;
}

// ---- decoding

void decode_pack(Decoder& d) {
  const int to = d.which({"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"});
  if (to < 0 || !d.has("sat") || !d.has("s32")) d.unsupported(faults::cvt_pack_without_sat);
  PackOperands o{.r = {}, .bits = 2 << to / 2, .is_signed = to % 2 == 1};
  o.r.d = d.destination(0, 4);
  o.r.a = d.source(1, Type::S32);
  o.r.b = d.source(2, Type::S32);
  if (d.count() > 3) {
    if (!d.has("b32")) d.unsupported(faults::type_of_cvt_pack);
    o.r.c = d.source(3, Type::B32);
  }
  d.emit<cvt_pack>(o);
}

bool is_fp8_pair(Type type) { return type == Type::E4M3x2 || type == Type::E5M2x2; }
bool is_one_number(Type type) {
  switch (type) {
    case Type::F16:
    case Type::BF16:
    case Type::TF32:
    case Type::F32:
    case Type::F64: return true;
    case Type::U16x2:
    case Type::S16x2:
    case Type::B128: return false;
    default: return !ptx::is_float(type);
  }
}

/// The fastest loop for one number.
Execution<Convert> loop_for(const Convert& o) {
  const Type to = o.to, from = o.from;
  const int from_bits = ptx::bits(from), to_bits = ptx::bits(to);
  if (!o.is_plain() || o.wide_source != (from_bits == 64)) return execution<cvt_general>;
  if (to == Type::F32 && from == Type::BF16) return cvt_f32_bf16;
  if (o.rounding == Rounding::Nearest) {
    if (to == Type::BF16 && from == Type::F32) return cvt_bf16_f32;
    if (to == Type::F32 && from == Type::S32) return cvt_f32_s32;
  }
  const bool integers = !ptx::is_float(to) && !ptx::is_float(from);
  if (integers && to_bits == 64 && o.register_bits == 64) {
    if (from == Type::S32) return execution<cvt_integer<uint64_t, uint32_t, int32_t>>;
    if (from == Type::U32 || from == Type::B32) return execution<cvt_integer<uint64_t, uint32_t, uint32_t>>;
  } else if (integers && to_bits == 32 && o.register_bits == 32) {
    if (from_bits == 64) return execution<cvt_integer<uint32_t, uint64_t, uint64_t>>;
    if (from == Type::U16 || from == Type::B16) return execution<cvt_integer<uint32_t, uint32_t, uint16_t>>;
    if (from == Type::S16) return execution<cvt_integer<uint32_t, uint32_t, int16_t>>;
  }
  return execution<cvt_general>;
}

void decode_convert(Decoder& d) {
  Convert o;
  o.to = d.type(0), o.from = d.type(1);
  if (o.to == Type::None || o.from == Type::None) d.unsupported(faults::two_types_required);
  d.ignore({"rn"});
  if (d.which({"rz", "rzi"}) >= 0) o.rounding = Rounding::Zero;
  if (d.which({"rm", "rmi"}) >= 0) o.rounding = Rounding::Down;
  if (d.which({"rp", "rpi"}) >= 0) o.rounding = Rounding::Up;
  o.to_integral = d.which({"rni", "rzi", "rmi", "rpi"}) >= 0;
  o.saturate = d.has("sat"), o.finite = d.has("satfinite"), o.flush = d.has("ftz"), o.relu = d.has("relu");
  o.ties_away = d.has("rna");

  if (d.count() == 3) {  // two floats to a pair
    if (o.to != Type::F16x2 && o.to != Type::BF16x2 && !is_fp8_pair(o.to)) d.unsupported(faults::unknown_form);
    o.d = d.destination(0, 4);
    o.a = d.source(1, Type::F32);
    o.b = d.source(2, Type::F32);
    const bool plain = o.to == Type::BF16x2 && o.rounding == Rounding::Nearest && o.is_plain();
    return d.emit(plain ? execution<cvt_bf16x2_f32> : execution<cvt_pair>, o);
  }
  const bool widens_pair = o.to == Type::F16x2 && is_fp8_pair(o.from);
  const bool narrows_pair = o.from == Type::F16x2 && is_fp8_pair(o.to);
  if (widens_pair || narrows_pair) {
    o.d = d.destination(0, 4);
    o.a = d.source(1, Type::B32);
    return d.emit(widens_pair ? execution<cvt_f16x2_fp8x2> : execution<cvt_fp8x2_f16x2>, o);
  }
  const int register_bits = std::max(d.register_bits(d.operand(0)), ptx::bits(o.to));
  o.register_bits = static_cast<uint8_t>(register_bits <= 16 ? 16 : register_bits);
  o.d = d.destination(0, std::max(register_bits, 32) / 8);
  o.wide_source = std::max(d.register_bits(d.operand(1)), ptx::bits(o.from)) == 64;
  o.a = d.source(1, o.wide_source && ptx::bits(o.from) < 64 ? Type::B64 : o.from);
  if (!is_one_number(o.to) || !is_one_number(o.from)) d.unsupported(faults::unknown_form);
  d.emit(loop_for(o), o);
}

constexpr Mnemonic kMnemonics[] = {
    {"cvt", decode_convert, Manner{.moves = true}}, {"cvt.pack", decode_pack},
    {"cvt.rn.e2m1x2.f32", decode_to_e2m1x2},        {"cvt.rn.e2m3x2.f32", decode_to_e2m3x2},
    {"cvt.rn.e3m2x2.f32", decode_to_e3m2x2},        {"cvt.rn.f16x2.e2m1x2", decode_from_e2m1x2},
    {"cvt.rn.f16x2.e2m3x2", decode_from_e2m3x2},    {"cvt.rn.f16x2.e3m2x2", decode_from_e3m2x2},
    {"cvt.ue8m0x2.f32", decode_to_scales},          {"cvt.ue8m0x2.bf16x2", decode_to_scales},
    {"cvt.rn.bf16x2.ue8m0x2", decode_from_scales},
};

}  // namespace

constinit const Family families::convert{.mnemonics = kMnemonics, .pure = true};

}  // namespace sim
