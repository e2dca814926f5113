// Special registers, shared-memory addresses, the election of one lane, and the number of registers per thread.
#pragma once

#include <cstdint>

namespace ptx {

/// The 32-bit shared-window address of a shared-memory object (not an instruction of its own; nvcc emits
/// `cvta.to.shared`).
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

/// `mov.u32 d, %smid;`
/// The number of the SM that this thread runs on. It does not change while a kernel runs undisturbed.
/// ISA 10 (special registers), PTX 1.3.
__device__ __forceinline__ uint32_t smid() {
  uint32_t sm;
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// `mov.u64 d, %globaltimer;`
/// Nanoseconds of a clock that all SMs share. It ticks more coarsely than clock64(), which counts cycles of one SM.
/// ISA 10 (special registers), PTX 3.1.
__device__ __forceinline__ int64_t globaltimer() {
  int64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
  return nanoseconds;
}

/// `and.b32 d, address, 0xFEFFFFFF;`
/// The address of the same shared-memory offset in the even CTA, the leader, of this CTA's pair: the rank stands in
/// bits 31..24 of a shared address, and this clears the lowest of them. (In C++, because it is plain arithmetic.)
__device__ __forceinline__ uint32_t pair_leader_address(uint32_t address) { return address & 0xFEFFFFFF; }

/// `mapa.shared::cluster.u32 d, address, cta_rank;`
/// The address of the same shared-memory offset in the CTA with this rank in the cluster, for the instructions that
/// take a
/// `shared::cluster` address.
/// Executed by: any thread. Orders: nothing. ISA 9.7.9.23 (mapa), PTX 7.8, sm_90.
__device__ __forceinline__ uint32_t mapa(uint32_t address, uint32_t cta_rank) {
  uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(cta_rank));
  return mapped;
}

/// `elect.sync _|p, 0xffffffff;`
/// True in exactly one lane of the warp, always the same one.
/// Executed by: all 32 lanes together (it waits for them). Orders: nothing.
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

/// `setmaxnreg.dec.sync.aligned.u32 REGISTERS;`
/// Gives registers back to the CTA's pool: from now on at most REGISTERS per thread (24..256, a multiple of 8).
/// Executed by: all four warps of a warpgroup. Needs a kernel with launch bounds. Orders: nothing.
/// ISA 9.7.19.5 (setmaxnreg), PTX 8.0, sm_90a.
template <int REGISTERS>
__device__ __forceinline__ void setmaxnreg_dec() {
  static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/// `setmaxnreg.inc.sync.aligned.u32 REGISTERS;`
/// Takes registers from the CTA's pool, up to REGISTERS per thread (24..256, a multiple of 8). Waits until the pool has
/// them: for ever if the warpgroups together ask for more than the CTA was launched with.
/// Executed by: all four warps of a warpgroup. Needs a kernel with launch bounds. Orders: nothing; the new registers
/// hold garbage.
/// ISA 9.7.19.5 (setmaxnreg), PTX 8.0, sm_90a.
template <int REGISTERS>
__device__ __forceinline__ void setmaxnreg_inc() {
  static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/// No instruction at all: makes the compiler compute `value` here. Left to itself, it computes it where it is used,
/// perhaps while all other threads wait.
__device__ __forceinline__ void compute_here(int& value) { asm volatile("" : "+r"(value)); }

}  // namespace ptx
