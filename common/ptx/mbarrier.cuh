// mbarrier: an 8-byte barrier in shared memory that counts arrivals and bytes. A phase completes when its pending
// arrivals and its outstanding bytes are both zero; the barrier then starts its next phase by itself.
//
// Parity. A waiter names the parity (0, 1, 0, 1, ...) of the phase whose completion it wants. The wait returns when the
// phase running now has the other parity. So on a fresh barrier, which is in phase 0, a wait for parity 1 returns at
// once, as if a phase before the first had just completed: that is how a producer finds an empty ring free.
#pragma once

#include <cstdint>

namespace ptx {

/// `mbarrier.init.shared::cta.b64 [bar], count;`
/// Phase 0, `count` arrivals expected in each phase.
/// Executed by: one thread. Done: at once. Others may touch the barrier after fence_mbarrier_init() and a barrier.
/// ISA 9.7.13.15.9 (mbarrier.init), PTX 7.0, sm_80.
__device__ __forceinline__ void mbarrier_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

/// `mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], bytes;`
/// Adds `bytes` to what this phase still waits for, then counts one arrival. `bar` is this CTA's.
/// Executed by: one thread, usually the one that starts the copies of these bytes.
/// Orders: (release, CTA) this thread's earlier accesses, for threads that observe the phase.
/// ISA 9.7.13.15.13 (mbarrier.arrive), PTX 8.0, sm_90.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

/// `mbarrier.arrive.expect_tx.shared::cluster.b64 _, [bar], bytes;`
/// The same at a barrier of any CTA in the cluster.
/// Executed by: one thread. Done: some time later: the signal travels. Orders: nothing that the other CTA may rely on;
/// the bytes that TMA delivers there bring their own ordering.
/// ISA 9.7.13.15.13 (mbarrier.arrive), PTX 8.0, sm_90.
__device__ __forceinline__ void mbarrier_arrive_expect_tx_cluster(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

/// `mbarrier.arrive.shared::cta.b64 _, [bar];`
/// Counts one arrival at a barrier of this CTA.
/// Executed by: one thread. Orders: (release, CTA) this thread's earlier accesses, for threads that observe the phase.
/// ISA 9.7.13.15.13 (mbarrier.arrive), PTX 7.0, sm_80.
__device__ __forceinline__ void mbarrier_arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

/// `mbarrier.arrive.shared::cluster.b64 _, [bar];`
/// Counts one arrival at a barrier of any CTA in the cluster.
/// Executed by: one thread. Done: some time later: the signal travels. Orders: nothing beyond this CTA. That suffices
/// to hand back a buffer, which passes no data; `.release.cluster` would compile to a fence of the whole device.
/// ISA 9.7.13.15.13 (mbarrier.arrive), PTX 8.0, sm_90.
__device__ __forceinline__ void mbarrier_arrive_cluster(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}

/// `mbarrier.arrive.shared::cta.b64 _, [bar], count;`
/// Counts `count` arrivals at once at a barrier of this CTA: those of others, on whose behalf this thread reports.
/// Executed by, orders: as one arrival. ISA 9.7.13.15.13 (mbarrier.arrive), PTX 7.8, sm_90.
__device__ __forceinline__ void mbarrier_arrive(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

/// `mbarrier.arrive.shared::cluster.b64 _, [bar], count;`
/// The same at a barrier of any CTA in the cluster. ISA 9.7.13.15.13 (mbarrier.arrive), PTX 8.0, sm_90.
__device__ __forceinline__ void mbarrier_arrive_cluster(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

/// `mbarrier.try_wait.parity.shared::cta.b64 p, [bar], parity;`, repeated until p is true.
/// Returns when the phase with this parity is complete. `bar` must be this CTA's: a thread cannot wait on a remote
/// barrier. Executed by: any number of threads. Orders: (acquire, CTA) whatever was released by the arrivals of that
/// phase, and the bytes that TMA counted on it, are visible to this thread.
/// ISA 9.7.13.15.16 (mbarrier.try_wait), PTX 7.8, sm_90.
__device__ __forceinline__ void mbarrier_wait(uint32_t bar, uint32_t parity) {
#ifdef LADDER_SPIN_LIMIT
  uint32_t spins = 0;
#endif
  uint32_t done = 0;
  while (!done) {
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "  selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
#ifdef LADDER_SPIN_LIMIT
    if (++spins > LADDER_SPIN_LIMIT) __trap();  // a hang becomes an error
#endif
  }
}

}  // namespace ptx
