// What a compiled variant of a kernel offers to autotune_measure: a shared library with one function.
#pragma once

#include <cuda_runtime_api.h>

namespace autotune {

/// One GEMM, everything row-major in device memory, 16-byte aligned; `ldd` >= n in elements.
///   FP32  D[m,n] = A[m,k] * B[k,n]      any m, n, k
///   BF16  D[m,n] = A[m,k] * B[n,k]^T    n, k and ldd are multiples of 8
struct Problem {
  int m, n, k;
  const void* a;
  const void* b;
  void* d;
  int ldd;
};

/// Enqueues the GEMM and returns the launch's status.
using Launch = cudaError_t(const Problem& problem, cudaStream_t stream);
inline constexpr char LAUNCH_NAME[] = "launch_variant";

}  // namespace autotune

extern "C" autotune::Launch launch_variant;
