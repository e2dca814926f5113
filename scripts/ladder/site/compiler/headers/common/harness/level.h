// What the kernels' files use of the harness.
#pragma once

#include <cuda_bf16.h>

#include "common/mma/swizzle.h"

namespace harness {
struct Problem {
  int m, n, k;
  const __nv_bfloat16 *a, *b;
  __nv_bfloat16* d;
  int ldd;
};
}  // namespace harness
