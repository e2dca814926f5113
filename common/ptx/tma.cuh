// TMA, the tensor memory accelerator: one thread starts the copy of a box of a tensor between global and shared memory;
// the hardware computes addresses, swizzles, fills what lies outside with zeros and reports bytes to an mbarrier.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ptx {

/// `prefetch.tensormap [map];`
/// Brings the 128-byte descriptor into the cache before its first use. A hint.
/// Who: one thread. ISA 9.7.9.17 (prefetch), PTX 8.0, sm_90.
__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// `cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [map, {x, y}], [bar];`
/// Copies the map's box at coordinates (x, y), x innermost, both in elements, to `dst` in this CTA's shared memory
/// (128-byte aligned; 1,024 for a pattern of 128-byte swizzle that starts at its beginning). Elements outside the tensor
/// arrive as zeros.
/// Who: one thread. Done: when `bar`, in the same CTA, has been credited with the whole box's bytes, those of the
/// zeros included. Orders: nothing at issue; whoever observes the barrier's phase sees the bytes.
/// ISA 9.7.9.27.1 (cp.async.bulk.tensor), PTX 8.0, sm_90.
__device__ __forceinline__ void cp_async_bulk_tensor_2d_g2s(uint32_t dst, const CUtensorMap* map, int x, int y,
                                                            uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

}  // namespace ptx
