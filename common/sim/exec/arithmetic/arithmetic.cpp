// Integer, logic and floating-point arithmetic, comparisons and selections.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <type_traits>

#include "exec/arithmetic/numeric.h"
#include "exec/core/decoder.h"

namespace sim {
namespace {

using ptx::Type;

// What a slot holds for a type: 4 bytes for everything up to 32 bits, else 8.
template <class T>
using Stored = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
T load(Stored<T> raw) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<T>(raw);
  } else {
    return static_cast<T>(raw);
  }
}
template <class T>
Stored<T> store(T value) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<Stored<T>>(value);
  } else {
    return static_cast<Stored<T>>(static_cast<std::make_unsigned_t<T>>(value));
  }
}

// Half types: a tag that says how 16 bits become a float and back.
struct Half {
  static constexpr double smallest = 0x1p-14;  // of the normal numbers
  static constexpr uint16_t exponent = 0x7C00;
  static float widen(uint16_t bits) { return f16_to_float(bits); }
  static uint16_t narrow(double value) { return double_to_f16(value); }
};
struct Brain {
  static constexpr double smallest = 0x1p-126;
  static constexpr uint16_t exponent = 0x7F80;
  static float widen(uint16_t bits) { return bf16_to_float(bits); }
  static uint16_t narrow(double value) { return double_to_bf16(value); }
};

// ---- shapes of handlers

template <class T, class F>
Flow unary(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<T>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = store<T>(F::apply(load<T>(a[i]))); });
  return Flow::Next;
}
template <class T, class F>
Flow binary(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<T>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const auto* b = lanes<Stored<T>>(w, op.b);
  for_lanes(m, [&](int i) { d[i] = store<T>(F::apply(load<T>(a[i]), load<T>(b[i]))); });
  return Flow::Next;
}
template <class T, class F>
Flow ternary(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<T>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const auto* b = lanes<Stored<T>>(w, op.b);
  const auto* c = lanes<Stored<T>>(w, op.c);
  for_lanes(m, [&](int i) { d[i] = store<T>(F::apply(load<T>(a[i]), load<T>(b[i]), load<T>(c[i]))); });
  return Flow::Next;
}
/// Sources of type T, destination of type D.
template <class D, class T, class F>
Flow widening(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<D>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const auto* b = lanes<Stored<T>>(w, op.b);
  for_lanes(m, [&](int i) { d[i] = store<D>(F::apply(load<T>(a[i]), load<T>(b[i]))); });
  return Flow::Next;
}

// Half arithmetic, one value or two in 32 bits. flags 1: ftz, 2: sat, 4: relu
template <class H, class F>
uint16_t half_one(uint32_t a, uint32_t b, uint32_t c, uint32_t flags) {
  double x = static_cast<double>(H::widen(static_cast<uint16_t>(a))),
         y = static_cast<double>(H::widen(static_cast<uint16_t>(b))),
         z = static_cast<double>(H::widen(static_cast<uint16_t>(c)));
  const auto flush = [](double value) { return std::fabs(value) < H::smallest ? std::copysign(0.0, value) : value; };
  if (flags & 1) x = flush(x), y = flush(y), z = flush(z);
  double result = F::apply(x, y, z);
  if (flags & 2) result = result > 0 ? std::min(result, 1.0) : 0.0;
  if ((flags & 4) && !std::isnan(result)) result = result > 0 ? result : 0.0;
  const uint16_t bits = H::narrow(result);
  if ((flags & 1) && (bits & H::exponent) == 0) return bits & 0x8000;
  return bits;
}
template <class H, class F, bool PAIR>
Flow half(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  const auto* b = lanes<uint32_t>(w, op.b >= 0 ? op.b : op.a);
  const auto* c = lanes<uint32_t>(w, op.c >= 0 ? op.c : op.a);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    uint32_t result = half_one<H, F>(a[i], b[i], c[i], op.flags);
    if (PAIR) result |= static_cast<uint32_t>(half_one<H, F>(a[i] >> 16, b[i] >> 16, c[i] >> 16, op.flags)) << 16;
    d[i] = result;
  }
  return Flow::Next;
}
// Changes of the sign leave NaNs as they are.
template <bool PAIR, bool NEGATE>
Flow half_sign(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<uint32_t>(w, op.a);
  constexpr uint32_t signs = PAIR ? 0x8000'8000 : 0x8000;
  for_lanes(m, [&](int i) { d[i] = NEGATE ? a[i] ^ signs : a[i] & ~signs; });
  return Flow::Next;
}

// ---- operations

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a - b);
  }
};
struct MulLo {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct MulHi {
  template <class T>
  static T apply(T a, T b) {
    using Wide =
        std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                           std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
template <class D>
struct MulWide {
  template <class T>
  static D apply(T a, T b) {
    return static_cast<D>(static_cast<D>(a) * static_cast<D>(b));
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) return static_cast<T>(~T{0});  // what hardware gives
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
      }
      return static_cast<T>(a / b);
    }
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <class T>
  static T apply(T a) {
    return a == 0 ? T{1} : T{0};
  }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  }
};
struct Abs {
  template <class T>
  static T apply(T a) {
    return a < 0 ? Neg::apply(a) : a;
  }
};
struct Popc {
  template <class T>
  static uint32_t apply(T a) {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct Clz {
  template <class T>
  static uint32_t apply(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
struct Brev {
  template <class T>
  static T apply(T a) {
    T result = 0;
    for (size_t bit = 0; bit < 8 * sizeof(T); ++bit) result |= ((a >> bit) & 1) << (8 * sizeof(T) - 1 - bit);
    return result;
  }
};

struct FAdd {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct FSub {
  template <class T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct FMul {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct FFma {
  template <class T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct FNeg {
  template <class T>
  static T apply(T a) {
    return -a;
  }
};
struct FAbs {
  template <class T>
  static T apply(T a) {
    return std::fabs(a);
  }
};
struct FMin {
  template <class T>
  static T apply(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};
struct FMax {
  template <class T>
  static T apply(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a < b ? b : a;
  }
};
struct CopySign {
  template <class T>
  static T apply(T a, T b) {
    return std::copysign(b, a);
  }
};
template <class M>
struct FNanPropagating {
  template <class T>
  static T apply(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    return M::apply(a, b);
  }
};
template <class F>
struct Flushed {  // .ftz: subnormal inputs and results become zero
  static float apply(float a) { return flush_subnormal(F::apply(flush_subnormal(a))); }
  static float apply(float a, float b) { return flush_subnormal(F::apply(flush_subnormal(a), flush_subnormal(b))); }
  static float apply(float a, float b, float c) {
    return flush_subnormal(F::apply(flush_subnormal(a), flush_subnormal(b), flush_subnormal(c)));
  }
};
template <class F>
struct Saturated {  // .sat: clamp to [0, 1], NaN to 0
  static float clamp(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
  static float apply(float a) { return clamp(F::apply(a)); }
  static float apply(float a, float b) { return clamp(F::apply(a, b)); }
  static float apply(float a, float b, float c) { return clamp(F::apply(a, b, c)); }
};
template <class F>
struct Canonical {  // results that are NaN are the one NaN that hardware gives
  static float apply(float a) { return canonical(F::apply(a)); }
  static float apply(float a, float b) { return canonical(F::apply(a, b)); }
  static float apply(float a, float b, float c) { return canonical(F::apply(a, b, c)); }
};

// Directed rounding, rare: through the host's rounding mode.
template <class F, int MODE>
struct Directed {
  template <class T, class... A>
  static T apply(T first, A... rest) {
    const int before = std::fegetround();
    std::fesetround(MODE);
    volatile T result = F::apply(*const_cast<volatile T*>(&first), static_cast<T>(*const_cast<volatile A*>(&rest))...);
    std::fesetround(before);
    return result;
  }
};

// Half operations take and give doubles, in which sums and products of two halves are exact, and fused ones as good as.
struct HAdd {
  static double apply(double a, double b, double) { return fma_to_odd(a, 1.0, b); }
};
struct HSub {
  static double apply(double a, double b, double) { return fma_to_odd(a, 1.0, -b); }
};
struct HMul {
  static double apply(double a, double b, double) { return a * b; }
};
struct HFma {
  static double apply(double a, double b, double c) { return fma_to_odd(a, b, c); }
};
struct HMin {
  static double apply(double a, double b, double) { return FMin::apply(a, b); }
};
struct HMax {
  static double apply(double a, double b, double) { return FMax::apply(a, b); }
};
struct HMinNan {
  static double apply(double a, double b, double) { return FNanPropagating<FMin>::apply(a, b); }
};
struct HMaxNan {
  static double apply(double a, double b, double) { return FNanPropagating<FMax>::apply(a, b); }
};
struct HEx2 {
  static double apply(double a, double, double) { return std::exp2(a); }
};
struct HTanh {
  static double apply(double a, double, double) { return std::tanh(a); }
};

struct Rcp {
  static float apply(float a) { return 1.0f / a; }
  static double apply(double a) { return 1.0 / a; }
};
struct Sqrt {
  static float apply(float a) { return std::sqrt(a); }
  static double apply(double a) { return std::sqrt(a); }
};
struct Rsqrt {
  static float apply(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
  static double apply(double a) { return 1.0 / std::sqrt(a); }
};
struct Ex2 {
  static float apply(float a) { return static_cast<float>(std::exp2(static_cast<double>(a))); }
};
struct Lg2 {
  static float apply(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }
};
struct Sin {
  static float apply(float a) { return static_cast<float>(std::sin(static_cast<double>(a))); }
};
struct Cos {
  static float apply(float a) { return static_cast<float>(std::cos(static_cast<double>(a))); }
};
struct Tanh {
  static float apply(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }
};

// Most of what kernels do: on processors that can, without a call of the library for every lane.
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
Flow fma_f32(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<float>(w, op.d);
  const auto *a = lanes<float>(w, op.a), *b = lanes<float>(w, op.b), *c = lanes<float>(w, op.c);
  for_lanes(m, [&](int i) { d[i] = canonical(__builtin_fmaf(a[i], b[i], c[i])); });
  return Flow::Next;
}
#pragma GCC pop_options
bool has_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
constexpr Handler fma_f32 = ternary<float, Canonical<FFma>>;
bool has_fma() { return false; }
#endif

// ---- shifts: amounts beyond the width give 0 or the sign

template <class T>
Flow shift_left(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<T>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const auto* b = lanes<uint32_t>(w, op.b);
  for_lanes(m,
            [&](int i) { d[i] = b[i] >= 8 * sizeof(T) ? 0 : store<T>(static_cast<T>(load<T>(a[i]) << (b[i] & 63))); });
  return Flow::Next;
}
template <class T>
Flow shift_right(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<T>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const auto* b = lanes<uint32_t>(w, op.b);
  for_lanes(m, [&](int i) {
    const T value = load<T>(a[i]);
    const uint32_t amount = b[i] >= 8 * sizeof(T) ? 8 * sizeof(T) - 1 : b[i];
    const T shifted = static_cast<T>(value >> amount);
    d[i] = store<T>(b[i] >= 8 * sizeof(T) && !std::is_signed_v<T> ? T{0} : shifted);
  });
  return Flow::Next;
}

template <bool WRAP, bool LEFT>
Flow funnel_shift(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b), *c = lanes<uint32_t>(w, op.c);
  for_lanes(m, [&](int i) {
    const uint64_t both = static_cast<uint64_t>(b[i]) << 32 | a[i];
    const uint32_t n = WRAP ? c[i] & 31 : std::min(c[i], 32u);
    d[i] = LEFT ? static_cast<uint32_t>((both << n) >> 32) : static_cast<uint32_t>(both >> n);
  });
  return Flow::Next;
}

// ---- mad

template <class T, bool HIGH>
struct Mad {
  static T apply(T a, T b, T c) { return static_cast<T>((HIGH ? MulHi::apply(a, b) : MulLo::apply(a, b)) + c); }
};
template <class D, class T>
Flow mad_wide(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<Stored<D>>(w, op.d);
  const auto *a = lanes<Stored<T>>(w, op.a), *b = lanes<Stored<T>>(w, op.b);
  const auto* c = lanes<Stored<D>>(w, op.c);
  for_lanes(m, [&](int i) {
    d[i] = store<D>(static_cast<D>(MulWide<D>::apply(load<T>(a[i]), load<T>(b[i])) + load<D>(c[i])));
  });
  return Flow::Next;
}

// 24-bit factors, 48-bit product: its lower or upper 32 bits, plus c. shape[0]: signed, shape[1]: upper
Flow multiply24(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b);
  const auto* c = op.c >= 0 ? lanes<uint32_t>(w, op.c) : nullptr;
  for_lanes(m, [&](int i) {
    const auto factor = [&](uint32_t v) -> int64_t {
      return op.shape[0] ? static_cast<int32_t>(v << 8) >> 8 : static_cast<int32_t>(v & 0xFF'FFFF);
    };
    const int64_t product = factor(a[i]) * factor(b[i]);
    d[i] = static_cast<uint32_t>(op.shape[1] ? product >> 16 : product) + (c != nullptr ? c[i] : 0);
  });
  return Flow::Next;
}

// Extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry is a predicate slot of its own.
template <class T, bool SUBTRACT>
Flow add_carry(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<T>(w, op.d);
  const auto *a = lanes<T>(w, op.a), *b = lanes<T>(w, op.b);
  Mask& carry = predicate(w, op.e);
  const bool uses = op.flags & 1, sets = op.flags & 2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const unsigned in = uses ? (carry >> i) & 1 : 0;
    unsigned __int128 sum;
    bool out;
    if constexpr (SUBTRACT) {
      sum = static_cast<unsigned __int128>(a[i]) - b[i] - in;
      out = static_cast<unsigned __int128>(a[i]) < static_cast<unsigned __int128>(b[i]) + in;
    } else {
      sum = static_cast<unsigned __int128>(a[i]) + b[i] + in;
      out = (sum >> (8 * sizeof(T))) != 0;
    }
    d[i] = static_cast<T>(sum);
    if (sets) carry = (carry & ~(1u << i)) | (out ? 1u << i : 0);
  }
  return Flow::Next;
}
template <class T, bool HIGH>
Flow mad_carry(Warp& w, const Op& op, Mask m) {
  using U = std::make_unsigned_t<T>;
  auto* d = lanes<T>(w, op.d);
  const auto *a = lanes<T>(w, op.a), *b = lanes<T>(w, op.b), *c = lanes<T>(w, op.c);
  Mask& carry = predicate(w, op.e);
  const bool uses = op.flags & 1, sets = op.flags & 2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const auto product = static_cast<U>(HIGH ? MulHi::apply(a[i], b[i]) : MulLo::apply(a[i], b[i]));
    const unsigned __int128 sum =
        static_cast<unsigned __int128>(product) + static_cast<U>(c[i]) + (uses ? (carry >> i) & 1 : 0);
    d[i] = static_cast<T>(sum);
    if (sets) carry = (carry & ~(1u << i)) | ((sum >> (8 * sizeof(T))) != 0 ? 1u << i : 0);
  }
  return Flow::Next;
}

// ---- bit fields

template <class T>
Flow bit_extract(Warp& w, const Op& op, Mask m) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  auto* d = lanes<Stored<T>>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const auto *b = lanes<uint32_t>(w, op.b), *c = lanes<uint32_t>(w, op.c);
  for_lanes(m, [&](int i) {
    const uint32_t at = b[i] & 0xFF, length = c[i] & 0xFF;
    const U value = static_cast<U>(load<T>(a[i]));
    const bool negative = std::is_signed_v<T> && length > 0 && ((value >> std::min(at + length - 1, width - 1)) & 1);
    U field = at >= width ? 0 : static_cast<U>(value >> at);
    const U mask = length >= width ? ~U{0} : static_cast<U>((U{1} << length) - 1);
    field &= mask;
    const uint32_t have = at >= width ? 0 : std::min(length, width - at);
    if (negative) field |= have >= width ? 0 : static_cast<U>(~((U{1} << have) - 1));
    d[i] = store<T>(static_cast<T>(length == 0 ? U{0} : field));
  });
  return Flow::Next;
}
template <class T>
Flow bit_insert(Warp& w, const Op& op, Mask m) {
  constexpr uint32_t width = 8 * sizeof(T);
  auto* d = lanes<T>(w, op.d);
  const auto *a = lanes<T>(w, op.a), *b = lanes<T>(w, op.b);
  const auto *c = lanes<uint32_t>(w, op.c), *e = lanes<uint32_t>(w, op.e);
  for_lanes(m, [&](int i) {
    const uint32_t at = c[i] & 0xFF, length = std::min(e[i] & 0xFF, width);
    const T ones = length >= width ? ~T{0} : static_cast<T>((T{1} << length) - 1);
    const T mask = at >= width ? T{0} : static_cast<T>(ones << at);
    d[i] = (b[i] & ~mask) | ((at >= width ? T{0} : static_cast<T>(a[i] << at)) & mask);
  });
  return Flow::Next;
}
template <class T>
Flow bit_find(Warp& w, const Op& op, Mask m) {
  using U = std::make_unsigned_t<T>;
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<Stored<T>>(w, op.a);
  const bool shift_amount = op.flags != 0;
  for_lanes(m, [&](int i) {
    T value = load<T>(a[i]);
    if (std::is_signed_v<T> && value < 0) value = static_cast<T>(~value);
    const int leading = std::countl_zero(static_cast<U>(value));
    const int width = 8 * sizeof(T);
    d[i] = leading == width ? 0xFFFF'FFFFu : static_cast<uint32_t>(shift_amount ? leading : width - 1 - leading);
  });
  return Flow::Next;
}
template <class T>
Flow count_bits(Warp& w, const Op& op, Mask m) {  // popc, clz: 32-bit result of a possibly 64-bit source
  auto* d = lanes<uint32_t>(w, op.d);
  const auto* a = lanes<T>(w, op.a);
  for_lanes(m, [&](int i) { d[i] = op.flags ? Clz::apply(a[i]) : Popc::apply(a[i]); });
  return Flow::Next;
}

Flow permute_bytes(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b), *c = lanes<uint32_t>(w, op.c);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const uint64_t both = static_cast<uint64_t>(b[i]) << 32 | a[i];
    const uint32_t s = c[i] & 3;
    uint32_t selector = c[i];
    switch (op.flags) {
      case 1: selector = (s + 0) | (s + 1) << 4 | (s + 2) << 8 | (s + 3) << 12; break;                     // .f4e
      case 2: selector = (s & 7) | ((s - 1) & 7) << 4 | ((s - 2) & 7) << 8 | ((s - 3) & 7) << 12; break;   // .b4e
      case 3: selector = s * 0x1111; break;                                                                // .rc8
      case 4: selector = std::max(s, 0u) | std::max(s, 1u) << 4 | std::max(s, 2u) << 8 | 3u << 12; break;  // .ecl
      case 5: selector = 0 | std::min(s, 1u) << 4 | std::min(s, 2u) << 8 | s << 12; break;                 // .ecr
      case 6: selector = (s & 1) * 0x2222 + 0x1010; break;                                                 // .rc16
      default: break;
    }
    uint32_t result = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const uint32_t pick = selector >> (4 * byte) & 0xF;
      uint32_t value = static_cast<uint32_t>(both >> (8 * (pick & 7))) & 0xFF;
      if (pick & 8) value = value & 0x80 ? 0xFF : 0;
      result |= value << (8 * byte);
    }
    d[i] = result;
  }
  return Flow::Next;
}

Flow lop3(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b), *c = lanes<uint32_t>(w, op.c);
  const auto table = static_cast<uint32_t>(op.imm);
  for_lanes(m, [&](int i) {
    uint32_t result = 0;
    if (table & 0x01) result |= ~a[i] & ~b[i] & ~c[i];
    if (table & 0x02) result |= ~a[i] & ~b[i] & c[i];
    if (table & 0x04) result |= ~a[i] & b[i] & ~c[i];
    if (table & 0x08) result |= ~a[i] & b[i] & c[i];
    if (table & 0x10) result |= a[i] & ~b[i] & ~c[i];
    if (table & 0x20) result |= a[i] & ~b[i] & c[i];
    if (table & 0x40) result |= a[i] & b[i] & ~c[i];
    if (table & 0x80) result |= a[i] & b[i] & c[i];
    d[i] = result;
  });
  return Flow::Next;
}

template <bool SIGNED_A, bool SIGNED_B, bool TWO_WAY>
Flow dot_product(Warp& w, const Op& op, Mask m) {  // dp4a, dp2a
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b), *c = lanes<uint32_t>(w, op.c);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    uint32_t sum = c[i];
    for (int k = 0; k < (TWO_WAY ? 2 : 4); ++k) {
      int32_t x, y;
      if constexpr (TWO_WAY) {
        x = SIGNED_A ? static_cast<int16_t>(a[i] >> (16 * k)) : static_cast<uint16_t>(a[i] >> (16 * k));
      } else {
        x = SIGNED_A ? static_cast<int8_t>(a[i] >> (8 * k)) : static_cast<uint8_t>(a[i] >> (8 * k));
      }
      const int at = TWO_WAY && op.flags ? k + 2 : k;  // .hi: the upper two bytes of b
      y = SIGNED_B ? static_cast<int8_t>(b[i] >> (8 * at)) : static_cast<uint8_t>(b[i] >> (8 * at));
      sum += static_cast<uint32_t>(x * y);
    }
    d[i] = sum;
  }
  return Flow::Next;
}

// ---- predicates

enum Compare : uint8_t { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };

template <class T>
bool compare(Compare how, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    switch (how) {
      case EQ: return a == b;
      case NE: return !unordered && a != b;
      case LT: return a < b;
      case LE: return a <= b;
      case GT: return a > b;
      case GE: return a >= b;
      case EQU: return unordered || a == b;
      case NEU: return unordered || a != b;
      case LTU: return unordered || a < b;
      case LEU: return unordered || a <= b;
      case GTU: return unordered || a > b;
      case GEU: return unordered || a >= b;
      case NUM: return !unordered;
      case NAN_: return unordered;
    }
    return false;
  } else {
    switch (how) {
      case EQ:
      case EQU: return a == b;
      case NE:
      case NEU: return a != b;
      case LT:
      case LTU: return a < b;
      case LE:
      case LEU: return a <= b;
      case GT:
      case GTU: return a > b;
      case GE:
      case GEU: return a >= b;
      default: return false;
    }
  }
}

// setp: op.shape[0] the comparison, shape[1] 0 none, 1 and, 2 or, 3 xor with predicate c; flags 1: c negated, 2: ftz.
void set_predicates(Warp& w, const Op& op, Mask m, Mask truth) {
  Mask other = op.c >= 0 ? predicate(w, op.c) : 0;
  if (op.flags & 1) other = ~other;
  Mask first = truth, second = ~truth;
  switch (op.shape[1]) {
    case 1:
      first &= other;
      second &= other;
      break;
    case 2:
      first |= other;
      second |= other;
      break;
    case 3:
      first ^= other;
      second ^= other;
      break;
    default: break;
  }
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | (first & m);
  if (op.e >= 0) {
    Mask& e = predicate(w, op.e);
    e = (e & ~m) | (second & m);
  }
}
template <class T, Compare HOW>
Flow setp(Warp& w, const Op& op, Mask m) {
  const auto *a = lanes<Stored<T>>(w, op.a), *b = lanes<Stored<T>>(w, op.b);
  Mask truth = 0;
  for (int i = 0; i < 32; ++i) {
    T x = load<T>(a[i]), y = load<T>(b[i]);
    if constexpr (std::is_same_v<T, float>) {
      if (op.flags & 2) x = flush_subnormal(x), y = flush_subnormal(y);
    }
    truth |= static_cast<Mask>(compare<T>(HOW, x, y)) << i;
  }
  set_predicates(w, op, m, truth);
  return Flow::Next;
}
template <class H>
Flow setp_half(Warp& w, const Op& op, Mask m) {
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b);
  Mask truth = 0;
  for (int i = 0; i < 32; ++i) {
    truth |= static_cast<Mask>(compare<float>(static_cast<Compare>(op.shape[0]), H::widen(static_cast<uint16_t>(a[i])),
                                              H::widen(static_cast<uint16_t>(b[i]))))
             << i;
  }
  set_predicates(w, op, m, truth);
  return Flow::Next;
}
// set: like setp, but the destination is a number: shape[2] is true's. shape[1] and c combine as in setp.
uint32_t combined(Warp& w, const Op& op, int lane, bool truth) {
  if (op.c < 0) return truth;
  const bool other = ((predicate(w, op.c) ^ (op.flags & 1 ? kAllLanes : 0)) >> lane & 1) != 0;
  return op.shape[1] == 1 ? truth && other : op.shape[1] == 2 ? truth || other : truth != other;
}
uint32_t truth_value(const Op& op) {
  return op.shape[2] == 1   ? std::bit_cast<uint32_t>(1.0f)
         : op.shape[2] == 2 ? 0x3C00
         : op.shape[2] == 3 ? 0x3F80
                            : 0xFFFF'FFFFu;
}
template <class T>
Flow set_value(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<Stored<T>>(w, op.a), *b = lanes<Stored<T>>(w, op.b);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    T x = load<T>(a[i]), y = load<T>(b[i]);
    if constexpr (std::is_same_v<T, float>) {
      if (op.flags & 2) x = flush_subnormal(x), y = flush_subnormal(y);
    }
    d[i] = combined(w, op, i, compare<T>(static_cast<Compare>(op.shape[0]), x, y)) ? truth_value(op) : 0;
  }
  return Flow::Next;
}
template <class H>
Flow set_half(Warp& w, const Op& op, Mask m) {  // one value, or two with shape[3]
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const auto one = [&](int shift) {
      const bool truth =
          compare<float>(static_cast<Compare>(op.shape[0]), H::widen(static_cast<uint16_t>(a[i] >> shift)),
                         H::widen(static_cast<uint16_t>(b[i] >> shift)));
      return combined(w, op, i, truth) ? truth_value(op) : 0;
    };
    d[i] = op.shape[3] ? (one(0) & 0xFFFF) | one(16) << 16 : one(0);
  }
  return Flow::Next;
}

template <class T>
Flow selp(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<T>(w, op.d);
  const auto *a = lanes<T>(w, op.a), *b = lanes<T>(w, op.b);
  const Mask choose = predicate(w, op.c) ^ (op.flags ? kAllLanes : 0);
  for_lanes(m, [&](int i) { d[i] = (choose >> i) & 1 ? a[i] : b[i]; });
  return Flow::Next;
}
template <class T, bool FLOAT>
Flow slct(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<T>(w, op.d);
  const auto *a = lanes<T>(w, op.a), *b = lanes<T>(w, op.b);
  const auto* c = lanes<uint32_t>(w, op.c);
  for_lanes(m, [&](int i) {
    const float real = std::bit_cast<float>(c[i]);
    const bool first = FLOAT ? (op.flags ? flush_subnormal(real) : real) >= 0 : static_cast<int32_t>(c[i]) >= 0;
    d[i] = first ? a[i] : b[i];
  });
  return Flow::Next;
}

// Logic on predicates: flags bit 0, 1: a, b negated; shape[0]: 0 and, 1 or, 2 xor, 3 not, 4 mov.
Flow predicate_logic(Warp& w, const Op& op, Mask m) {
  Mask a = predicate(w, op.a) ^ (op.flags & 1 ? kAllLanes : 0);
  const Mask b = op.b >= 0 ? predicate(w, op.b) ^ (op.flags & 2 ? kAllLanes : 0) : 0;
  switch (op.shape[0]) {
    case 0: a &= b; break;
    case 1: a |= b; break;
    case 2: a ^= b; break;
    case 3: a = ~a; break;
    default: break;
  }
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | (a & m);
  return Flow::Next;
}

Flow test_float(Warp& w, const Op& op, Mask m) {  // testp
  Mask truth = 0;
  for (int i = 0; i < 32; ++i) {
    const double value = op.shape[1] == 64 ? std::bit_cast<double>(lanes<uint64_t>(w, op.a)[i])
                                           : static_cast<double>(std::bit_cast<float>(lanes<uint32_t>(w, op.a)[i]));
    const double smallest =
        op.shape[1] == 64 ? std::numeric_limits<double>::min() : static_cast<double>(std::numeric_limits<float>::min());
    bool yes = false;
    switch (op.shape[0]) {
      case 0: yes = std::isfinite(value); break;
      case 1: yes = std::isinf(value); break;
      case 2: yes = !std::isnan(value); break;
      case 3: yes = std::isnan(value); break;
      case 4: yes = std::isfinite(value) && std::fabs(value) >= smallest; break;
      case 5: yes = value != 0 && std::fabs(value) < smallest; break;
      default: break;
    }
    truth |= static_cast<Mask>(yes) << i;
  }
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | (truth & m);
  return Flow::Next;
}

// Packed FP32 pairs in 64 bits.
template <class F, int N>
Flow packed(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint64_t>(w, op.d);
  const auto *a = lanes<uint64_t>(w, op.a), *b = lanes<uint64_t>(w, op.b),
             *c = lanes<uint64_t>(w, op.c >= 0 ? op.c : op.a);
  for_lanes(m, [&](int i) {
    uint64_t result = 0;
    for (int half = 0; half < 2; ++half) {
      const auto part = [&](uint64_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v >> (32 * half))); };
      float x;
      if constexpr (N == 3) {
        x = F::apply(part(a[i]), part(b[i]), part(c[i]));
      } else {
        x = F::apply(part(a[i]), part(b[i]));
      }
      result |= static_cast<uint64_t>(std::bit_cast<uint32_t>(x)) << (32 * half);
    }
    d[i] = result;
  });
  return Flow::Next;
}

// min and max of FP32 in all their forms: flags 1: max, 2: NaN propagates, 4: ftz, 8: .xorsign.abs; two or three
// sources.
Flow min_max_f32(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<float>(w, op.d);
  const auto *a = lanes<float>(w, op.a), *b = lanes<float>(w, op.b);
  const auto* c = op.c >= 0 ? lanes<float>(w, op.c) : nullptr;
  const auto choose = [&](float x, float y) {
    if ((op.flags & 2) && (std::isnan(x) || std::isnan(y))) return std::numeric_limits<float>::quiet_NaN();
    return op.flags & 1 ? FMax::apply(x, y) : FMin::apply(x, y);
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const auto read = [&](float x) {
      if (op.flags & 4) x = flush_subnormal(x);
      return op.flags & 8 ? std::fabs(x) : x;
    };
    float result = choose(read(a[i]), read(b[i]));
    if (c != nullptr) result = choose(result, read(c[i]));
    if (op.flags & 8) result = std::copysign(result, std::signbit(a[i]) != std::signbit(b[i]) ? -1.0f : 1.0f);
    d[i] = canonical(result);
  }
  return Flow::Next;
}
Flow min_max_s16x2(Warp& w, const Op& op, Mask m) {  // flags 1: max, 2: signed, 4: relu
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b);
  for_lanes(m, [&](int i) {
    uint32_t result = 0;
    for (int shift = 0; shift < 32; shift += 16) {
      const auto widen = [&](uint32_t v) {
        return op.flags & 2 ? int32_t{static_cast<int16_t>(v >> shift)} : static_cast<int32_t>(v >> shift & 0xFFFF);
      };
      int32_t x = op.flags & 1 ? std::max(widen(a[i]), widen(b[i])) : std::min(widen(a[i]), widen(b[i]));
      if (op.flags & 4) x = std::max(x, 0);
      result |= (static_cast<uint32_t>(x) & 0xFFFF) << shift;
    }
    d[i] = result;
  });
  return Flow::Next;
}
Flow add_16x2(Warp& w, const Op& op, Mask m) {
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *a = lanes<uint32_t>(w, op.a), *b = lanes<uint32_t>(w, op.b);
  for_lanes(m, [&](int i) { d[i] = ((a[i] + b[i]) & 0xFFFF) | ((a[i] & 0xFFFF'0000) + (b[i] & 0xFFFF'0000)); });
  return Flow::Next;
}

// ---- decoding

void operands(Decoder& d, Type type, int sources) {
  const int bytes = std::max(ptx::bits(type), 32) / 8;
  d.op->d = d.destination(0, bytes);
  int32_t* const slots[] = {&d.op->a, &d.op->b, &d.op->c, &d.op->e};
  for (int i = 0; i < sources; ++i) *slots[i] = d.source(static_cast<size_t>(i) + 1, type);
}

template <template <class> class Make, class... A>
Handler by_integer_type(Type type) {
  switch (type) {
    case Type::U16:
    case Type::B16: return Make<uint16_t>::handler;
    case Type::S16: return Make<int16_t>::handler;
    case Type::U32:
    case Type::B32: return Make<uint32_t>::handler;
    case Type::S32: return Make<int32_t>::handler;
    case Type::U64:
    case Type::B64: return Make<uint64_t>::handler;
    case Type::S64: return Make<int64_t>::handler;
    default: return nullptr;
  }
}
template <class F>
struct IntegerBinary {
  template <class T>
  struct Make {
    static constexpr Handler handler = binary<T, F>;
  };
};
template <class F>
struct IntegerUnary {
  template <class T>
  struct Make {
    static constexpr Handler handler = unary<T, F>;
  };
};
template <class T>
struct MakeShiftLeft {
  static constexpr Handler handler = shift_left<T>;
};
template <class T>
struct MakeShiftRight {
  static constexpr Handler handler = shift_right<T>;
};

template <class F>
Handler integer_binary(Type type) {
  return by_integer_type<IntegerBinary<F>::template Make>(type);
}
template <class F>
Handler integer_unary(Type type) {
  return by_integer_type<IntegerUnary<F>::template Make>(type);
}

/// Float handlers with .ftz, .sat and a rounding mode. MAKE<T, F>: the handler of F on T.
template <template <class, class> class MAKE, class T, class F>
Handler with_rounding(Decoder& d) {
  if (d.has("rz")) return MAKE<T, Directed<F, FE_TOWARDZERO>>::handler;
  if (d.has("rm")) return MAKE<T, Directed<F, FE_DOWNWARD>>::handler;
  if (d.has("rp")) return MAKE<T, Directed<F, FE_UPWARD>>::handler;
  return MAKE<T, F>::handler;
}
template <template <class, class> class MAKE, class F>
Handler float_handler(Decoder& d, Type type) {
  if (type == Type::F64) return with_rounding<MAKE, double, F>(d);
  const bool ftz = d.has("ftz"), sat = d.has("sat");
  if (sat)
    return ftz ? with_rounding<MAKE, float, Saturated<Flushed<F>>>(d) : with_rounding<MAKE, float, Saturated<F>>(d);
  return ftz ? with_rounding<MAKE, float, Canonical<Flushed<F>>>(d) : with_rounding<MAKE, float, Canonical<F>>(d);
}
template <class T, class F>
struct Unary {
  static constexpr Handler handler = unary<T, F>;
};
template <class T, class F>
struct Binary {
  static constexpr Handler handler = binary<T, F>;
};
template <class T, class F>
struct Ternary {
  static constexpr Handler handler = ternary<T, F>;
};
template <class F>
Handler float_binary(Decoder& d, Type type) {
  return float_handler<Binary, F>(d, type);
}
template <class F>
Handler float_ternary(Decoder& d, Type type) {
  return float_handler<Ternary, F>(d, type);
}
template <class F>
Handler float_unary(Decoder& d, Type type) {
  if (type == Type::F32) return d.has("ftz") ? unary<float, Canonical<Flushed<F>>> : unary<float, Canonical<F>>;
  if constexpr (requires(double x) {
                  { F::apply(x) } -> std::same_as<double>;
                }) {
    if (type == Type::F64) return d.has("ftz") ? nullptr : unary<double, F>;
  }
  return nullptr;
}
/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: of the upper 32 bits, and with zeros in the lower 32 bits.
template <class F>
struct UpperHalf {
  static double apply(double x) { return upper(F::apply(upper(x))); }
  static double upper(double x) {
    if (std::fpclassify(x) == FP_SUBNORMAL) return std::copysign(0.0, x);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & ~uint64_t{0xFFFF'FFFF});
  }
};
/// rcp and sqrt, which also exist with directed rounding.
template <class F>
Handler rounded_unary(Decoder& d, Type type) {
  if (type == Type::F64) return with_rounding<Unary, double, F>(d);
  if (type != Type::F32) return nullptr;
  return d.has("ftz") ? with_rounding<Unary, float, Canonical<Flushed<F>>>(d)
                      : with_rounding<Unary, float, Canonical<F>>(d);
}
template <class F>
Handler sign_handler(Decoder& d, Type type) {  // abs, neg: NaNs keep their bits
  if (type == Type::F64) return unary<double, F>;
  return d.has("ftz") ? unary<float, Flushed<F>> : unary<float, F>;
}
template <class T, class F>
struct PackedTwo {
  static constexpr Handler handler = packed<F, 2>;
};
template <class T, class F>
struct PackedThree {
  static constexpr Handler handler = packed<F, 3>;
};
template <int N, class F>
Handler packed_f32(Decoder& d) {
  if constexpr (N == 2)
    return float_handler<PackedTwo, F>(d, Type::F32);
  else
    return float_handler<PackedThree, F>(d, Type::F32);
}
uint32_t half_flags(Decoder& d) {
  return (d.has("ftz") ? 1u : 0u) | (d.has("sat") ? 2u : 0u) | (d.has("relu") ? 4u : 0u);
}
template <class F>
Handler half_handler(Decoder& d, Type type) {
  d.op->flags = half_flags(d);
  switch (type) {
    case Type::F16: return half<Half, F, false>;
    case Type::F16x2: return half<Half, F, true>;
    case Type::BF16: return half<Brain, F, false>;
    case Type::BF16x2: return half<Brain, F, true>;
    default: return nullptr;
  }
}
bool is_half(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2;
}

/// The condition code register: one carry per lane, kept as a predicate of the warp.
int32_t carry_slot(Decoder& d) { return d.special({SpecialKind::Carry}); }

void decode_add_sub(Decoder& d, Type type, bool subtract) {
  Op& op = *d.op;
  operands(d, type, 2);
  if (type == Type::F32 || type == Type::F64) {
    op.run = subtract ? float_binary<FSub>(d, type) : float_binary<FAdd>(d, type);
  } else if (is_half(type)) {
    op.run = subtract ? half_handler<HSub>(d, type) : half_handler<HAdd>(d, type);
  } else if (type == Type::F32x2) {
    op.run = subtract ? packed_f32<2, FSub>(d) : packed_f32<2, FAdd>(d);
  } else if (type == Type::U16x2 || type == Type::S16x2) {
    op.run = subtract ? nullptr : add_16x2;
  } else if (d.has("cc") || d.in->opcode == "addc" || d.in->opcode == "subc") {
    op.flags = (d.in->opcode.back() == 'c' ? 1u : 0u) | (d.has("cc") ? 2u : 0u);
    op.e = carry_slot(d);
    if (ptx::bits(type) == 64)
      op.run = subtract ? add_carry<uint64_t, true> : add_carry<uint64_t, false>;
    else
      op.run = subtract ? add_carry<uint32_t, true> : add_carry<uint32_t, false>;
  } else if (type == Type::S32 && d.has("sat")) {
    struct Saturating {
      static int32_t apply(int32_t a, int32_t b) {
        return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX));
      }
    };
    struct SaturatingSub {
      static int32_t apply(int32_t a, int32_t b) {
        return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} - b, INT32_MIN, INT32_MAX));
      }
    };
    op.run = subtract ? binary<int32_t, SaturatingSub> : binary<int32_t, Saturating>;
  } else {
    op.run = subtract ? integer_binary<Sub>(type) : integer_binary<Add>(type);
  }
}

void decode_mul(Decoder& d, Type type) {
  Op& op = *d.op;
  if (d.has("wide")) {
    const int bits = ptx::bits(type);
    op.d = d.destination(0, bits / 4);
    op.a = d.source(1, type);
    op.b = d.source(2, type);
    switch (type) {
      case Type::U16: op.run = widening<uint32_t, uint16_t, MulWide<uint32_t>>; break;
      case Type::S16: op.run = widening<int32_t, int16_t, MulWide<int32_t>>; break;
      case Type::U32: op.run = widening<uint64_t, uint32_t, MulWide<uint64_t>>; break;
      case Type::S32: op.run = widening<int64_t, int32_t, MulWide<int64_t>>; break;
      default: break;
    }
    return;
  }
  operands(d, type, 2);
  if (type == Type::F32 || type == Type::F64)
    op.run = float_binary<FMul>(d, type);
  else if (is_half(type))
    op.run = half_handler<HMul>(d, type);
  else if (type == Type::F32x2)
    op.run = packed_f32<2, FMul>(d);
  else if (d.has("hi"))
    op.run = integer_binary<MulHi>(type);
  else
    op.run = integer_binary<MulLo>(type);
}

template <class T>
struct MakeMadLo {
  static constexpr Handler handler = ternary<T, Mad<T, false>>;
};
template <class T>
struct MakeMadHi {
  static constexpr Handler handler = ternary<T, Mad<T, true>>;
};

void decode_mad(Decoder& d, Type type) {
  Op& op = *d.op;
  if (ptx::is_float(type)) {
    operands(d, type, 3);
    if (type == Type::F32 || type == Type::F64)
      op.run = float_ternary<FFma>(d, type);
    else if (type == Type::F32x2)
      op.run = packed_f32<3, FFma>(d);
    else
      op.run = half_handler<HFma>(d, type);
    if (op.run == Handler{ternary<float, Canonical<FFma>>} && has_fma()) op.run = fma_f32;
    return;
  }
  if (d.has("cc") || d.in->opcode == "madc") {
    operands(d, type, 3);
    op.flags = (d.in->opcode == "madc" ? 1u : 0u) | (d.has("cc") ? 2u : 0u);
    op.e = carry_slot(d);
    const bool high = d.has("hi"), is_signed = ptx::is_signed(type);
    if (ptx::bits(type) == 64)
      op.run = !high ? mad_carry<uint64_t, false> : is_signed ? mad_carry<int64_t, true> : mad_carry<uint64_t, true>;
    else
      op.run = !high ? mad_carry<uint32_t, false> : is_signed ? mad_carry<int32_t, true> : mad_carry<uint32_t, true>;
    return;
  }
  if (d.has("wide")) {
    const Type wide = type == Type::U16   ? Type::U32
                      : type == Type::S16 ? Type::S32
                      : type == Type::U32 ? Type::U64
                                          : Type::S64;
    op.d = d.destination(0, ptx::bits(wide) / 8);
    op.a = d.source(1, type);
    op.b = d.source(2, type);
    op.c = d.source(3, wide);
    switch (type) {
      case Type::U16: op.run = mad_wide<uint32_t, uint16_t>; break;
      case Type::S16: op.run = mad_wide<int32_t, int16_t>; break;
      case Type::U32: op.run = mad_wide<uint64_t, uint32_t>; break;
      case Type::S32: op.run = mad_wide<int64_t, int32_t>; break;
      default: break;
    }
    return;
  }
  operands(d, type, 3);
  op.run = d.has("hi") ? by_integer_type<MakeMadHi>(type) : by_integer_type<MakeMadLo>(type);
}

void decode_min_max(Decoder& d, Type type, bool is_max) {
  Op& op = *d.op;
  operands(d, type, d.count() == 4 ? 3 : 2);
  if (type == Type::F32) {
    op.flags = (is_max ? 1u : 0u) | (d.has("NaN") ? 2u : 0u) | (d.has("ftz") ? 4u : 0u) |
               (d.has("xorsign") && d.has("abs") ? 8u : 0u);
    op.run = min_max_f32;
    if (d.count() == 3 && op.flags <= 1)
      op.run = is_max ? binary<float, Canonical<FMax>> : binary<float, Canonical<FMin>>;
    return;
  }
  if (d.count() == 4) d.unsupported("three sources of this type");
  if (type == Type::F64) {
    op.run = is_max ? binary<double, FMax> : binary<double, FMin>;
  } else if (is_half(type)) {
    if (d.has("NaN"))
      op.run = is_max ? half_handler<HMaxNan>(d, type) : half_handler<HMinNan>(d, type);
    else
      op.run = is_max ? half_handler<HMax>(d, type) : half_handler<HMin>(d, type);
  } else if (type == Type::U16x2 || type == Type::S16x2) {
    op.flags = (is_max ? 1u : 0u) | (type == Type::S16x2 ? 2u : 0u) | (d.has("relu") ? 4u : 0u);
    op.run = min_max_s16x2;
  } else if (type == Type::S32 && d.has("relu")) {
    struct MinRelu {
      static int32_t apply(int32_t a, int32_t b) { return std::max(std::min(a, b), 0); }
    };
    struct MaxRelu {
      static int32_t apply(int32_t a, int32_t b) { return std::max(std::max(a, b), 0); }
    };
    op.run = is_max ? binary<int32_t, MaxRelu> : binary<int32_t, MinRelu>;
  } else {
    op.run = is_max ? integer_binary<Max>(type) : integer_binary<Min>(type);
  }
}

const char* const kComparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                    "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

int comparison_of(Decoder& d) {
  const std::string& name = d.modifier(0);
  for (int i = 0; i < 14; ++i) {
    if (name == kComparisons[i]) return i;
  }
  // lo, ls, hi, hs: unsigned comparisons by their old names.
  if (name == "lo") return LT;
  if (name == "ls") return LE;
  if (name == "hi") return GT;
  if (name == "hs") return GE;
  d.unsupported("the comparison '" + name + "' is unknown");
}

template <class T>
Handler setp_handler(int how) {
  switch (how) {
    case EQ: return setp<T, EQ>;
    case NE: return setp<T, NE>;
    case LT: return setp<T, LT>;
    case LE: return setp<T, LE>;
    case GT: return setp<T, GT>;
    case GE: return setp<T, GE>;
    case EQU: return setp<T, EQU>;
    case NEU: return setp<T, NEU>;
    case LTU: return setp<T, LTU>;
    case LEU: return setp<T, LEU>;
    case GTU: return setp<T, GTU>;
    case GEU: return setp<T, GEU>;
    case NUM: return setp<T, NUM>;
    case NAN_: return setp<T, NAN_>;
    default: return nullptr;
  }
}
Handler setp_handler(Type type, int how) {
  switch (type) {
    case Type::U16:
    case Type::B16: return setp_handler<uint16_t>(how);
    case Type::S16: return setp_handler<int16_t>(how);
    case Type::U32:
    case Type::B32: return setp_handler<uint32_t>(how);
    case Type::S32: return setp_handler<int32_t>(how);
    case Type::U64:
    case Type::B64: return setp_handler<uint64_t>(how);
    case Type::S64: return setp_handler<int64_t>(how);
    case Type::F32: return setp_handler<float>(how);
    case Type::F64: return setp_handler<double>(how);
    case Type::F16: return setp_half<Half>;
    case Type::BF16: return setp_half<Brain>;
    default: return nullptr;
  }
}
template <class T>
struct MakeSet {
  static constexpr Handler handler = set_value<T>;
};

void decode_setp(Decoder& d) {
  Op& op = *d.op;
  const Type type = d.last_type();
  const ptx::Operand& target = d.operand(0);
  if (target.kind == ptx::Operand::Kind::Pair) {
    op.d = target.elements[0].kind == ptx::Operand::Kind::Sink ? d.scratch(4) : d.destination(target.elements[0], 4);
    if (target.elements[1].kind != ptx::Operand::Kind::Sink) op.e = d.destination(target.elements[1], 4);
  } else {
    op.d = d.destination(0, 4);
  }
  op.a = d.source(1, type);
  op.b = d.source(2, type);
  const int how = comparison_of(d);
  op.shape[0] = static_cast<uint16_t>(how);
  if (d.count() == 4) {
    bool negated = false;
    op.c = d.predicate_source(d.operand(3), &negated);
    op.flags = negated ? 1 : 0;
    op.shape[1] = d.has("and") ? 1 : d.has("or") ? 2 : d.has("xor") ? 3 : 0;
  }
  if (d.has("ftz")) op.flags |= 2;
  op.run = setp_handler(type, how);
}

void decode_set(Decoder& d) {
  Op& op = *d.op;
  const Type result = d.type(0), type = d.type(1);
  op.d = d.destination(0, 4);
  op.a = d.source(1, type);
  op.b = d.source(2, type);
  op.shape[0] = static_cast<uint16_t>(comparison_of(d));
  if (d.count() > 3) {
    bool negated = false;
    op.c = d.predicate_source(d.operand(3), &negated);
    op.flags |= negated ? 1 : 0;
    op.shape[1] = d.has("and") ? 1 : d.has("or") ? 2 : d.has("xor") ? 3 : 0;
  }
  if (d.has("ftz")) op.flags |= 2;
  op.shape[2] = result == Type::F32                              ? 1
                : result == Type::F16 || result == Type::F16x2   ? 2
                : result == Type::BF16 || result == Type::BF16x2 ? 3
                                                                 : 0;
  op.shape[3] = type == Type::F16x2 || type == Type::BF16x2;
  if (type == Type::F16 || type == Type::F16x2)
    op.run = set_half<Half>;
  else if (type == Type::BF16 || type == Type::BF16x2)
    op.run = set_half<Brain>;
  else if (type == Type::F32)
    op.run = set_value<float>;
  else if (type == Type::F64)
    op.run = set_value<double>;
  else
    op.run = by_integer_type<MakeSet>(type);
}

void decode_logic(Decoder& d, int which) {
  Op& op = *d.op;
  const Type type = d.last_type();
  if (type == Type::Pred) {
    bool negated = false;
    op.d = d.destination(0, 4);
    op.a = d.predicate_source(d.operand(1), &negated);
    op.flags = negated ? 1 : 0;
    if (which < 3) {
      op.b = d.predicate_source(d.operand(2), &negated);
      op.flags |= negated ? 2 : 0;
    }
    op.shape[0] = static_cast<uint16_t>(which);
    op.run = predicate_logic;
    return;
  }
  operands(d, type, which < 3 ? 2 : 1);
  switch (which) {
    case 0: op.run = integer_binary<And>(type); break;
    case 1: op.run = integer_binary<Or>(type); break;
    case 2: op.run = integer_binary<Xor>(type); break;
    case 3: op.run = integer_unary<Not>(type); break;
    default: op.run = integer_unary<Cnot>(type); break;
  }
}

}  // namespace

void decode_arithmetic(Decoder& d) {
  Op& op = *d.op;
  const std::string& name = d.in->opcode;
  const Type type = d.last_type();
  d.ignore({"rn", "lo", "approx", "full", "r", "clamp"});
  if (name == "add" || name == "addc") return decode_add_sub(d, type, false);
  if (name == "sub" || name == "subc") return decode_add_sub(d, type, true);
  if (name == "mul") return decode_mul(d, type);
  if (name == "mad" || name == "madc" || name == "fma") return decode_mad(d, type);
  if (name == "mul24" || name == "mad24") {
    operands(d, type, name == "mul24" ? 2 : 3);
    op.shape[0] = ptx::is_signed(type);
    op.shape[1] = d.has("hi");
    op.run = multiply24;
    return;
  }
  if (name == "min" || name == "max") return decode_min_max(d, type, name == "max");
  if (name == "setp") return decode_setp(d);
  if (name == "set") return decode_set(d);
  if (name == "and") return decode_logic(d, 0);
  if (name == "or") return decode_logic(d, 1);
  if (name == "xor") return decode_logic(d, 2);
  if (name == "not") return decode_logic(d, 3);
  if (name == "cnot") return decode_logic(d, 4);
  if (name == "div") {
    operands(d, type, 2);
    op.run = type == Type::F32 || type == Type::F64 ? float_binary<Div>(d, type) : integer_binary<Div>(type);
  } else if (name == "rem") {
    operands(d, type, 2);
    op.run = integer_binary<Rem>(type);
  } else if (name == "abs" || name == "neg") {
    operands(d, type, 1);
    const bool is_abs = name == "abs";
    const bool pair = type == Type::F16x2 || type == Type::BF16x2;
    if (type == Type::F32 || type == Type::F64)
      op.run = is_abs ? sign_handler<FAbs>(d, type) : sign_handler<FNeg>(d, type);
    else if (is_half(type))
      op.run = is_abs ? (pair ? half_sign<true, false> : half_sign<false, false>)
                      : (pair ? half_sign<true, true> : half_sign<false, true>);
    else
      op.run = is_abs ? integer_unary<Abs>(type) : integer_unary<Neg>(type);
  } else if (name == "copysign") {
    operands(d, type, 2);
    op.run = type == Type::F64 ? binary<double, CopySign> : binary<float, CopySign>;
  } else if (name == "rcp" || name == "sqrt" || name == "rsqrt" || name == "ex2" || name == "lg2" || name == "sin" ||
             name == "cos" || name == "tanh") {
    operands(d, type, 1);
    if (is_half(type)) {
      op.run = name == "ex2" ? half_handler<HEx2>(d, type) : name == "tanh" ? half_handler<HTanh>(d, type) : nullptr;
    } else if (type == Type::F64 && (name == "rcp" || name == "rsqrt") && d.has("ftz"))
      op.run = name == "rcp" ? unary<double, UpperHalf<Rcp>> : unary<double, UpperHalf<Rsqrt>>;
    else if (name == "rcp")
      op.run = rounded_unary<Rcp>(d, type);
    else if (name == "sqrt")
      op.run = rounded_unary<Sqrt>(d, type);
    else if (name == "rsqrt")
      op.run = float_unary<Rsqrt>(d, type);
    else if (name == "ex2")
      op.run = float_unary<Ex2>(d, type);
    else if (name == "lg2")
      op.run = float_unary<Lg2>(d, type);
    else if (name == "sin")
      op.run = float_unary<Sin>(d, type);
    else if (name == "cos")
      op.run = float_unary<Cos>(d, type);
    else
      op.run = float_unary<Tanh>(d, type);
  } else if (name == "shl" || name == "shr") {
    op.d = d.destination(0, std::max(ptx::bits(type), 32) / 8);
    op.a = d.source(1, type);
    op.b = d.source(2, Type::B32);
    op.run = name == "shl" ? by_integer_type<MakeShiftLeft>(type) : by_integer_type<MakeShiftRight>(type);
  } else if (name == "shf") {
    operands(d, Type::B32, 3);
    const bool wrap = d.has("wrap"), left = d.has("l");
    op.run = wrap ? (left ? funnel_shift<true, true> : funnel_shift<true, false>)
                  : (left ? funnel_shift<false, true> : funnel_shift<false, false>);
  } else if (name == "bfe") {
    op.d = d.destination(0, ptx::bits(type) / 8);
    op.a = d.source(1, type);
    op.b = d.source(2, Type::B32);
    op.c = d.source(3, Type::B32);
    op.run = type == Type::U32   ? bit_extract<uint32_t>
             : type == Type::S32 ? bit_extract<int32_t>
             : type == Type::U64 ? bit_extract<uint64_t>
                                 : bit_extract<int64_t>;
  } else if (name == "bfi") {
    op.d = d.destination(0, ptx::bits(type) / 8);
    op.a = d.source(1, type);
    op.b = d.source(2, type);
    op.c = d.source(3, Type::B32);
    op.e = d.source(4, Type::B32);
    op.run = ptx::bits(type) == 64 ? bit_insert<uint64_t> : bit_insert<uint32_t>;
  } else if (name == "bfind") {
    op.d = d.destination(0, 4);
    op.a = d.source(1, type);
    op.flags = d.has("shiftamt");
    op.run = type == Type::U32   ? bit_find<uint32_t>
             : type == Type::S32 ? bit_find<int32_t>
             : type == Type::U64 ? bit_find<uint64_t>
                                 : bit_find<int64_t>;
  } else if (name == "popc" || name == "clz") {
    op.d = d.destination(0, 4);
    op.a = d.source(1, type);
    op.flags = name == "clz";
    op.run = ptx::bits(type) == 64 ? count_bits<uint64_t> : count_bits<uint32_t>;
  } else if (name == "brev") {
    operands(d, type, 1);
    op.run = ptx::bits(type) == 64 ? unary<uint64_t, Brev> : unary<uint32_t, Brev>;
  } else if (name == "prmt") {
    operands(d, Type::B32, 3);
    const char* const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    for (uint32_t i = 0; i < 6; ++i) {
      if (d.has(modes[i])) op.flags = i + 1;
    }
    op.run = permute_bytes;
  } else if (name == "lop3") {
    if (d.has("or") || d.has("and")) d.unsupported("lop3 with a predicate result");
    operands(d, Type::B32, 3);
    op.imm = d.immediate(4);
    op.run = lop3;
  } else if (name == "dp4a" || name == "dp2a") {
    operands(d, Type::B32, 3);
    const bool signed_a = ptx::is_signed(d.type(0)), signed_b = ptx::is_signed(d.type(1)), two = name == "dp2a";
    op.flags = d.has("hi");
    static constexpr Handler table[2][2][2] = {{{dot_product<false, false, false>, dot_product<false, false, true>},
                                                {dot_product<false, true, false>, dot_product<false, true, true>}},
                                               {{dot_product<true, false, false>, dot_product<true, false, true>},
                                                {dot_product<true, true, false>, dot_product<true, true, true>}}};
    op.run = table[signed_a][signed_b][two];
  } else if (name == "selp") {
    operands(d, type, 2);
    bool negated = false;
    op.c = d.predicate_source(d.operand(3), &negated);
    op.flags = negated;
    op.run = ptx::bits(type) == 64 ? selp<uint64_t> : selp<uint32_t>;
  } else if (name == "slct") {
    const Type value = d.type(0), test = d.type(1);
    op.d = d.destination(0, ptx::bits(value) / 8);
    op.a = d.source(1, value);
    op.b = d.source(2, value);
    op.c = d.source(3, test);
    op.flags = d.has("ftz");
    const bool wide = ptx::bits(value) == 64, is_real = test == Type::F32;
    op.run = wide ? (is_real ? slct<uint64_t, true> : slct<uint64_t, false>)
                  : (is_real ? slct<uint32_t, true> : slct<uint32_t, false>);
  } else if (name == "testp") {
    op.d = d.destination(0, 4);
    op.a = d.source(1, type);
    const char* const kinds[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (uint16_t i = 0; i < 6; ++i) {
      if (d.has(kinds[i])) op.shape[0] = i;
    }
    op.shape[1] = static_cast<uint16_t>(ptx::bits(type));
    op.run = test_float;
  }
}

}  // namespace sim
