// BF16 as two bytes, and the conversion that the kernels use.
#pragma once

#include "cuda_runtime.h"

struct alignas(2) __nv_bfloat16 {
  unsigned short bits;
};

__device__ inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  __nv_bfloat16 rounded;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(value));
  return rounded;
}
__device__ inline float __bfloat162float(__nv_bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<unsigned>(value.bits) << 16);
}
