// Who am I: special registers, shared-memory addresses and the election of one lane.
#pragma once

#include <cstdint>

namespace ptx {

/// The 32-bit shared-window address of a shared-memory object (not an instruction of its own; nvcc emits `cvta.to.shared`).
__device__ __forceinline__ uint32_t smem_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// `mov.u32 d, %cluster_ctarank;`
/// The rank of this CTA in its cluster; 0 where the kernel runs without a cluster.
/// ISA 10 (special registers), PTX 7.8, sm_90.
__device__ __forceinline__ uint32_t cluster_ctarank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// `elect.sync _|p, 0xffffffff;`
/// True in exactly one lane of the warp, always the same one.
/// Who: all 32 lanes together (it waits for them). Orders: nothing.
/// ISA 9.7.13.14 (elect.sync), PTX 8.0, sm_90.
__device__ __forceinline__ bool elect_sync() {
  uint32_t elected;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  elect.sync _|p, 0xffffffff;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected)::"memory");
  return elected != 0;
}

}  // namespace ptx
