// TMA, the tensor memory accelerator: one thread starts the copy of a box of a tensor between global and shared memory;
// the hardware computes addresses, swizzles, fills what lies outside with zeros and reports bytes to an mbarrier.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ptx {

/// `prefetch.tensormap [map];`
/// Brings the 128-byte descriptor into the cache before its first use. A hint.
/// Executed by: one thread. ISA 9.7.9.17 (prefetch), PTX 8.0, sm_90.
__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// `cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [map, {x, y}], [bar];`
/// Copies the map's box at coordinates (x, y), x innermost, both in elements, to `dst` in this CTA's shared memory
/// (128-byte aligned; 1,024 for a pattern of 128-byte swizzle that starts at its beginning). Elements outside the
/// tensor arrive as zeros.
/// Executed by: one thread. Done: when `bar`, in the same CTA, has been credited with the whole box's bytes, those of
/// the zeros included. Orders: nothing at issue; a thread that observes the barrier's phase sees the bytes.
/// ISA 9.7.9.27.1 (cp.async.bulk.tensor), PTX 8.0, sm_90.
__device__ __forceinline__ void cp_async_bulk_tensor_2d_g2s(uint32_t dst, const CUtensorMap* map, int x, int y,
                                                            uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

/// `cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
///  [dst], [map, {x, y}], [bar], cta_mask;`
/// The same, into every CTA of the cluster whose rank's bit is set in `cta_mask`: the box arrives at the offset of
/// `dst` in each of them, and the barrier at the offset of `bar` in each is credited with its bytes.
/// ISA 9.7.9.27.1 (cp.async.bulk.tensor), PTX 8.0, sm_90.
__device__ __forceinline__ void cp_async_bulk_tensor_2d_g2s_multicast(uint32_t dst, const CUtensorMap* map, int x,
                                                                      int y, uint32_t bar, uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar), "h"(cta_mask)
      : "memory");
}

/// `cp.async.bulk.tensor.2d.cta_group::G.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [map, {x, y}],
/// [bar];` The same, but with G = 2 the barrier may be in either CTA of the pair: both CTAs' loads can report to the
/// leader. ISA 9.7.9.27.1 (cp.async.bulk.tensor), PTX 8.6, sm_100a.
template <int CTA_GROUP>
__device__ __forceinline__ void cp_async_bulk_tensor_2d_g2s(uint32_t dst, const CUtensorMap* map, int x, int y,
                                                            uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::%5.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar), "n"(CTA_GROUP)
      : "memory");
}

/// `cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {x, y}], [src];`
/// Copies a box from `src` in this CTA's shared memory (128-byte aligned, swizzled as the map says) to the tensor at
/// (x, y) >= 0, clipped to the tensor.
/// Executed by: one thread. Done: cp_async_bulk_wait_group_read tells when `src` may be overwritten. Orders: `src` must
/// have been made visible by fence_proxy_async_shared() in every thread that wrote it, and a barrier.
/// ISA 9.7.9.27.1 (cp.async.bulk.tensor), PTX 8.0, sm_90.
__device__ __forceinline__ void cp_async_bulk_tensor_2d_s2g(const CUtensorMap* map, int x, int y, uint32_t src) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(src)
               : "memory");
}

/// `cp.async.bulk.commit_group;`
/// Closes a group: all bulk stores that this thread has issued since the last one.
/// Executed by: the thread that issued them. ISA 9.7.9.25.6 (cp.async.bulk.commit_group), PTX 8.0, sm_90.
__device__ __forceinline__ void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// `cp.async.bulk.wait_group.read PENDING;`
/// Waits until at most the PENDING newest groups of this thread still read their source in shared memory.
/// Executed by: the thread that committed the groups; for any other it returns at once.
/// ISA 9.7.9.25.6 (cp.async.bulk.wait_group), PTX 8.0, sm_90.
template <int PENDING>
__device__ __forceinline__ void cp_async_bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

/// `cp.async.bulk.wait_group PENDING;`
/// Waits until at most the PENDING newest groups of this thread have still to write global memory.
/// Executed by: the thread that committed the groups; for any other it returns at once.
/// ISA 9.7.9.25.6 (cp.async.bulk.wait_group), PTX 8.0, sm_90.
template <int PENDING>
__device__ __forceinline__ void cp_async_bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}

}  // namespace ptx
