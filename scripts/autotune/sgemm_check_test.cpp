// The check of FP32 products: what it must accept, and everything that it must reject.
#include "scripts/autotune/sgemm_check.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace autotune {
namespace {

using harness::Init;
using harness::Shape;

constexpr Shape SHAPE{37, 52, 400};
constexpr int LDD = SHAPE.n + 8;
constexpr float POISON = std::bit_cast<float>(0xFFFFFFFFu);

/// A product that one thread per element computes as GPUs do: k by k, fused, in FP32.
std::vector<float> sequential(
    const SgemmInputs& inputs, const std::function<float(float)>& read = [](float x) { return x; }, int left_out = -1) {
  std::vector<float> d(static_cast<size_t>(SHAPE.m) * LDD, POISON);
  for (int m = 0; m < SHAPE.m; ++m) {
    for (int n = 0; n < SHAPE.n; ++n) {
      float sum = 0;
      for (int k = 0; k < SHAPE.k; ++k) {
        if (k != left_out) sum = std::fma(read(inputs.a[m * SHAPE.k + k]), read(inputs.b[k * SHAPE.n + n]), sum);
      }
      d[m * LDD + n] = sum;
    }
  }
  return d;
}

class SgemmCheck : public testing::TestWithParam<Init> {
 protected:
  std::string fault(const std::vector<float>& d) const {
    return find_fault(inputs_, {.d = d.data(), .ldd = LDD, .before = guard_, .after = guard_}, reference_.get());
  }
  void expect_rejected(const std::vector<float>& d, const std::string& words) const {
    EXPECT_NE(fault(d).find(words), std::string::npos) << fault(d);
  }

  SgemmInputs inputs_{SHAPE, GetParam(), 3};
  std::unique_ptr<float[]> reference_ = sgemm_on_cpu(inputs_);
  std::vector<float> right_ = sequential(inputs_);
  std::vector<std::byte> guard_ = std::vector<std::byte>(256, std::byte{0xFF});
};

TEST_P(SgemmCheck, AcceptsAnotherOrderOfRounding) {
  EXPECT_EQ(fault(right_), "");
  EXPECT_EQ(find_fault_in_reference(inputs_, reference_.get()), "");
}

TEST_P(SgemmCheck, RejectsSingleElements) {
  for (const float wrong : {POISON, std::numeric_limits<float>::infinity(), right_[5 * LDD + 7] * 1.01f + 0.5f}) {
    std::vector<float> d = right_;
    d[5 * LDD + 7] = wrong;
    expect_rejected(d, "1 of 1924 elements are wrong");
    expect_rejected(d, "D[5][7] is ");
  }
  std::vector<float> d = right_;
  d[5 * LDD + 7] = POISON;
  expect_rejected(d, "1 of them never written");
}

TEST_P(SgemmCheck, RejectsALostStepOfK) {
  expect_rejected(sequential(
                      inputs_, [](float x) { return x; }, 123),
                  "elements are wrong");
}

TEST_P(SgemmCheck, RejectsAFactorOfTwo) {
  std::vector<float> d = right_;
  for (float& value : d) value = std::isnan(value) ? value : 2 * value;
  expect_rejected(d, "elements are wrong");
}

TEST_P(SgemmCheck, RejectsStoresBesideD) {
  std::vector<float> d = right_;
  d[3 * LDD + SHAPE.n] = 0;
  expect_rejected(d, "1 elements were stored past the end of a row");
  guard_[200] = std::byte{0};
  expect_rejected(right_, "memory before D was overwritten");
}

INSTANTIATE_TEST_SUITE_P(Inits, SgemmCheck, testing::Values(Init::normal, Init::uniform, Init::integer));

/// Where one sign prevails, sums grow on the way, and what is rounded off grows with them.
TEST(SgemmCheckOrder, OfLargeSumsDoesNotMatter) {
  constexpr Shape LONG{8, 8, 4096};
  SgemmInputs inputs(LONG, Init::normal, 3);
  for (int i = 0; i < LONG.m * LONG.k; ++i) inputs.a[i] = std::abs(inputs.a[i]);
  for (int i = 0; i < LONG.k * LONG.n; ++i) inputs.b[i] = std::abs(inputs.b[i]);
  std::vector<float> forwards, backwards;
  for (int m = 0; m < LONG.m; ++m) {
    for (int n = 0; n < LONG.n; ++n) {
      const auto term = [&](int k, float sum) {
        return std::fma(inputs.a[m * LONG.k + k], inputs.b[k * LONG.n + n], sum);
      };
      float there = 0, back = 0;
      for (int k = 0; k < LONG.k; ++k) there = term(k, there), back = term(LONG.k - 1 - k, back);
      forwards.push_back(there), backwards.push_back(back);
    }
  }
  EXPECT_EQ(find_fault(inputs, {.d = forwards.data(), .ldd = LONG.n}, backwards.data()), "");
  EXPECT_EQ(find_fault_in_reference(inputs, forwards.data()), "");
}

/// Tensor cores would round inputs to 10 bits behind the point.
TEST(SgemmCheckTf32, IsRejected) {
  const SgemmInputs inputs(SHAPE, Init::normal, 3);
  const auto reference = sgemm_on_cpu(inputs);
  const auto tf32 = [](float x) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000) & 0xFFFFE000);
  };
  const std::vector<float> d = sequential(inputs, tf32);
  EXPECT_NE(find_fault(inputs, {.d = d.data(), .ldd = LDD}, reference.get()), "");
  std::vector<float> dense;
  for (int m = 0; m < SHAPE.m; ++m) dense.insert(dense.end(), d.begin() + m * LDD, d.begin() + m * LDD + SHAPE.n);
  EXPECT_NE(find_fault_in_reference(inputs, dense.data()), "");
}

}  // namespace
}  // namespace autotune
