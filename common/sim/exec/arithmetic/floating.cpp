// Floating point in 32 and 64 bits, and in pairs of 32 bits.
#include <array>
#include <cmath>

#include "exec/arithmetic/half.h"
#include "exec/arithmetic/lanewise.h"
#include "exec/arithmetic/rounding.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Type;

// ---- modifiers, as wrappers of an operation

/// Adjusts a result: a NaN becomes the canonical one; with .sat, the result is clamped to [0, 1] and NaN becomes 0.
enum class Finish { Keep, Canonical, Saturate };
struct Style {
  bool flush = false;  ///< .ftz: subnormal inputs and results become zero
  Finish finish = Finish::Keep;
};

template <Style STYLE>
float finished(float value) {
  if constexpr (STYLE.flush) value = flush_subnormal(value);
  if constexpr (STYLE.finish == Finish::Canonical) return canonical(value);
  if constexpr (STYLE.finish == Finish::Saturate) return value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
  return value;
}
template <auto F, Style STYLE>
constexpr auto kStyled = []<class... A>(A... operands) {
  using T = std::common_type_t<A...>;
  const auto input = [](T value) {
    if constexpr (STYLE.flush) return flush_subnormal(value);
    return value;
  };
  const T result = rounded<F>(input(static_cast<T>(operands))...);
  if constexpr (std::is_same_v<T, float>) return finished<STYLE>(result);
  return result;
};

template <auto F>
constexpr auto kRounded = [](auto... operands) { return rounded<F>(operands...); };

/// Pairs of FP32 in 64 bits.
template <int N, auto F>
Flow packed(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint64_t>(w, o.d);
  const auto *a = lanes<uint64_t>(w, o.a), *b = lanes<uint64_t>(w, o.b), *c = lanes<uint64_t>(w, N > 2 ? o.c : o.a);
  for_lanes(m, [&](int i) {
    const auto half = [&](int shift) {
      const auto part = [&](uint64_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v >> shift)); };
      float x;
      if constexpr (N == 3)
        x = F(part(a[i]), part(b[i]), part(c[i]));
      else
        x = F(part(a[i]), part(b[i]));
      return static_cast<uint64_t>(std::bit_cast<uint32_t>(x)) << shift;
    };
    d[i] = half(0) | half(32);
  });
  return Flow::Next;
}

/// A loop over lanes, and its handler.
struct Loop {
  Flow (*lanes)(Warp&, const Registers&, Mask) = nullptr;
  Execution<Registers> execution;
};
template <auto F>
constexpr Loop kLoop{F, sim::execution<F>};

struct DirectedOperands {
  Registers r;
  int mode;
  Flow (*lanes)(Warp&, const Registers&, Mask);
};
Flow directed(Warp& w, const DirectedOperands& o, Mask m) {
  const RoundingMode mode(o.mode);
  return o.lanes(w, o.r, m);
}
void emit_rounded(Decoder& d, const Loop& loop, const Registers& r) {
  static constexpr std::array kModes{FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  const int mode = d.which({"rz", "rm", "rp"});
  if (mode < 0 || loop.lanes == nullptr) return d.emit(loop.execution, r);
  d.emit<directed>({.r = r, .mode = kModes[static_cast<size_t>(mode)], .lanes = loop.lanes});
}

/// Sums, products and the like; for FP32 with .ftz and .sat.
template <int N, auto F, bool PAIRS>
Loop arithmetic(Decoder& d, Type type) {
  if (type == Type::F64) return kLoop<lanewise<double, double, N, kRounded<F>>>;
  const bool flush = d.has("ftz"), saturate = d.has("sat"), pair = type == Type::F32x2;
  if (pair && !PAIRS) return {};
  const auto styled = [&]<Style STYLE>() {
    if constexpr (PAIRS) {
      if (pair) return kLoop<packed<N, kStyled<F, STYLE>>>;
    }
    return kLoop<lanewise<float, float, N, kStyled<F, STYLE>>>;
  };
  if (saturate)
    return flush ? styled.template operator()<Style{true, Finish::Saturate}>()
                 : styled.template operator()<Style{false, Finish::Saturate}>();
  return flush ? styled.template operator()<Style{true, Finish::Canonical}>()
               : styled.template operator()<Style{false, Finish::Canonical}>();
}
template <int N, auto F, bool PAIRS = true>
void real(Decoder& d) {
  const Type type = d.last_type();
  emit_rounded(d, arithmetic<N, F, PAIRS>(d, type), registers_of(d, type, N));
}

// ---- fma: the most frequent operation. Processors with the instruction need no library call per lane.

constexpr auto kFma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
Flow fma_f32(Warp& w, const Op& op, Mask m) {
  const auto& o = operands<Registers>(op);
  auto* d = lanes<float>(w, o.d);
  const auto *a = lanes<float>(w, o.a), *b = lanes<float>(w, o.b), *c = lanes<float>(w, o.c);
  for_lanes(m, [&](int i) { d[i] = canonical(__builtin_fmaf(a[i], b[i], c[i])); });
  return Flow::Next;
}
#pragma GCC pop_options
const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
constexpr Handler fma_f32 = nullptr;
constexpr bool has_fma = false;
#endif

void decode_fma(Decoder& d) {
  const Type type = d.last_type();
  Loop loop = arithmetic<3, kFma, true>(d, type);
  constexpr auto kPlain = execute<lanewise<float, float, 3, kStyled<kFma, Style{.finish = Finish::Canonical}>>>;
  if (has_fma && loop.execution.run == kPlain) loop.execution.run = fma_f32;
  emit_rounded(d, loop, registers_of(d, type, 3));
}

// ---- sums in FP32 of which the first term, or the factors, are F16 or BF16

template <class H, int N, auto F, Style STYLE>
Flow mixed(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<float>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b);
  const auto* last = lanes<float>(w, N > 2 ? o.c : o.b);
  const auto wide = [](uint32_t bits) { return H::widen(static_cast<uint16_t>(bits)); };
  for_lanes(m, [&](int i) {
    if constexpr (N == 2)
      d[i] = finished<STYLE>(rounded<F>(wide(a[i]), last[i]));
    else
      d[i] = finished<STYLE>(rounded<F>(wide(a[i]), wide(b[i]), last[i]));
  });
  return Flow::Next;
}
template <class H, int N, auto F>
void decode_mixed(Decoder& d) {
  if (d.count() != N + 1) d.unsupported(faults::other_operands);
  const Type half = d.last_type();
  Registers r{.d = d.destination(0, 4), .a = d.source(1, half), .b = d.source(2, N > 2 ? half : Type::F32)};
  if (N > 2) r.c = d.source(3, Type::F32);
  emit_rounded(d,
               d.has("sat") ? kLoop<mixed<H, N, F, Style{.finish = Finish::Saturate}>>
                            : kLoop<mixed<H, N, F, Style{.finish = Finish::Canonical}>>,
               r);
}

// ---- min, max

/// All forms of FP32: two or three sources, NaN that propagates, .ftz, .abs, .xorsign (of two sources, with .abs).
struct MinMaxOperands {
  Registers r;
  bool nan, flush, absolute, xor_sign;
};
template <auto F>
Flow min_max(Warp& w, const MinMaxOperands& o, Mask m) {
  auto* d = lanes<float>(w, o.r.d);
  const auto *a = lanes<float>(w, o.r.a), *b = lanes<float>(w, o.r.b);
  const auto* c = o.r.c >= 0 ? lanes<float>(w, o.r.c) : nullptr;
  const auto choose = [&](float x, float y) {
    if (o.nan && (std::isnan(x) || std::isnan(y))) return std::numeric_limits<float>::quiet_NaN();
    return F(x, y);
  };
  const auto read = [&](float x) {
    if (o.flush) x = flush_subnormal(x);
    return o.absolute ? std::fabs(x) : x;
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    float result = choose(read(a[i]), read(b[i]));
    if (c != nullptr) result = choose(result, read(c[i]));
    if (o.xor_sign) result = std::copysign(result, std::signbit(a[i]) != std::signbit(b[i]) ? -1.0f : 1.0f);
    d[i] = canonical(result);
  }
  return Flow::Next;
}
template <auto F>
void decode_min_max(Decoder& d) {
  const Type type = d.last_type();
  const bool three = d.count() == 4;
  const Registers r = registers_of(d, type, three ? 3 : 2);
  if (type == Type::F64) {
    if (three) d.unsupported(faults::three_sources);
    return d.emit<lanewise<double, double, 2, F>>(r);
  }
  if (type != Type::F32) d.unsupported(faults::unknown_form);
  const MinMaxOperands o{
      .r = r, .nan = d.has("NaN"), .flush = d.has("ftz"), .absolute = d.has("abs"), .xor_sign = d.has("xorsign")};
  if (three || o.nan || o.flush || o.absolute) return d.emit<min_max<F>>(o);
  d.emit<lanewise<float, float, 2, kStyled<F, Style{.finish = Finish::Canonical}>>>(r);
}

// ---- signs. The ISA does not specify NaNs: an H200 returns the canonical NaN for FP32, and keeps NaNs of FP64, made
// quiet.

template <auto F>
constexpr auto kOfNumbers = [](double a) {
  return std::isnan(a) ? std::bit_cast<double>(std::bit_cast<uint64_t>(a) | uint64_t{1} << 51) : F(a);
};
template <auto F>
void sign(Decoder& d) {
  const Type type = d.last_type();
  const bool flush = d.has("ftz");
  const Registers r = registers_of(d, type, 1);
  if (type == Type::F64) return d.emit<lanewise<double, double, 1, kOfNumbers<F>>>(r);
  if (type != Type::F32) d.unsupported(faults::unknown_form);
  d.emit(flush ? execution<lanewise<float, float, 1, kStyled<F, Style{true, Finish::Canonical}>>>
               : execution<lanewise<float, float, 1, kStyled<F, Style{false, Finish::Canonical}>>>,
         r);
}

void decode_copysign(Decoder& d) {
  constexpr auto kCopy = [](auto a, auto b) { return std::copysign(b, a); };
  const Type type = d.last_type();
  const Registers r = registers_of(d, type, 2);
  if (type == Type::F64) return d.emit<lanewise<double, double, 2, kCopy>>(r);
  if (type != Type::F32) d.unsupported(faults::unknown_form);
  d.emit<lanewise<float, float, 2, kCopy>>(r);
}

// ---- functions

/// Functions of FP32 only, rounded from their FP64 result.
template <auto F>
constexpr auto kThroughDouble = [](float a) { return static_cast<float>(F(static_cast<double>(a))); };

template <auto F>
void function_f32(Decoder& d) {
  const bool flush = d.has("ftz");
  d.emit(flush ? execution<lanewise<float, float, 1, kStyled<F, Style{true, Finish::Canonical}>>>
               : execution<lanewise<float, float, 1, kStyled<F, Style{false, Finish::Canonical}>>>,
         registers_of(d, Type::F32, 1));
}
template <auto F>
void function_f64(Decoder& d) {
  d.emit<lanewise<double, double, 1, F>>(registers_of(d, Type::F64, 1));
}
/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: they use the upper 32 bits; the lower 32 bits of the result are zeros.
template <auto F>
constexpr auto kUpperHalf = [](double x) {
  const auto upper = [](double v) {
    if (std::fpclassify(v) == FP_SUBNORMAL) return std::copysign(0.0, v);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(v) & ~uint64_t{0xFFFF'FFFF});
  };
  return upper(F(upper(x)));
};

constexpr auto kSum = [](auto a, auto b) { return a + b; };
constexpr auto kDifference = [](auto a, auto b) { return a - b; };
constexpr auto kReciprocal = [](auto a) { return decltype(a){1} / a; };
constexpr auto kRsqrt = [](double a) { return 1.0 / std::sqrt(a); };

constexpr Mnemonic kMnemonics[] = {
    {"add", real<2, kSum>},
    {"sub", real<2, kDifference>},
    {"mul", real<2, [](auto a, auto b) { return a * b; }>},
    {"fma", decode_fma},
    {"mad", decode_fma},
    {"div", real<2, [](auto a, auto b) { return a / b; }, false>},
    {"min", decode_min_max<minimum>},
    {"max", decode_min_max<maximum>},
    {"abs", sign<[](auto a) { return std::fabs(a); }>},
    {"neg", sign<[](auto a) { return -a; }>},
    {"copysign", decode_copysign},
    {"rcp", real<1, kReciprocal, false>},
    {"rcp.approx.ftz.f64", function_f64<kUpperHalf<kReciprocal>>},
    {"sqrt", real<1, [](auto a) { return std::sqrt(a); }, false>},
    {"rsqrt.f32", function_f32<kThroughDouble<kRsqrt>>},
    {"rsqrt.f64", function_f64<kRsqrt>},
    {"rsqrt.approx.ftz.f64", function_f64<kUpperHalf<kRsqrt>>},
    {"ex2.f32", function_f32<kThroughDouble<[](double a) { return std::exp2(a); }>>},
    {"lg2.f32", function_f32<kThroughDouble<[](double a) { return std::log2(a); }>>},
    {"sin.f32", function_f32<kThroughDouble<[](double a) { return std::sin(a); }>>},
    {"cos.f32", function_f32<kThroughDouble<[](double a) { return std::cos(a); }>>},
    {"tanh.f32", function_f32<kThroughDouble<[](double a) { return std::tanh(a); }>>},
};
constexpr Mnemonic kMixed[] = {
    {"add.f32.f16", decode_mixed<Half, 2, kSum>},        {"add.f32.bf16", decode_mixed<Brain, 2, kSum>},
    {"sub.f32.f16", decode_mixed<Half, 2, kDifference>}, {"sub.f32.bf16", decode_mixed<Brain, 2, kDifference>},
    {"fma.f32.f16", decode_mixed<Half, 3, kFma>},        {"fma.f32.bf16", decode_mixed<Brain, 3, kFma>},
};
constexpr std::string_view kIgnored[] = {"rn", "approx", "full"};

}  // namespace

constinit const Family families::floating{
    .mnemonics = kMnemonics, .ignored = kIgnored, .types = Types::Real, .pure = true};
constinit const Family families::mixed{.mnemonics = kMixed, .ignored = kIgnored, .types = Types::Half, .pure = true};

}  // namespace sim
