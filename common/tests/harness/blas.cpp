#include "common/harness/blas.h"

#include <gtest/gtest.h>

#include <vector>

#include "support.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#endif

namespace harness {
namespace {

/// What BLAS does with column-major matrices, for exactly the arguments that cuBLAS would get.
void column_major_gemm(const ColumnMajorGemm& g) {
  const auto* a = static_cast<const Bf16*>(g.a);
  const auto* b = static_cast<const Bf16*>(g.b);
  auto* c = static_cast<Bf16*>(g.c);
  for (int i = 0; i < g.m; ++i) {
    for (int j = 0; j < g.n; ++j) {
      double sum = 0;
      for (int l = 0; l < g.k; ++l) {
        sum += double(to_float(g.op_a == cublas::OP_N ? a[i + l * g.lda] : a[l + i * g.lda])) *
               double(to_float(g.op_b == cublas::OP_N ? b[l + j * g.ldb] : b[j + l * g.ldb]));
      }
      c[i + j * g.ldc] = round_to_bf16(static_cast<float>(sum));
    }
  }
}

TEST(Blas, ColumnMajorArgumentsComputeTheRowMajorProduct) {
  for (const Shape& shape : {Shape{5, 16, 24}, Shape{24, 8, 16}, Shape{17, 40, 8}}) {
    const Inputs inputs(shape, Init::integer, 5);
    test::HostD d(shape);
    column_major_gemm(column_major(shape, inputs.a.get(), inputs.b.get(), &d.at(0, 0), d.ldd));
    for (int m = 0; m < shape.m; ++m) {
      for (int n = 0; n < shape.n; ++n) {
        EXPECT_EQ(to_float(d.at(m, n)), to_float(round_to_bf16(static_cast<float>(test::exact(inputs, m, n)))));
      }
      for (int n = shape.n; n < d.ldd; ++n) EXPECT_EQ(d.at(m, n), BF16_POISON);
    }
  }
}

TEST(Blas, Fp32ProductsAreNotRounded) {
  std::string why_not;
  const auto cublas = Cublas::open(nullptr, why_not);
  ASSERT_NE(cublas, nullptr) << why_not;
  const float a[] = {1 + 0x1p-20f, 2}, b[] = {1, 0.5f};  // 1 x 2 and 2 x 1
  float c = 0;
  cublas->gemm_fp32({.op_a = cublas::OP_N,
                     .op_b = cublas::OP_N,
                     .m = 1,
                     .n = 1,
                     .k = 2,
                     .a = a,
                     .lda = 1,
                     .b = b,
                     .ldb = 2,
                     .c = &c,
                     .ldc = 1});
  EXPECT_EQ(c, 2 + 0x1p-20f);
}

#if __has_include(<cublasLt.h>)
TEST(Blas, DeclarationsAgreeWithTheHeaders) {
  EXPECT_EQ(cublas::SUCCESS, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublas::OP_N, CUBLAS_OP_N);
  EXPECT_EQ(cublas::OP_T, CUBLAS_OP_T);
  EXPECT_EQ(cublas::R_32F, CUDA_R_32F);
  EXPECT_EQ(cublas::R_16BF, CUDA_R_16BF);
  EXPECT_EQ(cublas::COMPUTE_32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cublas::GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT);
  EXPECT_EQ(cublas::LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(cublas::LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(cublas::LT_PREFERENCE_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  using Result = cublasLtMatmulHeuristicResult_t;
  EXPECT_EQ(sizeof(cublas::HeuristicResult), sizeof(Result));
  EXPECT_EQ(offsetof(cublas::HeuristicResult, workspace_bytes), offsetof(Result, workspaceSize));
  EXPECT_EQ(offsetof(cublas::HeuristicResult, state), offsetof(Result, state));
}
#endif

}  // namespace
}  // namespace harness
