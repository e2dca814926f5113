// Words in global memory by which one CTA tells another that what it computed is there.
#pragma once

#include <cstdint>

namespace ptx {

/// `ld.acquire.gpu.global.u32 value, [flag];`, repeated until the value is not 0.
/// Executed by: any thread. Orders: (acquire, GPU) what the thread that stored the value released, before this thread's
/// later accesses, and after a barrier before those of its CTA. ISA 9.7.9.8 (ld), PTX 6.0, sm_70.
__device__ __forceinline__ void flag_wait(const uint32_t* flag) {
#ifdef LADDER_SPIN_LIMIT
  uint32_t spins = 0;
#endif
  uint32_t value = 0;
  while (value == 0) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
#ifdef LADDER_SPIN_LIMIT
    if (++spins > LADDER_SPIN_LIMIT) __trap();  // a hang becomes an error
#endif
  }
}

/// `st.release.gpu.global.u32 [flag], value;`
/// Executed by: any thread. Orders: (release, GPU) this thread's earlier accesses, and those that a barrier has ordered
/// before them, before whatever follows the load that sees the value. ISA 9.7.9.11 (st), PTX 6.0, sm_70.
__device__ __forceinline__ void flag_store(uint32_t* flag, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/// `atom.inc.acq_rel.gpu.global.u32 before, [flag], count - 1;`
/// Counts this thread in, and returns how many have come before: 0 to `count` - 1. After the last of `count` the word
/// is zero again. Executed by: any thread. Orders: (release, acquire, GPU) the earlier accesses of all that have come
/// before, and those that a barrier has ordered before them, before this thread's later ones. ISA 9.7.13.5 (atom), PTX
/// 6.0, sm_70.
__device__ __forceinline__ uint32_t flag_count(uint32_t* flag, uint32_t count) {
  uint32_t before;
  asm volatile("atom.inc.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(flag), "r"(count - 1) : "memory");
  return before;
}

}  // namespace ptx
