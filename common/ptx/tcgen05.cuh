// tcgen05: the fifth-generation tensor core (Blackwell) and its tensor memory, TMEM.
//
// TMEM is 128 lanes x 512 columns of 32 bits per SM. An address holds the lane in bits 31..16 and the column in bits
// 15..0. All tcgen05 instructions of a kernel must use the same CTA_GROUP: 1, or 2 for a pair of CTAs that share MMAs.
#pragma once

#include <cstdint>

namespace ptx {

/// `tcgen05.alloc.cta_group::G.sync.aligned.shared::cta.b32 [result], columns;`
/// Allocates `columns` (a power of two, 32..512) of TMEM, all 128 lanes, and writes their address to shared memory.
/// Executed by: one whole warp of the CTA; with G = 2, one warp in each CTA of the pair, and both CTAs get the same
/// columns.
/// Done: when it returns; blocks while another CTA on the SM holds the columns.
/// Orders: other warps read `result` after a barrier. ISA 9.7.16.7.1 (tcgen05.alloc), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void tcgen05_alloc(uint32_t result, uint32_t columns) {
  static_assert(CTA_GROUP == 1 || CTA_GROUP == 2);
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(result), "r"(columns),
               "n"(CTA_GROUP)
               : "memory");
}

/// `tcgen05.relinquish_alloc_permit.cta_group::G.sync.aligned;`
/// Promises that this CTA allocates no more, so that the next CTA on the SM need not wait for the promise.
/// Executed by: one whole warp. ISA 9.7.16.7.1 (tcgen05.relinquish_alloc_permit), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(CTA_GROUP) : "memory");
}

/// `tcgen05.dealloc.cta_group::G.sync.aligned.b32 address, columns;`
/// Returns what alloc gave. Every column must be returned before the kernel ends.
/// Executed by: one whole warp; with G = 2, one in each CTA, both still alive. Orders: nothing: every access to the
/// columns must be complete and synchronised before. ISA 9.7.16.7.1 (tcgen05.dealloc), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void tcgen05_dealloc(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns), "n"(CTA_GROUP)
               : "memory");
}

/// `tcgen05.mma.cta_group::G.kind::f16 [d], a_desc, b_desc, instruction_desc, accumulate;`
/// D = A * B (+ D when `accumulate`), K = 16: A and B from shared memory through the two descriptors, D in TMEM.
/// With G = 2 the descriptors are offsets that apply in both CTAs of the pair. Each CTA's shared memory holds its own
/// half of A's rows and of B's rows; each CTA's TMEM receives its half of D's rows, all columns.
/// The instruction descriptor is 32 bits wide, and the predicate is not optional.
/// Executed by: one thread (32 lanes would start 32 MMAs); with G = 2 one thread of the pair, by convention in the even
/// CTA.
/// Done: asynchronous; tcgen05_commit signals it. Orders: MMAs of one thread on one accumulator run in program order.
/// ISA 9.7.16.10.9 (tcgen05.mma), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void tcgen05_mma_f16(uint32_t d, uint64_t a_desc, uint64_t b_desc, uint32_t instruction_desc,
                                                bool accumulate) {
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.u32 p, %4, 0;\n"
      "  tcgen05.mma.cta_group::%5.kind::f16 [%0], %1, %2, %3, p;\n"
      "}" ::"r"(d),
      "l"(a_desc), "l"(b_desc), "r"(instruction_desc), "r"(static_cast<uint32_t>(accumulate)), "n"(CTA_GROUP)
      : "memory");
}

/// `tcgen05.commit.cta_group::G.mbarrier::arrive::one.shared::cluster.b64 [bar];`
/// As tcgen05_commit_multicast below, but signals only the barrier that `bar` names.
/// ISA 9.7.16.12.1 (tcgen05.commit), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void tcgen05_commit(uint32_t bar) {
  asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar), "n"(CTA_GROUP)
               : "memory");
}

/// `tcgen05.commit.cta_group::G.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], cta_mask;`
/// When all MMAs that this thread has issued so far are complete, one arrival on the barrier at this offset in every
/// CTA of the cluster whose rank's bit is set in `cta_mask`.
/// Executed by: the thread that issued the MMAs. Done: asynchronous. Orders: contains a fence::before_thread_sync. A
/// thread that waits on the barrier and then executes fence::after_thread_sync may access D, and A and B are free.
/// ISA 9.7.16.12.1 (tcgen05.commit), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void tcgen05_commit_multicast(uint32_t bar, uint16_t cta_mask) {
  asm volatile(
      "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
      "h"(cta_mask), "n"(CTA_GROUP)
      : "memory");
}

/// `tcgen05.fence::before_thread_sync;`
/// Orders: this thread's earlier tcgen05 operations before the arrive or barrier that follows. Does not wait for them.
/// Executed by: each thread for its own. ISA 9.7.16.11.1 (tcgen05.fence), PTX 8.6, sm_100a.
__device__ __forceinline__ void tcgen05_fence_before_thread_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

/// `tcgen05.fence::after_thread_sync;`
/// Orders: this thread's later tcgen05 operations after the wait or barrier that it has just passed.
/// Executed by: each thread for its own. ISA 9.7.16.11.1 (tcgen05.fence), PTX 8.6, sm_100a.
__device__ __forceinline__ void tcgen05_fence_after_thread_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/// `tcgen05.ld.sync.aligned.32x32b.xN.b32 {d0..dN-1}, [address];`
/// Register i of lane t gets the cell in TMEM lane (address's lane + t), column (address's column + i). Warp w of a
/// warpgroup can reach lanes 32w .. 32w + 31 only.
/// Executed by: a whole warp, same address in every lane. Done: after tcgen05_wait_ld(d); `d` must not be used before.
/// ISA 9.7.16.8.1 (tcgen05.ld), PTX 8.6, sm_100a.
template <int N>
__device__ __forceinline__ void tcgen05_ld_32x32b(uint32_t address, float (&d)[N]) {
  static_assert(N == 1 || N == 4 || N == 8, "add the form of the instruction that you need");
  if constexpr (N == 1) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=f"(d[0]) : "r"(address) : "memory");
  }
  if constexpr (N == 4) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(address)
                 : "memory");
  }
  if constexpr (N == 8) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7])
                 : "r"(address)
                 : "memory");
  }
}

/// `tcgen05.wait::ld.sync.aligned;`
/// Executed by: a whole warp. Done: when every earlier tcgen05.ld of this thread has delivered its registers. The
/// arrays are named so that the compiler, which knows nothing of the delay, cannot move a use of them above the wait.
/// ISA 9.7.16.8.3 (tcgen05.wait), PTX 8.6, sm_100a.
template <int... N>
__device__ __forceinline__ void tcgen05_wait_ld(float (&... d)[N]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  const auto depend_on_the_wait = [](auto& array) {
#pragma unroll
    for (float& value : array) asm volatile("" : "+f"(value));
  };
  (depend_on_the_wait(d), ...);
}

}  // namespace ptx
