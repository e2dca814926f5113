#include "exec/tensor/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "exec/arithmetic/numeric.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sim::tensor {

/// A subnormal number becomes a zero.
static inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// The definition. Terms become integers in units of 2^(top - fraction_bits).
uint32_t multiply_one(const Arithmetic& how, const float* a, const int16_t* a_exponent, const float* b,
                      const int16_t* b_exponent, uint32_t acc, bool accumulate, int scale) {
  if (how.result == ResultFormat::S32) {
    int64_t sum = accumulate ? static_cast<int32_t>(acc) : 0;
    for (int k = 0; k < how.k; ++k) sum += static_cast<int64_t>(a[k]) * static_cast<int64_t>(b[k]);
    return static_cast<uint32_t>(sum);
  }
  const bool half = how.result == ResultFormat::F16;
  const float c = !accumulate ? 0.0f : half ? f16_to_float(static_cast<uint16_t>(acc)) : std::bit_cast<float>(acc);
  if (!how.exact) {
    float sum = c;
    for (int i = 0; i < how.k; ++i) {
      const int k = how.pairs ? i ^ 1 : i;
      const float x = std::ldexp(a[k], scale);
      sum = how.pairs ? flushed(std::fma(flushed(x), flushed(b[k]), flushed(sum))) : std::fma(x, b[k], sum);
    }
    return half ? float_to_f16_rn(sum) : std::bit_cast<uint32_t>(canonical(sum));
  }

  // NaN and infinity first.
  bool nan = std::isnan(c), plus = c == INFINITY, minus = c == -INFINITY;
  for (int k = 0; k < how.k; ++k) {
    if (a_exponent[k] == kAbsentExponent) continue;
    const double product = static_cast<double>(a[k]) * static_cast<double>(b[k]);
    nan |= std::isnan(product);
    plus |= product == static_cast<double>(INFINITY);
    minus |= product == -static_cast<double>(INFINITY);
  }
  if (nan || (plus && minus)) return half ? 0x7FFF : 0x7FFF'FFFF;
  if (plus || minus) return half ? (plus ? 0x7C00 : 0xFC00) : std::bit_cast<uint32_t>(plus ? INFINITY : -INFINITY);

  int top = -133;
  if (c != 0) top = std::max(top, std::max(std::ilogb(c), half ? -14 : -126));
  for (int k = 0; k < how.k; ++k) {
    if (a[k] != 0 && b[k] != 0) top = std::max(top, a_exponent[k] + b_exponent[k] + scale);
  }
  const int unit = top - how.fraction_bits;
  int64_t sum = static_cast<int64_t>(std::trunc(std::ldexp(static_cast<double>(c), -unit)));
  for (int k = 0; k < how.k; ++k) {
    if (a_exponent[k] == kAbsentExponent) continue;
    const double product = static_cast<double>(a[k]) * static_cast<double>(b[k]);
    sum += static_cast<int64_t>(std::trunc(std::ldexp(product, scale - unit)));
  }
  const double value = std::ldexp(static_cast<double>(sum), unit);
  if (half) return double_to_f16(value);
  if (sum == 0) return 0;
  if (std::fabs(value) >= 0x1p128) return std::bit_cast<uint32_t>(value > 0 ? INFINITY : -INFINITY);
  // Truncate to 24 bits, or to as many as the terms had, or to multiples of 2^-149 below the normal range.
  const int last_place = std::max(std::ilogb(value) - std::min(23, how.fraction_bits), -149);
  const auto narrow = static_cast<float>(std::ldexp(std::trunc(std::ldexp(value, -last_place)), last_place));
  return narrow == 0 ? 0 : std::bit_cast<uint32_t>(narrow);
}

// Each instruction set provides for kernels.inc: the width of its vectors, operations on them, and for BF16 in pairs
// (Arithmetic::pairs) the number of products of a pair per operation.
namespace baseline {
constexpr int kWidth = 4;
typedef float Splat __attribute__((vector_size(16)));
inline Splat splat(float x) { return Splat{x, x, x, x}; }
inline Splat splat4(const float* x) { return Splat{x[0], x[1], x[2], x[3]}; }
inline Splat fused(Splat a, Splat b, Splat c) {
  for (int i = 0; i < 4; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
}
constexpr int kPairsTogether = 1;
inline Splat fused_pairs(Splat a, Splat b, Splat c) {
  for (int i = 0; i < 4; ++i) c[i] = flushed(std::fma(flushed(a[i]), flushed(b[i]), flushed(c[i])));
  return c;
}
struct Flushing {};
#include "exec/tensor/kernels.inc"
}  // namespace baseline

#if defined(__x86_64__)
/// While an object exists, this host thread's vector instructions flush subnormal inputs and results to zero.
class Flushing {
 public:
  Flushing() { _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZeros); }
  ~Flushing() { _mm_setcsr(before_); }
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;

 private:
  static constexpr uint32_t kFlushToZero = 0x8000, kDenormalsAreZeros = 0x40;
  uint32_t before_ = _mm_getcsr();
};

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
namespace avx2 {
constexpr int kWidth = 8;
inline __m256 splat(float x) { return _mm256_set1_ps(x); }
inline __m256 splat4(const float* x) { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(x)); }
inline __m256 fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
constexpr int kPairsTogether = 1;
inline __m256 fused_pairs(__m256 a, __m256 b, __m256 c) { return fused(a, b, c); }
#include "exec/tensor/kernels.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
namespace avx512 {
constexpr int kWidth = 16;
inline __m512 splat(float x) { return _mm512_set1_ps(x); }
inline __m512 splat4(const float* x) { return _mm512_maskz_broadcast_f32x4(0xFFFF, _mm_loadu_ps(x)); }
inline __m512 fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
constexpr int kPairsTogether = 1;
inline __m512 fused_pairs(__m512 a, __m512 b, __m512 c) { return fused(a, b, c); }
#include "exec/tensor/kernels.inc"
}  // namespace avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,prefer-vector-width=512")
namespace avx512_bf16 {
using avx512::fused, avx512::kWidth, avx512::splat, avx512::splat4;
constexpr int kPairsTogether = 2;
inline __m512 fused_pairs(__m512 a, __m512 b, __m512 c) {
  return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
struct Flushing {};
#include "exec/tensor/kernels.inc"
}  // namespace avx512_bf16
#pragma GCC pop_options
#endif

std::vector<Kernels> all_kernels() {
  std::vector<Kernels> all;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    if (__builtin_cpu_supports("avx512bf16")) {
      all.push_back({avx512_bf16::columns, avx512_bf16::deep_columns, avx512_bf16::fp4_columns, avx512_bf16::fragments,
                     avx512_bf16::deep_fragments, avx512_bf16::pack_lanes, avx512_bf16::pack_columns,
                     avx512_bf16::pack_quads, "AVX-512 with BF16"});
    }
    all.push_back({avx512::columns, avx512::deep_columns, avx512::fp4_columns, avx512::fragments,
                   avx512::deep_fragments, avx512::pack_lanes, avx512::pack_columns, avx512::pack_quads, "AVX-512"});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    all.push_back({avx2::columns, avx2::deep_columns, avx2::fp4_columns, avx2::fragments, avx2::deep_fragments,
                   avx2::pack_lanes, avx2::pack_columns, avx2::pack_quads, "AVX2"});
  }
#endif
  all.push_back({baseline::columns, baseline::deep_columns, baseline::fp4_columns, baseline::fragments,
                 baseline::deep_fragments, baseline::pack_lanes, baseline::pack_columns, baseline::pack_quads,
                 "baseline"});
  return all;
}

const Kernels& kernels() {
  static const Kernels best = all_kernels().front();
  return best;
}

}  // namespace sim::tensor
