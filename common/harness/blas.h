// cuBLAS and cublasLt as references for correctness and speed. Both are opened while the program runs (their libraries
// are half a gigabyte and may be absent), so the few declarations needed are made here instead of taken from a header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "library.h"
#include "shape.h"

namespace harness {

/// cuBLAS's enumerators, as its headers number them (a unit test compares them).
namespace cublas {
inline constexpr int SUCCESS = 0;
inline constexpr int OP_N = 0, OP_T = 1;
inline constexpr int R_32F = 0, R_16BF = 14;
inline constexpr int COMPUTE_32F = 68;
inline constexpr int GEMM_DEFAULT = -1;
inline constexpr int LT_DESC_TRANSA = 3, LT_DESC_TRANSB = 4;
inline constexpr int LT_PREFERENCE_MAX_WORKSPACE_BYTES = 1;

/// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};
}  // namespace cublas

/// A GEMM in BLAS's terms, column-major:  C[m,n] = op_a(A) * op_b(B).  A's leading dimension is lda, and so on.
struct ColumnMajorGemm {
  int op_a, op_b;
  int m, n, k;
  const void* a;
  int lda;
  const void* b;
  int ldb;
  void* c;
  int ldc;
};

/// This project's row-major D[m,n] = A[m,k] B[n,k]^T as column-major BLAS sees the same memory. D is D^T [n,m], A is
/// A^T [k,m], B is B^T [k,n], and D^T = (B^T)^T A^T. So BLAS's first operand is our B, transposed.
ColumnMajorGemm column_major(const Shape& shape, const void* a, const void* b, void* d, int ldd);

class Cublas {
 public:
  /// Returns nullptr and the reason if the library is absent or does not start.
  static std::unique_ptr<Cublas> open(cudaStream_t stream, std::string& why_not);
  ~Cublas();

  /// Enqueue cublasGemmEx with its default algorithm: BF16 inputs, FP32 accumulation, BF16 or FP32 output. Throw a
  /// CUDA failure if cuBLAS refuses.
  void gemm_to_bf16(const ColumnMajorGemm& gemm) const;
  void gemm_to_fp32(const ColumnMajorGemm& gemm) const;

  /// The same with FP32 inputs and output, on FP32 units: TF32 is off.
  void gemm_fp32(const ColumnMajorGemm& gemm) const;

  std::string version() const;  ///< "13.1.0"

 private:
  Cublas() = default;
  void gemm(const ColumnMajorGemm& gemm, int input, int output) const;

  struct Functions;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
};

/// One shape of GEMM for cublasLt, with the algorithms that its heuristics propose.
class CublasLt {
 public:
  static constexpr int MAX_ALGORITHMS = 8;
  static constexpr std::size_t WORKSPACE_BYTES = std::size_t{64} << 20;

  /// `gemm`'s pointers are ignored. Returns nullptr and the reason if the library is absent or proposes nothing.
  static std::unique_ptr<CublasLt> open(const ColumnMajorGemm& gemm, std::string& why_not);
  ~CublasLt();

  int algorithms() const { return static_cast<int>(found_.size()); }

  /// Enqueues the GEMM with one of the algorithms. `gemm` must have the shape this object was opened with; `workspace`
  /// is WORKSPACE_BYTES of device memory. Throws a CUDA failure if cublasLt refuses.
  void matmul(int algorithm, const ColumnMajorGemm& gemm, void* workspace, cudaStream_t stream) const;

 private:
  CublasLt() = default;

  struct Functions;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
  void* operation_ = nullptr;
  void *layout_a_ = nullptr, *layout_b_ = nullptr, *layout_c_ = nullptr;
  std::vector<cublas::HeuristicResult> found_;
};

}  // namespace harness
