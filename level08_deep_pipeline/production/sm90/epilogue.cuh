// The epilogue: a consumer writes its part of D to shared memory, from where its store warp stores it.
#pragma once

#include "common/ptx/barrier.cuh"
#include "common/ptx/memory.cuh"
#include "level08_deep_pipeline/production/sm90/ring.cuh"

namespace production {

// The address in a store sub-tile to which stmatrix writes, for this lane, 16 columns of an M sub-tile: a line is a row
// of D, or a column if A and B are swapped. The swizzle, as TMA will undo it: 16-byte chunk c of line l lies at chunk
// c ^ (l % 8) of the line's 8; or, where lines are half as long, at c ^ (l / 2 % 4) of 4.
template <class Config>
__device__ __forceinline__ uint32_t address_in_subtile(uint32_t subtile, int column, uint32_t warp, uint32_t lane) {
  constexpr int SPAN = Config::CD_SPAN;
  const int first = column % Config::CD_N;
  const uint32_t line = Config::SWAPS_AB ? first + lane / 16 * 8 + lane % 8 : warp % 4 * 16 + lane % 16;
  const uint32_t swizzle = line / (64 / SPAN) % (SPAN / 8);
  const uint32_t chunk = (Config::SWAPS_AB ? warp % 4 * 2 + lane / 8 % 2 : first / 8 + lane / 16) ^ swizzle;
  return subtile + line * SPAN * 2 + chunk * 16;
}

/// Executed by a whole consumer, whose `ring` stands after the tile's K blocks. Writes its rows of D beside the ring
/// and into the stage that the producer has reserved for D.
template <class Config, class Accumulators>
__device__ __forceinline__ void write_d(const Cta<Config>& cta, const Accumulators& accumulators, const WorkTile& tile,
                                        RingPosition<Config> ring, int index, int consumer, uint32_t warp,
                                        uint32_t lane) {
  const auto notify_store_warp = [&](int barrier) {
    ptx::fence_proxy_async_shared();  // [L05] orders this thread's stores before TMA's reads
    ptx::bar_arrive(barrier + consumer, Config::D_BARRIER_THREADS);
  };
  // The previous tile's D has left its buffer: the store warp has waited for TMA meanwhile.
  ptx::bar_sync(Config::D_EMPTY_BARRIER + consumer, Config::D_BARRIER_THREADS);
  const auto [stage, phase] = cta.stage_of_d(ring, index, consumer);
  __syncwarp();  // stmatrix requires converged warps
#pragma unroll   // registers have no run-time index: every access of the accumulators must be unrolled
  for (int m = 0; m < Config::M_SUBTILES; ++m) {
    if (m >= tile.m_subtiles) break;
    const auto pack = [&](int i) { return ptx::cvt_rn_bf16x2_f32(accumulators[m][i + 1], accumulators[m][i]); };
#pragma unroll
    for (int i = 0; i < Config::WGMMA_N / 2; i += 8) {  // 16 columns: rows 0-7, rows 8-15, both again 8 columns on
      const int column = 2 * i;
      const int subtile = m * Config::CD_PER_M_SUBTILE + column / Config::CD_N;
      if (subtile == Config::FIRST_SUBTILES && column % Config::CD_N == 0) notify_store_warp(Config::D_FIRST_BARRIER);
      if (Config::D_STAGES > 0 && subtile == Config::WAITING_SUBTILE && column % Config::CD_N == 0) {
        ptx::mbarrier_wait(cta.smem_full(stage), phase);  // the stage is D's now
        if (Config::D_STAGES > 1 && cta.k_blocks <= Config::PREFETCH_DISTANCE) {
          // No K block has come since the other consumer's stage was reserved. (A wait at the next D would suffice.)
          const auto other = cta.stage_of_d(ring, index, 1 - consumer);
          ptx::mbarrier_wait(cta.smem_full(other.stage), other.phase);
        }
        __syncwarp();  // stmatrix requires converged warps
      }
      ptx::stmatrix_x4<Config::SWAPS_AB>(
          address_in_subtile<Config>(cta.store_subtile(subtile, stage, consumer), column, warp, lane), pack(i),
          pack(i + 2), pack(i + 4), pack(i + 6));
    }
  }
  notify_store_warp(Config::D_REST_BARRIER);
}

}  // namespace production
