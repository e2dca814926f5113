#include "diagnose.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference.h"
#include "text.h"

namespace harness {
namespace {

const Bf16* a_row(const Inputs& inputs, int m) { return inputs.a.get() + std::int64_t{m} * inputs.shape.k; }
const Bf16* b_row(const Inputs& inputs, int n) { return inputs.b.get() + std::int64_t{n} * inputs.shape.k; }

bool close(double value, double expected, double bound) {
  return std::abs(value - expected) <= std::abs(expected) * 0x1p-8 + bound;
}

/// Do three quarters of the elements satisfy `predicate`? Elements at a ragged edge may be wrong in another way.
template <typename Predicate>
bool most(std::span<const Element> elements, const Predicate& predicate) {
  const auto hits = std::count_if(elements.begin(), elements.end(), predicate);
  return static_cast<double>(hits) >= 0.75 * static_cast<double>(elements.size());
}

/// Is D[m,n] the value that belongs at another place, `where(m, n)`?
template <typename Where>
bool displaced(const Inputs& inputs, std::span<const Element> elements, const Where& where) {
  return most(elements, [&](const Element& e) {
    const auto [m, n] = where(e.m, e.n);
    if (m < 0 || n < 0 || m >= inputs.shape.m || n >= inputs.shape.n) return false;
    return close(to_float(e.d), dot_fp64(a_row(inputs, m), b_row(inputs, n), inputs.shape.k), e.bound);
  });
}

std::string scaled(std::span<const Element> elements) {
  std::vector<double> factors;
  for (const Element& e : elements) {
    if (e.expected != 0 && is_finite(e.d)) factors.push_back(to_float(e.d) / e.expected);
  }
  if (factors.empty()) return "";
  std::nth_element(factors.begin(), factors.begin() + factors.size() / 2, factors.end());
  const double factor = factors[factors.size() / 2];
  if (std::abs(factor) < 1e-3 || std::abs(factor - 1) < 0.02) return "";
  const auto fits = [&](const Element& e) {
    return close(to_float(e.d), factor * e.expected, std::abs(factor) * e.bound + std::abs(e.expected) * 0x1p-8);
  };
  return most(elements, fits) ? format("they are %.3g times what they should be", factor) : "";
}

/// Is the result of one window of k missing? Every window of the given width is tried on all elements at once.
std::string missing_step(const Inputs& inputs, std::span<const Element> elements, int width) {
  const int k = inputs.shape.k;
  if (k <= width) return "";
  for (int first = 0; first < k; first += width) {
    const int count = std::min(width, k - first);
    const auto fits = [&](const Element& e) {
      const double part = dot_fp64(a_row(inputs, e.m) + first, b_row(inputs, e.n) + first, count);
      return close(to_float(e.d), e.expected - part, e.bound);
    };
    if (most(elements, fits)) return format("the products of k = %d to %d are missing", first, first + count - 1);
  }
  return "";
}

/// Did accumulation stop early, or start late?
std::string missing_end(const Inputs& inputs, std::span<const Element> elements, int step) {
  const int k = inputs.shape.k;
  std::vector<double> sums(elements.size(), 0);
  for (int end = 0; end < k; end += step) {
    size_t heads = 0, tails = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const Element& e = elements[i];
      heads += close(to_float(e.d), sums[i], e.bound);
      tails += close(to_float(e.d), e.expected - sums[i], e.bound);
      sums[i] += dot_fp64(a_row(inputs, e.m) + end, b_row(inputs, e.n) + end, std::min(step, k - end));
    }
    const double enough = 0.75 * static_cast<double>(elements.size());
    if (end > 0 && static_cast<double>(heads) >= enough) return format("only k = 0 to %d was accumulated", end - 1);
    if (end > 0 && static_cast<double>(tails) >= enough) return format("only k = %d and up was accumulated", end);
  }
  return "";
}

std::string shifted(const Inputs& inputs, std::span<const Element> elements) {
  static constexpr int DISTANCES[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  for (const int distance : DISTANCES) {
    for (const int step : {distance, -distance}) {
      if (displaced(inputs, elements, [&](int m, int n) { return std::pair(m + step, n); })) {
        return format("they hold the values of the row %d %s", distance, step > 0 ? "below" : "above");
      }
      if (displaced(inputs, elements, [&](int m, int n) { return std::pair(m, n + step); })) {
        return format("they hold the values of the column %d to the %s", distance, step > 0 ? "right" : "left");
      }
    }
    if (displaced(inputs, elements, [&](int m, int n) { return std::pair(m ^ distance, n); })) {
      return format("rows m and m ^ %d are swapped", distance);
    }
    if (displaced(inputs, elements, [&](int m, int n) { return std::pair(m, n ^ distance); })) {
      return format("columns n and n ^ %d are swapped", distance);
    }
  }
  return "";
}

/// Nearly right: more than one rounding to BF16 went wrong, but nothing else.
bool imprecise(std::span<const Element> elements) {
  return most(elements, [](const Element& e) {
    return close(to_float(e.d), e.expected, 2 * e.bound + std::abs(e.expected) * 0x1p-7);
  });
}

bool unrelated(std::span<const Element> elements) {
  double xy = 0, xx = 0, yy = 0;
  for (const Element& e : elements) {
    const double x = to_float(e.d);
    xy += x * e.expected;
    xx += x * x;
    yy += e.expected * e.expected;
  }
  return elements.size() >= 16 && std::abs(xy) < 0.5 * std::sqrt(xx * yy);
}

}  // namespace

std::string diagnose(const Inputs& inputs, std::span<const Element> elements) {
  if (elements.empty()) return "";
  if (most(elements, [](const Element& e) { return e.d == BF16_POISON; })) return "they were never written";
  if (most(elements, [](const Element& e) { return !is_finite(e.d); })) {
    return "the kernel computed NaN or infinity: memory or accumulators that nothing had filled";
  }
  if (most(elements, [](const Element& e) { return to_float(e.d) == 0; })) return "they are zero";
  if (imprecise(elements))
    return "they are nearly right: truncated instead of rounded, or accumulated in less than FP32";
  if (const std::string text = scaled(elements); !text.empty()) return text;
  if (displaced(inputs, elements, [](int m, int n) { return std::pair(n, m); })) return "D is transposed";
  if (const std::string text = shifted(inputs, elements); !text.empty()) return text;
  for (const int width : {16, 32, 64, 128}) {
    if (const std::string text = missing_step(inputs, elements, width); !text.empty()) return text;
  }
  if (const std::string text = missing_end(inputs, elements, 16); !text.empty()) return text;
  if (unrelated(elements)) return "they bear no resemblance to the reference: stale, or the product of other data";
  return "";
}

}  // namespace harness
