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

/// `stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [row], {d0, d1, d2, d3};`
/// Stores four 8 x 8 matrices of 16-bit elements. Register j of lane t holds elements 2 * (t%4) and 2 * (t%4) + 1 of
/// row t/4 of matrix j: the pairs of a wgmma accumulator, packed. Lane t names the address (16-byte aligned) of the 16
/// bytes of row t%8 of matrix t/8; with TRANSPOSED (`.x4.trans`), of its column t%8.
/// Executed by: a whole warp. Orders: an ordinary store: fence_proxy_async_shared() before TMA reads it.
/// ISA 9.7.14.5.16 (stmatrix), PTX 7.8, sm_90.
template <bool TRANSPOSED = false>
__device__ __forceinline__ void stmatrix_x4(uint32_t row, uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3) {
  if constexpr (TRANSPOSED)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(d0),
                 "r"(d1), "r"(d2), "r"(d3)
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(d0), "r"(d1),
                 "r"(d2), "r"(d3)
                 : "memory");
}

/// `stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [row], {d0, d1};`
/// The same for two matrices: lanes 0..15 name the rows. ISA 9.7.14.5.16 (stmatrix), PTX 7.8, sm_90.
__device__ __forceinline__ void stmatrix_x2(uint32_t row, uint32_t d0, uint32_t d1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(row), "r"(d0), "r"(d1) : "memory");
}

/// `ld.shared.v4.u32 {x, y, z, w}, [address];`
/// 16 bytes of shared memory (16-byte aligned). Unlike a load in C++, it stays where it is written: several of them
/// before the first use overlap their latencies.
/// Executed by: any thread. Orders: an ordinary load. ISA 9.7.9.8 (ld), PTX 1.0.
__device__ __forceinline__ uint4 ld_shared_v4(uint32_t address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

}  // namespace ptx
