// The store warps: one for each consumer, which waits for TMA in place of the consumer.
#pragma once

#include "common/ptx/barrier.cuh"
#include "common/ptx/tma.cuh"
#include "level08_deep_pipeline/production/sm90/ring.cuh"

namespace production {

/// Executed by a whole warp.
template <class Config>
__device__ __forceinline__ void store(const Cta<Config>& cta, int consumer) {
  const Schedule& schedule = cta.params.schedule;
  RingPosition<Config> ring;
  for (int index = cta.worker; index < schedule.work_tiles; index += schedule.workers) {
    const WorkTile tile = cta.work_tile(index);
    ring += cta.k_blocks + (cta.is_first(index) ? 0 : Config::D_STAGES);
    const int stage = cta.stage_of_d(ring, index, consumer).stage;
    ptx::bar_arrive(Config::D_EMPTY_BARRIER + consumer, Config::D_BARRIER_THREADS);  // TMA has read the D before
    // One sub-tile at a time: TMA works in order, and the next tile's loads must not queue behind all of D.
    const auto store_subtiles = [&](int first, int end) {
      for (int i = first; i < end; ++i) {
        const int row = (cta.m_part(consumer) * tile.m_subtiles + i / Config::CD_PER_M_SUBTILE) * Config::WGMMA_M;
        const int col = cta.n_part(consumer) * Config::WGMMA_N + i % Config::CD_PER_M_SUBTILE * Config::CD_N;
        const int x = Config::SWAPS_AB ? tile.row + row : tile.col + col;
        const int y = Config::SWAPS_AB ? tile.col + col : tile.row + row;
        ptx::cp_async_bulk_tensor_2d_s2g(&cta.params.maps.d, x, y, cta.store_subtile(i, stage, consumer));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read<0>();  // the sub-tile may be overwritten
      }
    };
    ptx::bar_sync(Config::D_FIRST_BARRIER + consumer, Config::D_BARRIER_THREADS);  // the first sub-tiles are written
    if (ptx::elect_sync()) store_subtiles(0, Config::FIRST_SUBTILES);
    __syncwarp();                                                                 // bar.sync requires converged warps
    ptx::bar_sync(Config::D_REST_BARRIER + consumer, Config::D_BARRIER_THREADS);  // the other sub-tiles, too
    if (ptx::elect_sync()) {
      store_subtiles(Config::FIRST_SUBTILES, tile.m_subtiles * Config::CD_PER_M_SUBTILE);
      if constexpr (Config::D_STAGES > 0) {
        constexpr int ARRIVALS = Config::EMPTY_ARRIVALS * Config::D_STAGES / Config::NUM_CONSUMERS;
        for (int i = 0; i < Config::MULTICAST_GROUP; ++i) cta.arrive_at(i, cta.smem_empty(stage), ARRIVALS);
      }
    }
    __syncwarp();  // bar.arrive requires converged warps
  }
}

}  // namespace production
