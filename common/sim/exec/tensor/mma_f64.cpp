// mma.sync with FP64: m8n8k4, and m16n8k4, 8 and 16. One fused multiply-add per product, in the order of k.
#include <algorithm>
#include <cmath>

#include "exec/arithmetic/rounding.h"
#include "exec/core/op.h"
#include "exec/tensor/mma.h"
#include "exec/tensor/types.h"

namespace sim {
namespace {

using ptx::Type;

constexpr auto kFma = [](auto x, auto y, auto z) { return std::fma(x, y, z); };

struct DoubleMma {
  size_t rows = 8, k = 4;
  int rounding = FE_TONEAREST;
  std::vector<int32_t> d, a, b, c;  ///< slots
};

// Fragments, with t = lane / 4 and q = lane % 4. `h`: 1 if there are 8 rows, 2 if 16.
//   A register i: row t + 8 (i % h), k = 4 (i / h) + q
//   B register i: column t, k = 4 i + q
//   C, D register i: row t + 8 (i / 2), column 2 q + i % 2
//
// The products are a function of their own, so that the compiler cannot move any out of the scope of the rounding mode.
[[gnu::noinline]] void multiply_f64(const double (*a)[16], const double (*b)[16], size_t depth, size_t registers,
                                    double (*sums)[32]) {
  for (size_t i = 0; i < registers; ++i) {
    for (size_t lane = 0; lane < 32; ++lane) {
      const double* const row = a[lane / 4 + 8 * (i / 2)];
      const double* const column = b[2 * (lane % 4) + i % 2];
      for (size_t k = 0; k < depth; ++k) {
        // Of several NaNs, hardware propagates B's, otherwise that of the sum.
        double& sum = sums[i][lane];
        sum = std::isnan(column[k]) ? column[k] : std::isnan(sum) ? sum : rounded<kFma>(row[k], column[k], sum);
      }
      if (std::isnan(sums[i][lane])) sums[i][lane] += 0;  // quiet
    }
  }
}
Flow mma_f64(Warp& w, const DoubleMma& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  const size_t halves = o.rows / 8;
  double a[16][16], b[8][16];
  for (size_t lane = 0; lane < 32; ++lane) {
    const size_t t = lane / 4, q = lane % 4;
    for (size_t i = 0; i < o.a.size(); ++i)
      a[t + 8 * (i % halves)][4 * (i / halves) + q] = lanes<double>(w, o.a[i])[lane];
    for (size_t i = 0; i < o.b.size(); ++i) b[t][4 * i + q] = lanes<double>(w, o.b[i])[lane];
  }
  double results[4][32];
  for (size_t i = 0; i < o.c.size(); ++i) std::copy_n(lanes<double>(w, o.c[i]), 32, results[i]);
  const RoundingMode mode(o.rounding);
  multiply_f64(a, b, o.k, o.c.size(), results);
  for (size_t i = 0; i < o.d.size(); ++i) std::copy_n(results[i], 32, lanes<double>(w, o.d[i]));
  tensor::count_multiply_adds(cluster_of(w), o.rows * 8 * o.k);
  return Flow::Next;
}

}  // namespace

void tensor::decode_mma_f64(Decoder& d) {
  d.ignore({"row", "col"});
  if (tensor::types_of(d).size() != 4) d.unsupported(faults::four_types_required);
  DoubleMma o;
  d.for_modifiers(
      [&](const std::string& modifier) { return std::sscanf(modifier.c_str(), "m%zun8k%zu", &o.rows, &o.k) == 2; });
  constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  if (const int rounding = d.which({"rn", "rz", "rm", "rp"}); rounding >= 0) o.rounding = kModes[rounding];
  o.d = d.destinations(d.operand(0), 8);
  o.a = d.sources(d.operand(1), Type::F64);
  o.b = d.sources(d.operand(2), Type::F64);
  o.c = d.sources(d.operand(3), Type::F64);
  const bool known = (o.rows == 8 && o.k == 4) || (o.rows == 16 && (o.k == 4 || o.k == 8 || o.k == 16));
  if (!known || o.a.size() != o.rows * o.k / 32 || o.b.size() != o.k / 4 || o.c.size() != o.rows / 4 ||
      o.d.size() != o.rows / 4)
    d.unsupported(faults::unknown_shape);
  d.emit<mma_f64>(std::move(o));
}

}  // namespace sim
