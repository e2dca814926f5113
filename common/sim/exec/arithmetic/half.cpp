// F16 and BF16, one value or two in 32 bits. Operations compute in doubles, in which sums and products of two values
// are exact, and fused ones exact enough.
#include "exec/arithmetic/half.h"

#include <algorithm>
#include <cmath>

#include "exec/arithmetic/lanewise.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Type;

struct HalfOperands {
  Registers r;
  bool flush, saturate, relu;
};

template <class H, int N, auto F>
uint16_t compute(const HalfOperands& o, uint32_t a, uint32_t b, uint32_t c) {
  const auto input = [&](uint32_t bits) {
    const auto value = static_cast<double>(H::widen(static_cast<uint16_t>(bits)));
    return o.flush && std::fabs(value) < H::kSmallest ? std::copysign(0.0, value) : value;
  };
  double result;
  if constexpr (N == 1)
    result = F(input(a));
  else if constexpr (N == 2)
    result = F(input(a), input(b));
  else
    result = F(input(a), input(b), input(c));
  if (o.saturate) result = result > 0 ? std::min(result, 1.0) : 0.0;
  if (o.relu && !std::isnan(result)) result = result > 0 ? result : 0.0;
  const uint16_t bits = H::narrow(result);
  return o.flush && (bits & H::kExponent) == 0 ? bits & 0x8000 : bits;
}
template <class H, bool PAIR, int N, auto F>
Flow half(Warp& w, const HalfOperands& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.r.d);
  const auto* a = lanes<uint32_t>(w, o.r.a);
  const auto* b = lanes<uint32_t>(w, N > 1 ? o.r.b : o.r.a);
  const auto* c = lanes<uint32_t>(w, N > 2 ? o.r.c : o.r.a);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    uint32_t result = compute<H, N, F>(o, a[i], b[i], c[i]);
    if (PAIR) result |= static_cast<uint32_t>(compute<H, N, F>(o, a[i] >> 16, b[i] >> 16, c[i] >> 16)) << 16;
    d[i] = result;
  }
  return Flow::Next;
}
template <int N, auto F>
void decode_half(Decoder& d) {
  const Type type = d.last_type();
  const HalfOperands o{
      .r = registers_of(d, type, N), .flush = d.has("ftz"), .saturate = d.has("sat"), .relu = d.has("relu")};
  switch (type) {
    case Type::F16: return d.emit<half<Half, false, N, F>>(o);
    case Type::F16x2: return d.emit<half<Half, true, N, F>>(o);
    case Type::BF16: return d.emit<half<Brain, false, N, F>>(o);
    default: return d.emit<half<Brain, true, N, F>>(o);
  }
}

/// A NaN propagates.
template <auto F>
constexpr auto kNan = [](double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : F(a, b);
};
/// .xorsign.abs: applied to the magnitudes, with the sign of the product; a NaN is unchanged.
template <auto F>
constexpr auto kXorSign = [](double a, double b) {
  const double best = F(std::fabs(a), std::fabs(b));
  return std::isnan(best) || std::signbit(a) == std::signbit(b) ? best : -best;
};

constexpr Mnemonic kMnemonics[] = {
    {"add", decode_half<2, [](double a, double b) { return fma_to_odd(a, 1.0, b); }>},
    {"sub", decode_half<2, [](double a, double b) { return fma_to_odd(a, 1.0, -b); }>},
    {"mul", decode_half<2, [](double a, double b) { return a * b; }>},
    {"fma", decode_half<3, fma_to_odd>},
    {"min", decode_half<2, minimum>},
    {"max", decode_half<2, maximum>},
    {"min.NaN", decode_half<2, kNan<minimum>>},
    {"max.NaN", decode_half<2, kNan<maximum>>},
    {"min.xorsign.abs", decode_half<2, kXorSign<minimum>>},
    {"max.xorsign.abs", decode_half<2, kXorSign<maximum>>},
    {"min.NaN.xorsign.abs", decode_half<2, kXorSign<kNan<minimum>>>},
    {"max.NaN.xorsign.abs", decode_half<2, kXorSign<kNan<maximum>>>},
    {"abs", decode_half<1, [](double a) { return std::fabs(a); }>},
    {"neg", decode_half<1, [](double a) { return -a; }>},
    {"ex2", decode_half<1, [](double a) { return std::exp2(a); }>},
    {"tanh", decode_half<1, [](double a) { return std::tanh(a); }>},
};
constexpr std::string_view kIgnored[] = {"rn", "approx"};

}  // namespace

constinit const Family families::half{.mnemonics = kMnemonics, .ignored = kIgnored, .types = Types::Half, .pure = true};

}  // namespace sim
