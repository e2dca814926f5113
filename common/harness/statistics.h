// The few statistics that timing needs.
#pragma once

#include <vector>

namespace harness {

/// The middle value, or the mean of the two middle ones. `values` must not be empty.
double median(std::vector<double> values);

/// A confidence interval for the median of what the values are drawn from.
struct Interval {
  double low, high;
  double coverage;  ///< the probability that it holds the true median, whatever the distribution
};

/// The narrowest interval between two order statistics, the same number of values from either end, that covers at least
/// 95 %. Fewer than 6 values cannot reach 95 %: then it is [minimum, maximum] with its smaller coverage.
Interval median_interval(std::vector<double> values);

}  // namespace harness
