// Kernel 9 as a variant: -DK9_... definitions say which.
#include "scripts/autotune/sgemm_kernel9.cuh"
#include "scripts/autotune/variant.h"

cudaError_t launch_variant(const autotune::Problem& problem, cudaStream_t stream) {
  return kernel9::launch({.m = problem.m,
                          .n = problem.n,
                          .k = problem.k,
                          .a = static_cast<const float*>(problem.a),
                          .b = static_cast<const float*>(problem.b),
                          .c = static_cast<float*>(problem.d),
                          .ldc = problem.ldd},
                         stream);
}
