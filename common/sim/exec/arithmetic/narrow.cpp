// cvt between FP16 or FP32 and numbers of four, six and eight bits, two at a time: E2M1, E2M3, E3M2, and UE8M0, the
// powers of two that scale blocks of the others. They have no infinities, and only UE8M0 has a NaN.
#include "exec/arithmetic/narrow.h"

#include <algorithm>
#include <cmath>

#include "exec/arithmetic/lanewise.h"
#include "exec/arithmetic/numeric.h"

namespace sim {
namespace {

using ptx::Type;

/// A sign, `exponent` and `fraction` bits.
struct Small {
  int exponent, fraction, bias;
  constexpr int bits() const { return 1 + exponent + fraction; }
  constexpr uint32_t largest() const { return (1u << (exponent + fraction)) - 1; }

  float widen(uint32_t code) const {
    const auto e = static_cast<int>(code >> fraction & ((1u << exponent) - 1));
    const auto f = static_cast<float>(code & ((1u << fraction) - 1));
    const float one = std::ldexp(1.0f, fraction);
    const float magnitude = e == 0 ? std::ldexp(f, 1 - bias - fraction) : std::ldexp(one + f, e - bias - fraction);
    return code >> (exponent + fraction) & 1 ? -magnitude : magnitude;
  }
  /// Rounds to nearest, ties to even; greater values and NaN become the largest value.
  uint32_t narrow(float value) const {
    const uint32_t sign = std::signbit(value) && !std::isnan(value) ? 1u << (exponent + fraction) : 0;
    const float magnitude = std::fabs(value);
    if (!(magnitude < widen(largest()))) return sign | largest();
    // Codes of one sign are in the order of their values, so the two candidates are neighbours.
    uint32_t below = 0;
    while (widen(below + 1) <= magnitude) ++below;
    const float under = magnitude - widen(below), over = widen(below + 1) - magnitude;
    return sign | (under > over || (under == over && (below & 1)) ? below + 1 : below);
  }
};
constexpr Small kE2M1{2, 1, 1}, kE2M3{2, 3, 1}, kE3M2{3, 2, 3};

/// Two elements of E2M1 share a byte; elements of other types have a byte each.
constexpr int distance(const Small& format) { return format.bits() == 4 ? 4 : 8; }

template <const Small& FORMAT, bool RELU>
Flow narrow_pair(Warp& w, const Registers& o, Mask m) {  // a goes to the upper part
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<float>(w, o.a), *b = lanes<float>(w, o.b);
  const auto code = [](float value) { return FORMAT.narrow(RELU && value <= 0 ? 0.0f : value); };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    d[i] = code(a[i]) << distance(FORMAT) | code(b[i]);
  }
  return Flow::Next;
}
template <const Small& FORMAT, bool RELU>
Flow widen_pair(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto* a = lanes<uint32_t>(w, o.a);
  const auto half = [](uint32_t code) -> uint32_t {
    const float value = FORMAT.widen(code);
    return float_to_f16_rn(RELU && value <= 0 ? 0.0f : value);
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    d[i] = half(a[i] >> distance(FORMAT)) << 16 | half(a[i]);
  }
  return Flow::Next;
}
template <const Small& FORMAT>
void decode_narrow(Decoder& d) {
  d.ignore({"satfinite"});
  const Registers o{.d = d.destination(0, 4), .a = d.source(1, Type::F32), .b = d.source(2, Type::F32)};
  d.emit(d.has("relu") ? execution<narrow_pair<FORMAT, true>> : execution<narrow_pair<FORMAT, false>>, o);
}
template <const Small& FORMAT>
void decode_widen(Decoder& d) {
  const Registers o{.d = d.destination(0, 4), .a = d.source(1, Type::B16)};
  d.emit(d.has("relu") ? execution<widen_pair<FORMAT, true>> : execution<widen_pair<FORMAT, false>>, o);
}

// ---- UE8M0: the exponent of a positive number, 255 for a NaN

template <bool UP>
uint32_t scale_code(float value) {
  if (std::isnan(value)) return 255;
  const uint32_t bits = std::bit_cast<uint32_t>(std::fabs(value)), exponent = bits >> 23;
  if (exponent == 255) return 254;
  const uint32_t fraction = bits & 0x7F'FFFF;
  // 2^-127 is a subnormal FP32, half of the smallest normal one.
  const bool above = exponent == 0 ? fraction > 0x40'0000 : fraction != 0;
  return std::min(exponent + (UP && above ? 1 : 0), 254u);
}
template <bool UP, bool FROM_PAIR>
Flow narrow_scales(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, FROM_PAIR ? o.a : o.b);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const uint32_t upper = FROM_PAIR ? a[i] & 0xFFFF'0000 : a[i], lower = FROM_PAIR ? a[i] << 16 : b[i];
    d[i] = scale_code<UP>(std::bit_cast<float>(upper)) << 8 | scale_code<UP>(std::bit_cast<float>(lower));
  }
  return Flow::Next;
}
Flow widen_scales(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto* a = lanes<uint32_t>(w, o.a);
  const auto brain = [](uint32_t code) -> uint32_t { return code == 0 ? 0x0040 : code == 255 ? 0x7FFF : code << 7; };
  for_lanes(m, [&](int i) { d[i] = brain(a[i] >> 8 & 255) << 16 | brain(a[i] & 255); });
  return Flow::Next;
}
}  // namespace

void decode_to_e2m1x2(Decoder& d) { decode_narrow<kE2M1>(d); }
void decode_to_e2m3x2(Decoder& d) { decode_narrow<kE2M3>(d); }
void decode_to_e3m2x2(Decoder& d) { decode_narrow<kE3M2>(d); }
void decode_from_e2m1x2(Decoder& d) { decode_widen<kE2M1>(d); }
void decode_from_e2m3x2(Decoder& d) { decode_widen<kE2M3>(d); }
void decode_from_e3m2x2(Decoder& d) { decode_widen<kE3M2>(d); }

void decode_to_scales(Decoder& d) {
  const bool up = d.has("rp"), pair = d.count() == 2;
  d.ignore({"rz", "satfinite"});
  const Registers o{.d = d.destination(0, 4),
                    .a = d.source(1, pair ? Type::B32 : Type::F32),
                    .b = pair ? -1 : d.source(2, Type::F32)};
  if (pair)
    d.emit(up ? execution<narrow_scales<true, true>> : execution<narrow_scales<false, true>>, o);
  else
    d.emit(up ? execution<narrow_scales<true, false>> : execution<narrow_scales<false, false>>, o);
}
void decode_from_scales(Decoder& d) { d.emit<widen_scales>({.d = d.destination(0, 4), .a = d.source(1, Type::B16)}); }

}  // namespace sim
