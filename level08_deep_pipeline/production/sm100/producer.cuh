// The producer: one thread of each CTA loads A and its half of B.
#pragma once

#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "level08_deep_pipeline/production/sm100/cta.cuh"

namespace production {

/// Executed by one thread.
template <class Config>
__device__ __forceinline__ void produce(const Cta<Config>& cta) {
  int stage = 0;
  uint32_t phase = 0;
  for (auto walk = cta.tile_walk(); walk.has_tile(); walk.next()) {
    if (cta.is_leader) walk.ask_for_next();
    const auto [m_block, n_block] = tile_coordinates<Config>(walk.tile, cta.m_blocks, cta.n_blocks);
    const int a_row = m_block * Config::BLOCK_M;  // [L07] this CTA's own
    const int b_row = n_block * Config::BLOCK_N + static_cast<int>(cta.rank) * (Config::BLOCK_N / Config::CTA_GROUP);
    for (int k_block = 0; k_block < cta.k_blocks; ++k_block) {
      ptx::mbarrier_wait(cta.smem_empty(stage),
                         phase ^ 1);  // MMAs are done reading it; the first pass through the ring does not block
      const uint32_t full = ptx::pair_leader_address(cta.smem_full(stage));  // [L02]
      ptx::mbarrier_arrive_expect_tx_cluster(full, Config::STAGE_BYTES);
      ptx::cp_async_bulk_tensor_2d_g2s<Config::CTA_GROUP>(cta.stage_a(stage), &cta.params.map_a,
                                                          k_block * Config::BLOCK_K, a_row, full);
      ptx::cp_async_bulk_tensor_2d_g2s<Config::CTA_GROUP>(cta.stage_b(stage), &cta.params.map_b,
                                                          k_block * Config::BLOCK_K, b_row, full);
      if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
    }
  }
  // Drain: one more pass through the ring, until every commit has arrived; none may arrive after this CTA exits. (The
  // wait for a stage that was never filled passes at once, as in the first pass.)
  for (int i = 0; i < Config::NUM_STAGES; ++i) {
    ptx::mbarrier_wait(cta.smem_empty(stage), phase ^ 1);
    if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
  }
}

}  // namespace production
