#include "sgemm_check.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>

#include "common/harness/parallel.h"
#include "common/harness/text.h"

namespace autotune {
namespace {

using harness::format;
using harness::Shape;

constexpr int BAND = 64;  // rows that one thread takes at a time

std::int64_t bands_of(std::int64_t rows) { return (rows + BAND - 1) / BAND; }

template <typename Body>
void for_rows(std::int64_t rows, const Body& body) {
  harness::parallel_for(bands_of(rows), [&](std::int64_t band) {
    for (std::int64_t row = band * BAND; row < std::min(rows, (band + 1) * BAND); ++row) body(row);
  });
}

bool is_exact(const SgemmInputs& inputs) {
  return (inputs.init == harness::Init::integer || inputs.init == harness::Init::zeros) && inputs.shape.k <= (1 << 22);
}

/// How far from `expected` an element may be.
double bound(const SgemmInputs& inputs, std::int64_t m, std::int64_t n, double expected) {
  if (is_exact(inputs)) return 0;
  return 0x1p-22 * inputs.a_norms[m] * inputs.b_norms[n] + 0x1p-23 * std::sqrt(inputs.shape.k) * std::abs(expected);
}

std::int64_t touched(std::span<const std::byte> guard) {
  return std::count_if(guard.begin(), guard.end(), [](std::byte b) { return b != std::byte{0xFF}; });
}

}  // namespace

SgemmInputs::SgemmInputs(const Shape& shape, harness::Init init, std::uint64_t seed)
    : shape(shape),
      init(init),
      a(std::make_unique_for_overwrite<float[]>(shape.a_elements())),
      b(std::make_unique_for_overwrite<float[]>(shape.b_elements())),
      a_norms(shape.m),
      b_norms(shape.n) {
  fill_input(init, seed, harness::Operand::a, std::span<float>(a.get(), static_cast<size_t>(shape.a_elements())));
  fill_input(init, seed, harness::Operand::b, std::span<float>(b.get(), static_cast<size_t>(shape.b_elements())));
  for_rows(shape.m, [&](std::int64_t m) {
    double sum = 0;
    for (std::int64_t k = 0; k < shape.k; ++k) sum += double{a[m * shape.k + k]} * a[m * shape.k + k];
    a_norms[m] = std::sqrt(sum);
  });
  harness::parallel_for(bands_of(shape.n), [&](std::int64_t band) {
    const std::int64_t first = band * BAND, end = std::min<std::int64_t>(shape.n, first + BAND);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      for (std::int64_t n = first; n < end; ++n) b_norms[n] += double{b[k * shape.n + n]} * b[k * shape.n + n];
    }
    for (std::int64_t n = first; n < end; ++n) b_norms[n] = std::sqrt(b_norms[n]);
  });
}

std::unique_ptr<float[]> sgemm_on_cpu(const SgemmInputs& inputs) {
  const Shape& shape = inputs.shape;
  auto result = std::make_unique_for_overwrite<float[]>(shape.d_elements());
  harness::parallel_for((shape.m + 3) / 4, [&](std::int64_t block) {
    std::vector<double> sums(shape.n);
    for (std::int64_t m = 4 * block; m < std::min<std::int64_t>(shape.m, 4 * block + 4); ++m) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t k = 0; k < shape.k; ++k) {
        const double left = inputs.a[m * shape.k + k];
        const float* row = inputs.b.get() + k * shape.n;
        for (std::int64_t n = 0; n < shape.n; ++n) sums[n] += left * row[n];
      }
      std::copy(sums.begin(), sums.end(), result.get() + m * shape.n);
    }
  });
  return result;
}

std::string find_fault(const SgemmInputs& inputs, const SgemmOutput& output, const float* reference) {
  const Shape& shape = inputs.shape;
  std::atomic<std::int64_t> wrong{0}, unwritten{0}, past_row{0};
  std::mutex mutex;
  std::int64_t first = shape.d_elements();  // the first wrong element, row-major
  for_rows(shape.m, [&](std::int64_t m) {
    const float* d = output.d + m * output.ldd;
    const float* r = reference + m * shape.n;
    std::int64_t wrong_here = 0, first_here = 0;
    for (std::int64_t n = 0; n < shape.n; ++n) {
      if (std::abs(double{d[n]} - r[n]) <= bound(inputs, m, n, r[n])) continue;  // not so for NaN
      if (wrong_here++ == 0) first_here = n;
      if (std::bit_cast<std::uint32_t>(d[n]) == 0xFFFFFFFF) ++unwritten;
    }
    for (std::int64_t n = shape.n; n < output.ldd; ++n) past_row += std::bit_cast<std::uint32_t>(d[n]) != 0xFFFFFFFF;
    if (wrong_here == 0) return;
    wrong += wrong_here;
    const std::lock_guard lock(mutex);
    first = std::min(first, m * shape.n + first_here);
  });
  if (wrong > 0) {
    const std::int64_t m = first / shape.n, n = first % shape.n;
    std::string text = format("%lld of %lld elements are wrong", static_cast<long long>(wrong),
                              static_cast<long long>(shape.d_elements()));
    if (unwritten > 0) text += format(", %lld of them never written", static_cast<long long>(unwritten));
    return text + format("; D[%lld][%lld] is %.9g instead of %.9g", static_cast<long long>(m),
                         static_cast<long long>(n), output.d[m * output.ldd + n], reference[first]);
  }
  if (past_row > 0) return format("%lld elements were stored past the end of a row", static_cast<long long>(past_row));
  if (touched(output.before) > 0) return "memory before D was overwritten";
  if (touched(output.after) > 0) return "memory after D was overwritten";
  return "";
}

std::string find_fault_in_reference(const SgemmInputs& inputs, const float* reference) {
  constexpr int SAMPLES = 1024;
  const Shape& shape = inputs.shape;
  std::atomic<int> wrong{0};
  harness::parallel_for(SAMPLES, [&](std::int64_t i) {
    const std::int64_t place = static_cast<std::int64_t>(harness::mix(i + 1) % shape.d_elements());
    const std::int64_t m = place / shape.n, n = place % shape.n;
    double sum = 0;
    for (std::int64_t k = 0; k < shape.k; ++k) sum += double{inputs.a[m * shape.k + k]} * inputs.b[k * shape.n + n];
    if (!(std::abs(reference[place] - sum) <= bound(inputs, m, n, sum))) ++wrong;
  });
  return wrong == 0 ? "" : format("%d of %d samples disagree with FP64", wrong.load(), SAMPLES);
}

}  // namespace autotune
