// The tensor core's part of the load kernel on Hopper: warpgroups that multiply the same operands over and over.
#pragma once

#include "common/mma/smem_descriptor.h"
#include "common/ptx/wgmma.cuh"

namespace calibrate {

constexpr int MMA_THREADS = 256;  // beside the first warpgroup's

/// `sink` is never written, but the compiler cannot know: MMAs with unused results would not be executed at all.
template <int COUNT>
__device__ __forceinline__ void keep(const float (&accumulators)[COUNT], float* sink) {
  if (accumulators[0] == 1.2345e37f && accumulators[COUNT - 1] == 5.4321e37f) *sink = accumulators[COUNT / 2];
}

struct TensorCore {
  uint64_t a, b;  // descriptors: 64 rows of A for this warpgroup, N rows of B

  __device__ TensorCore(uint32_t operands, int warpgroup) {
    mma::SmemDescriptorSm90 descriptor{.start_address = operands + warpgroup * 64 * 128,
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    a = descriptor.encode();
    descriptor.start_address = operands + 128 * 128;
    b = descriptor.encode();
  }

  /// `count` products of 64 rows, N columns and 64 of K, added up from zero; `count` >= 1. All four warps.
  template <int N>
  __device__ __forceinline__ void multiply(int count, float* sink) const {
    float accumulators[N / 2];
    for (int i = 0; i < count; ++i) {
      ptx::wgmma_fence();  // orders earlier accesses of the accumulators before the MMAs
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        ptx::wgmma_m64k16_bf16(accumulators, mma::advance(a, kk * 32), mma::advance(b, kk * 32), i > 0 || kk > 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
    }
    ptx::wgmma_wait_group<0>(accumulators);
    keep(accumulators, sink);
  }
};

}  // namespace calibrate
