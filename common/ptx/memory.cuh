// Conversions and the accesses of shared memory that C++ does not express.
#pragma once

#include <cstdint>

namespace ptx {

/// `cvt.rn.bf16x2.f32 d, high, low;`
/// Two FP32 values to BF16, rounded to nearest even, packed: `low` in bits 15..0, so that storing the result puts `low`
/// at the lower address. Note that PTX names the high half first.
/// ISA 9.7.9.21 (cvt), PTX 7.0, sm_80.
__device__ __forceinline__ uint32_t cvt_rn_bf16x2_f32(float high, float low) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

}  // namespace ptx
