#include "common/harness/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support.h"

namespace harness {
namespace {

// Around every blocking factor of the implementation: 240 x 256 x 256 tiles, register tiles of 6 or 8 rows.
constexpr Shape SHAPES[] = {{1, 8, 8},     {5, 16, 24},    {128, 64, 256},  {7, 264, 40},  {241, 248, 264},
                            {240, 256, 8}, {301, 520, 72}, {250, 264, 520}, {3, 1000, 16}, {513, 8, 1032}};

TEST(CpuReference, AgreesWithDouble) {
  for (size_t variant = 0; variant < gemm_variants().size(); ++variant) {
    for (const Shape& shape : SHAPES) {
      const Inputs inputs(shape, Init::normal, 3);
      std::vector<float> reference(static_cast<size_t>(shape.d_elements()), NAN);
      gemm_fp32(shape, inputs.a.get(), inputs.b.get(), reference.data(), variant);
      for (int m = 0; m < shape.m; ++m) {
        for (int n = 0; n < shape.n; ++n) {
          ASSERT_NEAR(reference[std::int64_t{m} * shape.n + n], test::exact(inputs, m, n), 1e-6 * shape.k + 1e-5)
              << gemm_variants()[variant] << " " << to_string(shape) << " at " << m << ", " << n;
        }
      }
    }
  }
}

TEST(CpuReference, IsExactForWholeNumbers) {
  for (size_t variant = 0; variant < gemm_variants().size(); ++variant) {
    const Shape shape{77, 136, 2056};
    const Inputs inputs(shape, Init::integer, 9);
    std::vector<float> reference(static_cast<size_t>(shape.d_elements()));
    gemm_fp32(shape, inputs.a.get(), inputs.b.get(), reference.data(), variant);
    for (int m = 0; m < shape.m; ++m) {
      for (int n = 0; n < shape.n; ++n) {
        ASSERT_EQ(reference[std::int64_t{m} * shape.n + n], test::exact(inputs, m, n)) << gemm_variants()[variant];
      }
    }
  }
}

TEST(CpuReference, HasAVariantForEveryCpu) { EXPECT_EQ(gemm_variants().back(), "baseline"); }

TEST(Fp64Dot, AgreesWithTheDefinition) {
  for (const int k : {8, 16, 24, 1000}) {
    const Inputs inputs({1, 8, k}, Init::normal, 4);
    EXPECT_NEAR(dot_fp64(inputs.a.get(), inputs.b.get(), k), test::exact(inputs, 0, 0), 1e-12);
  }
}

}  // namespace
}  // namespace harness
