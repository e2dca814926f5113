// Split-K: the warps of several CTAs, each of which has multiplied one slice of K, add up their sums.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "common/ptx/flag.cuh"
#include "common/ptx/memory.cuh"

namespace mma {

/// The slices of a product, as a kernel needs them.
struct Slices {
  int count;           ///< slices of K: each CTA of a tile computes one
  float4* sums;        ///< [tile][slice][fragments / 4][thread], or more
  uint32_t* counters;  ///< [tile][warp]: zero, before and after
  __nv_bfloat16* d;    ///< row-major D[m, n]
  int m, n;            ///< of the product, whose transpose D may be; n of D is a multiple of 8
  std::int64_t ldd;    ///< elements from row to row, a multiple of 2
};

/// Stores `accumulators`, the sums of one slice of K of a tile, to global memory. THREADS threads of a CTA do so; this
/// one is number `thread` of them. Returns true in the warp that arrives last: there `accumulators` are then the sums
/// of all slices, added in the slices' order. No warp waits.
/// Executed by: a whole warp, the same one of every CTA of the tile.
template <int THREADS, int SUBTILES, int FRAGMENTS>
__device__ __forceinline__ bool sum_slices(float (&accumulators)[SUBTILES][FRAGMENTS], const Slices& slices, int tile,
                                           int slice, int thread) {
  constexpr int FOURS = SUBTILES * FRAGMENTS / 4;
  if (slices.count == 1) return true;
  float4* const sums = slices.sums + tile * slices.count * FOURS * THREADS + thread;
  const auto four = [&](int i) { return &accumulators[i * 4 / FRAGMENTS][i * 4 % FRAGMENTS]; };
#pragma unroll
  for (int i = 0; i < FOURS; ++i)
    sums[(slice * FOURS + i) * THREADS] = make_float4(four(i)[0], four(i)[1], four(i)[2], four(i)[3]);
  __syncwarp();  // orders the stores of all lanes before lane 0 counts
  uint32_t before = 0;
  if (thread % 32 == 0) before = ptx::flag_count(slices.counters + (tile * THREADS + thread) / 32, slices.count);
  before = __shfl_sync(0xFFFFFFFF, before, 0);
  if (before + 1 < static_cast<uint32_t>(slices.count)) return false;
  __syncwarp();  // orders lane 0's count, which has seen all others, before what follows in all lanes
#pragma unroll
  for (int i = 0; i < SUBTILES * FRAGMENTS; ++i) four(i / 4)[i % 4] = 0;
  constexpr int AT_ONCE = FOURS < 32 ? 32 / FOURS : 1;  // slices whose loads are in flight: L2's latency is long
#pragma unroll AT_ONCE
  for (int s = 0; s < slices.count; ++s) {
#pragma unroll
    for (int i = 0; i < FOURS; ++i) {
      const float4 part = sums[(s * FOURS + i) * THREADS];
      four(i)[0] += part.x, four(i)[1] += part.y, four(i)[2] += part.z, four(i)[3] += part.w;
    }
  }
  return true;
}

/// Executed by: a whole warp. Stores the fragments of a wgmma, 16 rows per warp and M sub-tile, as BF16, but nothing
/// outside of D. `row` and `col` are those of the warp's first element in D; M sub-tiles are 64 rows apart. With
/// TRANSPOSED, these rows are columns of D.
template <bool TRANSPOSED, int SUBTILES, int FRAGMENTS>
__device__ __forceinline__ void store_fragments(const float (&accumulators)[SUBTILES][FRAGMENTS], const Slices& slices,
                                                int row, int col) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int subtile = 0; subtile < SUBTILES; ++subtile) {
#pragma unroll
    for (int i = 0; i < FRAGMENTS; i += 2) {  // two columns of row lane / 4, then of the row 8 below; then 8 columns on
      const int r = row + subtile * 64 + i / 2 % 2 * 8 + lane / 4, c = col + i / 4 * 8 + lane % 4 * 2;
      const uint32_t packed = ptx::cvt_rn_bf16x2_f32(accumulators[subtile][i + 1], accumulators[subtile][i]);
      if constexpr (TRANSPOSED) {
        const auto halves = reinterpret_cast<const __nv_bfloat16*>(&packed);
        for (int j = 0; j < 2; ++j)
          if (r < slices.m && c + j < slices.n) slices.d[(c + j) * slices.ldd + r] = halves[j];
      } else if (r < slices.m && c < slices.n) {
        *reinterpret_cast<uint32_t*>(slices.d + r * slices.ldd + c) = packed;
      }
    }
  }
}

}  // namespace mma
