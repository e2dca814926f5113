#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace harness {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  // Each value lies below the true median with probability 1/2, so the number that do is binomial(count, 1/2). The
  // interval from value number `skip` to its mirror image misses the median when at most `skip` values lie on one side.
  const size_t count = values.size();
  Interval best{values.front(), values.back(), 0};
  double term = std::pow(0.5, static_cast<double>(count)), tail = term;
  for (size_t skip = 0; 2 * skip + 1 < count || skip == 0; ++skip) {
    const double coverage = 1 - 2 * tail;
    if (skip > 0 && coverage < 0.95) break;
    best = {values[skip], values[count - 1 - skip], std::max(coverage, 0.0)};
    term *= static_cast<double>(count - skip) / static_cast<double>(skip + 1);
    tail += term;
  }
  return best;
}

}  // namespace harness
