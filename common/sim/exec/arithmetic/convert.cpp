// mov, cvt, cvta: copies, bit casts, packing and conversions between types and address spaces.
#include <algorithm>
#include <cmath>

#include "exec/arithmetic/numeric.h"
#include "exec/core/decoder.h"
#include "machine/address.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

// ---- mov

Flow mov32(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = a[i]; });
  return Flow::Next;
}
Flow mov64(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint64_t>(w, op.d);
  const auto* a = lanes<uint64_t>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = a[i]; });
  return Flow::Next;
}
Flow mov16(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = a[i] & 0xFFFF; });
  return Flow::Next;
}
Flow mov128(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint64_t>(w, op.d);
  const auto* a = lanes<uint64_t>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = a[i], d[32 + i] = a[32 + i]; });
  return Flow::Next;
}
Flow mov_predicate(Warp& w, const Op& op, Mask m) {
  Mask& d = predicate(w, op.d);
  const Mask a = predicate(w, op.a) ^ (op.flags ? kAllLanes : 0);
  d = (d & ~m) | (a & m);
  return Flow::Next;
}

// Pack {a, b, ...} into one register, or unpack one: pieces of shape[0] bits. Works through 128 bits per lane.
uint64_t piece_of(Warp& w, int32_t slot, int lane, int bits) {
  if (bits == 64) return lanes<uint64_t>(w, slot)[lane];
  const uint64_t value = lanes<uint32_t>(w, slot)[lane];
  return bits == 32 ? value : value & ((uint64_t{1} << bits) - 1);
}
Flow pack(Warp& w, const Op& op, Mask m) {
  const int bits = op.shape[0], total = op.shape[1];
  const auto& parts = op.extra->list;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint64_t words[2] = {0, 0};
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t at = i * static_cast<size_t>(bits);
      words[at / 64] |= piece_of(w, parts[i], lane, bits) << (at % 64);
    }
    if (total <= 32) {
      lanes<uint32_t>(w, op.d)[lane] = static_cast<uint32_t>(words[0]);
    } else {
      lanes<uint64_t>(w, op.d)[lane] = words[0];
      if (total == 128) lanes<uint64_t>(w, op.d)[32 + lane] = words[1];
    }
  }
  return Flow::Next;
}
Flow unpack(Warp& w, const Op& op, Mask m) {
  const int bits = op.shape[0], total = op.shape[1];
  const auto& parts = op.extra->list;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint64_t words[2] = {0, 0};
    if (total <= 32) {
      words[0] = lanes<uint32_t>(w, op.a)[lane];
    } else {
      words[0] = lanes<uint64_t>(w, op.a)[lane];
      if (total == 128) words[1] = lanes<uint64_t>(w, op.a)[32 + lane];
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] < 0) continue;
      const size_t at = i * static_cast<size_t>(bits);
      const uint64_t value = words[at / 64] >> (at % 64);
      if (bits == 64) {
        lanes<uint64_t>(w, parts[i])[lane] = value;
      } else {
        lanes<uint32_t>(w, parts[i])[lane] =
            static_cast<uint32_t>(bits == 32 ? value : value & ((uint64_t{1} << bits) - 1));
      }
    }
  }
  return Flow::Next;
}

int64_t clock_of(Warp& w) { return static_cast<int64_t>(w.time); }
Flow mov_clock(Warp& w, const Op& op, Mask m) {
  const auto now = static_cast<uint64_t>(clock_of(w));
  // shape[0]: 0 %clock, 1 %clock_hi, 2 %clock64, 3 %globaltimer (ns), 4 %globaltimer_lo, 5 %globaltimer_hi
  const uint64_t ns = now * 1'000'000 / static_cast<uint64_t>(cluster_of(w).launch->gpu->clock_khz);
  uint64_t value = now;
  switch (op.shape[0]) {
    case 1: value = now >> 32; break;
    case 3:
    case 4: value = ns; break;
    case 5: value = ns >> 32; break;
    default: break;
  }
  if (op.shape[0] == 2 || op.shape[0] == 3) {
    for_lanes(m, [&](int i) { lanes<uint64_t>(w, op.d)[i] = value; });
  } else {
    for_lanes(m, [&](int i) { lanes<uint32_t>(w, op.d)[i] = static_cast<uint32_t>(value); });
  }
  return Flow::Next;
}

void decode_mov(Decoder& d) {
  Op& op = *d.op;
  const Type type = d.last_type();
  const Operand& target = d.operand(0);
  const Operand& value = d.operand(1);
  if (type == Type::Pred) {
    bool negated = false;
    op.d = d.destination(0, 4);
    op.a = d.predicate_source(value, &negated);
    op.flags = negated;
    op.run = mov_predicate;
    return;
  }
  if (value.kind == Operand::Kind::Special) {
    const char* const clocks[] = {"clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"};
    for (uint16_t i = 0; i < 6; ++i) {
      if (value.text != clocks[i]) continue;
      op.d = d.destination(0, i == 2 || i == 3 ? 8 : 4);
      op.shape[0] = i;
      op.run = mov_clock;
      return;
    }
  }
  const int bits = ptx::bits(type);
  if (bits == 0) d.unsupported("a type is required");
  op.is_move = true;
  if (value.kind == Operand::Kind::Vector) {
    const int piece = bits / static_cast<int>(value.elements.size());
    op.shape[0] = static_cast<uint16_t>(piece);
    op.shape[1] = static_cast<uint16_t>(bits);
    for (const Operand& element : value.elements) {
      d.extra().list.push_back(d.source(element, piece == 64 ? Type::B64 : Type::B32));
    }
    op.d = d.destination(0, std::max(bits, 32) / 8);
    op.run = pack;
    return;
  }
  if (target.kind == Operand::Kind::Vector) {
    const int piece = bits / static_cast<int>(target.elements.size());
    op.shape[0] = static_cast<uint16_t>(piece);
    op.shape[1] = static_cast<uint16_t>(bits);
    op.a = d.source(1, type);
    for (const Operand& element : target.elements) {
      d.extra().list.push_back(d.is_sink(element) ? -1 : d.destination(element, std::max(piece, 32) / 8));
    }
    op.run = unpack;
    return;
  }
  op.a = d.source(1, type);
  op.d = d.destination(0, std::max(bits, 32) / 8);
  op.run = bits == 128 ? mov128 : bits == 64 ? mov64 : bits == 16 ? mov16 : mov32;
}

// ---- cvt. A value passes through int64_t or double, which together hold every PTX type exactly.

struct Number {
  bool is_real;
  int64_t integer;  // two's complement; for U64 the same bits
  double real;
};

/// `wide`: the register has 64 bits, whatever the type.
Number read_number(Warp& w, int32_t slot, int lane, Type type, bool wide) {
  const uint64_t raw = wide ? lanes<uint64_t>(w, slot)[lane] : lanes<uint32_t>(w, slot)[lane];
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

double round_to_integer(double value, uint8_t mode) {
  switch (mode) {
    case 1: return std::trunc(value);  // rzi
    case 2: return std::floor(value);  // rmi
    case 3: return std::ceil(value);   // rpi
    default: return std::nearbyint(value);
  }
}

// shape[0] destination type, shape[1] source type, shape[2] rounding: 0 nearest, 1 zero, 2 down, 3 up;
// flags 1: to an integral value (rni..), 2: sat, 4: ftz, 8: relu, 16: satfinite, 64: a register of 64 bits; d's width
// in shape[3].
Flow cvt_general(Warp& w, const Op& op, Mask m) {
  const Type to = static_cast<Type>(op.shape[0]), from = static_cast<Type>(op.shape[1]);
  const auto mode = static_cast<uint8_t>(op.shape[2]);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    Number value = read_number(w, op.a, lane, from, op.flags & 64);
    if (value.is_real && (op.flags & 4) && from == Type::F32) {
      value.real = static_cast<double>(flush_subnormal(static_cast<float>(value.real)));
    }
    uint64_t result = 0;
    if (!ptx::is_float(to)) {
      const int bits = ptx::bits(to);
      if (value.is_real) {
        double rounded = round_to_integer(value.real, mode);
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
        // NaN becomes 0, but the highest bit alone when either side has 64 bits.
        if (not_a_number && (bits == 64 || from == Type::F64)) result = uint64_t{1} << (bits - 1);
      } else {
        int64_t integer = value.integer;
        if (op.flags & 2) {
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
      const auto rounding = static_cast<Rounding>(mode);
      double real = value.real;
      if (!value.is_real) {
        const int significant = to == Type::F64 ? 53 : to == Type::F32 ? 24 : to == Type::F16 ? 11 : 8;
        real = round_integer(value.integer, from == Type::U64 || from == Type::B64, significant, rounding);
      }
      if (op.flags & 1) real = round_to_integer(real, mode);
      if (op.flags & 2) real = real > 0 ? std::min(real, 1.0) : 0.0;
      if ((op.flags & 8) && !(real > 0) && !std::isnan(real)) real = 0;
      switch (to) {
        case Type::F64: result = std::bit_cast<uint64_t>(real); break;
        case Type::F32: {
          float narrow = static_cast<float>(real);
          const double back = static_cast<double>(narrow);
          if (mode == 1 && std::fabs(back) > std::fabs(real)) narrow = std::nextafter(narrow, 0.0f);
          if (mode == 2 && back > real) narrow = std::nextafter(narrow, -INFINITY);
          if (mode == 3 && back < real) narrow = std::nextafter(narrow, INFINITY);
          if (op.flags & 4) narrow = flush_subnormal(narrow);
          result = std::bit_cast<uint32_t>(narrow);
          break;
        }
        case Type::F16:
          result = double_to_f16(real, rounding);
          if ((op.flags & 16) && (result & 0x7FFF) == 0x7C00) result -= 1;
          break;
        case Type::BF16:
          result = double_to_bf16(real, rounding);
          if ((op.flags & 16) && (result & 0x7FFF) == 0x7F80) result -= 1;
          break;
        case Type::TF32: {
          const auto bits = std::bit_cast<uint32_t>(static_cast<float>(real));
          result = mode == 1 ? bits & ~0x1FFFu : (bits + 0x0FFF + ((bits >> 13) & 1)) & ~0x1FFFu;
          if (op.flags & 32) result = (bits + 0x1000) & ~0x1FFFu;  // .rna: ties away from zero
          if (std::isnan(real)) result = 0x7FFF'FFFF;
          if ((op.flags & 16) && (result & 0x7FFF'FFFF) == 0x7F80'0000) result -= 0x2000;
          break;
        }
        default: break;
      }
    }
    if (op.shape[3] == 64)
      lanes<uint64_t>(w, op.d)[lane] = result;
    else
      lanes<uint32_t>(w, op.d)[lane] = static_cast<uint32_t>(op.shape[3] == 16 ? result & 0xFFFF : result);
  }
  return Flow::Next;
}

// The conversions that kernels execute all the time have loops of their own.
template <class D, class S, class T>
Flow cvt_integer(Warp& w, const Op& op, Mask m) {  // D: destination lane, S: source lane, T: the source type
  auto* d = lanes<D>(w, op.d);
  const auto* a = lanes<S>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = static_cast<D>(static_cast<std::make_signed_t<D>>(static_cast<T>(a[i]))); });
  return Flow::Next;
}
Flow cvt_f32_bf16(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = a[i] << 16; });
  return Flow::Next;
}
Flow cvt_bf16_f32(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  for_lanes(m, [&](int i) {
    const uint32_t bits = a[i];
    d[i] = (bits & 0x7FFF'FFFF) > 0x7F80'0000 ? 0x7FFF : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  });
  return Flow::Next;
}
Flow cvt_f32_s32(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<float>(w, op.d);
  const auto* a = lanes<int32_t>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = static_cast<float>(a[i]); });
  return Flow::Next;
}
// Two floats to a pair: a goes to the upper half.
Flow cvt_bf16x2_f32(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b);
  const auto round = [](uint32_t bits) {
    return (bits & 0x7FFF'FFFF) > 0x7F80'0000 ? 0x7FFF : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  };
  for_lanes(m, [&](int i) { d[i] = round(a[i]) << 16 | round(b[i]); });
  return Flow::Next;
}
// shape[0]: type of the pair; flags as above.
Flow cvt_pair(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<float>(w, op.a), *b = lanes<float>(w, op.b);
  const auto convert = [&](float value) -> uint32_t {
    if ((op.flags & 8) && !(value > 0) && !std::isnan(value)) value = 0;
    switch (static_cast<Type>(op.shape[0])) {
      case Type::F16x2: {
        uint16_t half = double_to_f16(static_cast<double>(value), static_cast<Rounding>(op.shape[2]));
        if ((op.flags & 16) && (half & 0x7FFF) == 0x7C00) half -= 1;
        return half;
      }
      case Type::BF16x2: {
        uint16_t half = op.shape[2] == 1 ? float_to_bf16_rz(value) : float_to_bf16_rn(value);
        if ((op.flags & 16) && (half & 0x7FFF) == 0x7F80) half -= 1;
        return half;
      }
      case Type::E4M3x2: return float_to_e4m3(value);
      case Type::E5M2x2: return float_to_e5m2(value);
      default: return 0;
    }
  };
  const int bits = ptx::bits(static_cast<Type>(op.shape[0])) / 2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    d[i] = convert(a[i]) << bits | convert(b[i]);
  }
  return Flow::Next;
}
Flow cvt_f16x2_fp8x2(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  const bool e4m3 = static_cast<Type>(op.shape[1]) == Type::E4M3x2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const auto widen = [&](uint32_t byte) -> uint32_t {
      const auto bits = static_cast<uint8_t>(byte);
      return float_to_f16_rn(e4m3 ? e4m3_to_float(bits) : e5m2_to_float(bits));
    };
    d[i] = widen(a[i] >> 8) << 16 | widen(a[i]);
  }
  return Flow::Next;
}
Flow cvt_fp8x2_f16x2(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  const bool e4m3 = static_cast<Type>(op.shape[0]) == Type::E4M3x2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const auto narrow = [&](uint32_t half) -> uint32_t {
      const float value = f16_to_float(static_cast<uint16_t>(half));
      return e4m3 ? float_to_e4m3(value) : float_to_e5m2(value);
    };
    d[i] = narrow(a[i] >> 16) << 8 | narrow(a[i]);
  }
  return Flow::Next;
}

// cvt.pack.sat.T.s32 d, a, b(, c): b to the lowest bits, a above it; with c, c's lower bits above both.
Flow cvt_pack(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<int32_t>(w, op.a), *b = lanes<int32_t>(w, op.b);
  const auto* c = op.c >= 0 ? lanes<uint32_t>(w, op.c) : nullptr;
  const int bits = op.shape[0];
  const int64_t low = op.shape[1] ? -(int64_t{1} << (bits - 1)) : 0,
                high = (int64_t{1} << (op.shape[1] ? bits - 1 : bits)) - 1;
  const auto narrow = [&](int32_t v) {
    return static_cast<uint32_t>(std::clamp<int64_t>(v, low, high)) & ((1u << bits) - 1);
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const uint32_t pair = narrow(a[i]) << bits | narrow(b[i]);
    d[i] = c != nullptr ? c[i] << (2 * bits) | pair : pair;
  }
  return Flow::Next;
}
void decode_cvt_pack(Decoder& d) {
  Op& op = *d.op;
  const Type to = d.type(0);
  if (!d.has("sat") || d.type(1) != Type::S32) d.unsupported("cvt.pack converts .s32 with .sat");
  op.shape[0] = static_cast<uint16_t>(ptx::bits(to));
  op.shape[1] = ptx::is_signed(to);
  if (op.shape[0] != 8 && op.shape[0] != 16) d.unsupported("this type of cvt.pack");
  op.d = d.destination(0, 4);
  op.a = d.source(1, Type::S32);
  op.b = d.source(2, Type::S32);
  if (d.count() > 3) {
    if (d.type(2) != Type::B32) d.unsupported("this type of cvt.pack");
    op.c = d.source(3, Type::B32);
  }
  op.run = cvt_pack;
}

void decode_cvt(Decoder& d) {
  Op& op = *d.op;
  if (d.has("pack")) return decode_cvt_pack(d);
  const Type to = d.type(0), from = d.type(1);
  if (to == Type::None || from == Type::None) d.unsupported("two types are required");
  d.ignore({"rn", "rni"});
  op.shape[0] = static_cast<uint16_t>(to);
  op.shape[1] = static_cast<uint16_t>(from);
  if (d.has("rz") || d.has("rzi")) op.shape[2] = 1;
  if (d.has("rm") || d.has("rmi")) op.shape[2] = 2;
  if (d.has("rp") || d.has("rpi")) op.shape[2] = 3;
  if (d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi")) op.flags |= 1;
  if (d.has("sat")) op.flags |= 2;
  if (d.has("ftz")) op.flags |= 4;
  if (d.has("relu")) op.flags |= 8;
  if (d.has("satfinite")) op.flags |= 16;
  if (d.has("rna")) op.flags |= 32;

  if (d.count() == 3) {  // two floats to a pair
    op.d = d.destination(0, 4);
    op.a = d.source(1, Type::F32);
    op.b = d.source(2, Type::F32);
    const bool plain = to == Type::BF16x2 && op.shape[2] == 0 && op.flags == 0;
    op.run = plain ? cvt_bf16x2_f32 : cvt_pair;
    if (to != Type::F16x2 && to != Type::BF16x2 && to != Type::E4M3x2 && to != Type::E5M2x2) op.run = nullptr;
    return;
  }
  if (to == Type::F16x2 && (from == Type::E4M3x2 || from == Type::E5M2x2)) {
    op.d = d.destination(0, 4);
    op.a = d.source(1, Type::B32);
    op.run = cvt_f16x2_fp8x2;
    return;
  }
  if (from == Type::F16x2 && (to == Type::E4M3x2 || to == Type::E5M2x2)) {
    op.d = d.destination(0, 4);
    op.a = d.source(1, Type::B32);
    op.run = cvt_fp8x2_f16x2;
    return;
  }
  const int register_bits = std::max(d.register_bits(d.operand(0)), ptx::bits(to));
  op.shape[3] = static_cast<uint16_t>(register_bits <= 16 ? 16 : register_bits);
  op.d = d.destination(0, std::max(register_bits, 32) / 8);
  // The source's register may be wider than its type.
  const bool wide_source = std::max(d.register_bits(d.operand(1)), ptx::bits(from)) == 64;
  op.a = d.source(1, wide_source && ptx::bits(from) < 64 ? Type::B64 : from);
  const auto one_number = [&](Type type) {
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
  };
  if (!one_number(to) || !one_number(from)) return;
  op.run = cvt_general;
  if (wide_source) op.flags |= 64;
  if (wide_source != (ptx::bits(from) == 64)) return;
  if ((op.flags & 63) == 0 && op.shape[2] == 0) {
    if (to == Type::F32 && from == Type::BF16) op.run = cvt_f32_bf16;
    if (to == Type::BF16 && from == Type::F32) op.run = cvt_bf16_f32;
    if (to == Type::F32 && from == Type::S32) op.run = cvt_f32_s32;
  }
  if ((op.flags & 63) == 0 && !ptx::is_float(to) && !ptx::is_float(from)) {
    const int bits = ptx::bits(to);
    if (bits == 64 && register_bits == 64) {
      if (from == Type::S32) op.run = cvt_integer<uint64_t, uint32_t, int32_t>;
      if (from == Type::U32 || from == Type::B32) op.run = cvt_integer<uint64_t, uint32_t, uint32_t>;
    } else if (bits == 32 && register_bits == 32) {
      if (ptx::bits(from) == 64) op.run = cvt_integer<uint32_t, uint64_t, uint64_t>;
      if (from == Type::U16 || from == Type::B16) op.run = cvt_integer<uint32_t, uint32_t, uint16_t>;
      if (from == Type::S16) op.run = cvt_integer<uint32_t, uint32_t, int16_t>;
    }
  }
}

// ---- cvta: op.imm is the window to add, or to take off with flags 1. 32-bit sources are extended.

Flow cvta(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint64_t>(w, op.d);
  const auto window = static_cast<uint64_t>(op.imm);
  if (op.shape[0] == 32) {
    const auto* a = lanes<uint32_t>(w, op.a);
    for_lanes(m, [&](int i) { d[i] = window | a[i]; });
  } else {
    const auto* a = lanes<uint64_t>(w, op.a);
    if (op.flags)
      for_lanes(m, [&](int i) { d[i] = a[i] & ~kWindowMask; });
    else
      for_lanes(m, [&](int i) { d[i] = window | a[i]; });
  }
  return Flow::Next;
}

void decode_cvta(Decoder& d) {
  Op& op = *d.op;
  if (d.has("shared") || d.has("shared::cta") || d.has("shared::cluster"))
    op.imm = static_cast<int64_t>(kSharedWindow);
  else if (d.has("local"))
    op.imm = static_cast<int64_t>(kLocalWindow);
  else if (d.has("param") || d.has("param::entry"))
    op.imm = static_cast<int64_t>(kParamWindow);
  else
    op.imm = 0;
  op.flags = d.has("to") && op.imm != 0;
  d.ignore({"to", "global", "const", "u64", "u32"});
  op.a = d.source(1, d.register_bits(d.operand(1)) == 32 ? Type::B32 : Type::B64);
  const int bits = d.register_bits(d.operand(1));
  op.shape[0] = static_cast<uint16_t>(bits == 32 ? 32 : 64);
  op.d = d.destination(0, 8);
  op.run = cvta;
}

// isspacep: which window is a generic address in?
Flow isspacep(Warp& w, const Op& op, Mask m) {
  const auto* a = lanes<uint64_t>(w, op.a);
  Mask truth = 0;
  for (int i = 0; i < 32; ++i) {
    bool yes = false;
    switch (op.flags) {
      case 0: yes = (a[i] & kWindowMask) == 0; break;
      case 1: yes = in_shared_window(a[i]) && (a[i] >> kSharedRankShift & 0xFF) == w.cta->rank; break;
      case 2: yes = in_shared_window(a[i]); break;
      case 3: yes = in_local_window(a[i]); break;
      case 4: yes = in_param_window(a[i]); break;
      default: break;
    }
    truth |= static_cast<Mask>(yes) << i;
  }
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | (truth & m);
  return Flow::Next;
}

// mapa: the same offset in another CTA of the cluster; getctarank: whose memory is it? flags 1: 64-bit generic
// addresses.
Flow mapa(Warp& w, const Op& op, Mask m) {
  const auto* rank = lanes<uint32_t>(w, op.b);
  const size_t size = cluster_of(w).ctas.size();
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    if (rank[i] >= size)
      throw Fault{Status::IllegalAddress,
                  "mapa: CTA rank " + std::to_string(rank[i]) + " of a cluster of " + std::to_string(size), i};
    if (op.flags)
      lanes<uint64_t>(w, op.d)[i] = (lanes<uint64_t>(w, op.a)[i] & ~uint64_t{0xFF00'0000}) | uint64_t{rank[i]}
                                                                                                 << kSharedRankShift;
    else
      lanes<uint32_t>(w, op.d)[i] =
          ((lanes<uint32_t>(w, op.a)[i] + static_cast<uint32_t>(op.imm)) & kSharedOffsetMask) | rank[i]
                                                                                                    << kSharedRankShift;
  }
  return Flow::Next;
}
Flow getctarank(Warp& w, const Op& op, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const uint32_t address =
        op.flags ? static_cast<uint32_t>(lanes<uint64_t>(w, op.a)[i]) : lanes<uint32_t>(w, op.a)[i];
    lanes<uint32_t>(w, op.d)[i] = address >> kSharedRankShift;
  }
  return Flow::Next;
}

}  // namespace

void decode_address(Decoder& d) {
  Op& op = *d.op;
  const bool wide = d.last_type() == Type::U64;
  d.ignore({"shared::cluster"});
  op.flags = wide;
  op.a = d.source(1, wide ? Type::B64 : Type::B32);
  op.d = d.destination(0, d.in->opcode == "mapa" && wide ? 8 : 4);
  if (d.in->opcode == "mapa") {
    op.b = d.source(2, Type::B32);
    op.run = mapa;
  } else {
    op.run = getctarank;
  }
}

void decode_convert(Decoder& d) {
  const std::string& name = d.in->opcode;
  if (name == "mov") return decode_mov(d);
  if (name == "cvt") return decode_cvt(d);
  if (name == "cvta") return decode_cvta(d);
  if (name == "isspacep") {
    d.op->d = d.destination(0, 4);
    d.op->a = d.source(1, Type::B64);
    d.ignore({"global", "const"});
    d.op->flags = d.has("shared") || d.has("shared::cta")   ? 1
                  : d.has("shared::cluster")                ? 2
                  : d.has("local")                          ? 3
                  : d.has("param") || d.has("param::entry") ? 4
                                                            : 0;
    d.op->run = isspacep;
  }
}

}  // namespace sim
