// What D should be, computed on the CPU.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "bf16.h"
#include "shape.h"

namespace harness {

/// reference[m,n] = A[m,k] * B[n,k]^T in FP32, row-major with pitch n, on all cores. Sums run over 256 values of k at a
/// time, fused where the CPU can, so their rounding errors are smaller than those of a tensor core.
/// `variant` is an index into gemm_variants(); the first is the fastest.
void gemm_fp32(const Shape& shape, const Bf16* a, const Bf16* b, float* reference, std::size_t variant = 0);

/// The instruction sets that the inner loop was compiled for and this CPU has, best first.
std::vector<std::string_view> gemm_variants();

/// One element of D in FP64: the sum over k of a[k] * b[k]. Every product is exact.
double dot_fp64(const Bf16* a, const Bf16* b, int k);

}  // namespace harness
