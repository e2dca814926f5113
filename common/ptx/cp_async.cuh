// cp.async: copies of 4 to 16 bytes from global to shared memory that no register and no thread has to wait for. The
// ancestor of TMA: every thread brings its own few bytes, and addresses are the program's business.
#pragma once

#include <cstdint>

namespace ptx {

/// `cp.async.cg.shared.global [dst], [src], 16, bytes;` or, for 4 and 8 bytes, `cp.async.ca...`
/// Copies the first `bytes` of BYTES (4, 8 or 16; both addresses aligned to as many) and writes zeros for the others:
/// with 0, `src` is not read. 16 bytes go past L1 (.cg); fewer can only go through it (.ca).
/// Executed by: any thread. Done: when a group that it was committed to is waited for. Orders: nothing until then.
/// ISA 9.7.9.25.3.1 (cp.async), PTX 7.0, sm_80.
template <int BYTES>
__device__ __forceinline__ void cp_async(uint32_t dst, const void* src, uint32_t bytes = BYTES) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(dst), "l"(src), "n"(BYTES), "r"(bytes)
                 : "memory");
}

/// `cp.async.commit_group;`
/// Makes a group of this thread's copies since the last commit; there may be none.
/// Executed by: any thread. ISA 9.7.9.25.3.2 (cp.async.commit_group), PTX 7.0, sm_80.
__device__ __forceinline__ void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// `cp.async.wait_group PENDING;`
/// Returns when at most the PENDING youngest of this thread's groups are unfinished.
/// Executed by: any thread. Orders: the finished copies before this thread's later accesses; other threads see them
/// after a barrier. ISA 9.7.9.25.3.3 (cp.async.wait_group), PTX 7.0, sm_80.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

}  // namespace ptx
