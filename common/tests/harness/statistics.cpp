#include "common/harness/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace harness {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> values(static_cast<size_t>(count));
  std::iota(values.rbegin(), values.rend(), 1);  // descending: the functions sort for themselves
  return values;
}

TEST(Statistics, Median) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({1, 9}), 5);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({4, 1, 9, 2}), 3);
}

/// Coverage is the binomial sum over the ranks inside the interval, computed with exact fractions.
TEST(Statistics, MedianInterval) {
  struct Row {
    int count, low, high;
    double coverage;
  };
  for (const Row& row : {Row{6, 1, 6, 0.96875}, Row{9, 2, 8, 0.9609375}, Row{10, 2, 9, 0.978515625},
                         Row{12, 3, 10, 0.96142578125}, Row{20, 6, 15, 0.95861053466796875}}) {
    const Interval interval = median_interval(one_to(row.count));
    EXPECT_EQ(interval.low, row.low) << row.count;
    EXPECT_EQ(interval.high, row.high) << row.count;
    EXPECT_NEAR(interval.coverage, row.coverage, 1e-12) << row.count;
  }
}

TEST(Statistics, MedianIntervalOfFewValues) {
  const Interval three = median_interval({2, 1, 3});
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 3);
  EXPECT_NEAR(three.coverage, 0.75, 1e-12);
  const Interval one = median_interval({7});
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
  EXPECT_EQ(one.coverage, 0);
}

}  // namespace
}  // namespace harness
