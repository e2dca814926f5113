// The producer: one thread loads A and B into the ring, and reserves stages of it for the epilogue.
#pragma once

#include "common/ptx/tma.cuh"
#include "level08_deep_pipeline/production/sm90/ring.cuh"

namespace production {

// [L07] A load of rows that other CTAs need is multicast to the same offset in each, and counts at its own barrier.
template <int SHARERS, int ROWS>
__device__ __forceinline__ void load(uint32_t dst, const CUtensorMap* map, const Operand& matrix, int x, int y,
                                     uint32_t bar, uint16_t ctas) {
  map += y + ROWS > matrix.rows;
  y = min(y, matrix.rows - matrix.end_rows);
  if constexpr (SHARERS > 1)
    ptx::cp_async_bulk_tensor_2d_g2s_multicast(dst, map, x, y, bar, ctas);
  else
    ptx::cp_async_bulk_tensor_2d_g2s(dst, map, x, y, bar);
}

/// Executed by one thread of the producer's warp.
template <class Config>
__device__ __forceinline__ void produce(const Cta<Config>& cta) {
  const Params& params = cta.params;
  const Schedule& schedule = params.schedule;
  // Copies: what is read through a reference is read, and computed with, again after each wait.
  const Operand a = params.a, b = params.b;
  RingPosition<Config> ring;
  const auto wait_until_empty = [&] { ptx::mbarrier_wait(cta.smem_empty(ring.stage), ring.phase ^ 1); };
  // Reserves stages for D. All producers of the multicast group take part: otherwise D could be stored, and its stage
  // released to all, while one of them still waits for the stage's previous phase. A role that waits for every phase of
  // a barrier cannot mistake one for another. (A consumer skips the phase that reserves the other consumer's stage.
  // That is safe, since it first waits for a K block that is loaded after the reservation.)
  const auto reserve_stages_for_d = [&] {
    for (int i = 0; i < Config::D_STAGES; ++i, ring += 1) {
      wait_until_empty();
      for (int p = 0; p < Config::MULTICAST_GROUP; ++p) cta.arrive_at(p, cta.smem_full(ring.stage), 1);
    }
  };
  uint16_t a_sharers = 0, b_sharers = 0;  // bit r: the CTA of rank r needs the same rows of A; of B
  for (int i = 0; i < Config::CLUSTER_N; ++i) a_sharers |= 1 << (i * Config::CLUSTER_M + cta.m_rank);
  for (int i = 0; i < Config::CLUSTER_M; ++i) b_sharers |= 1 << (cta.n_rank * Config::CLUSTER_M + i);
  // [L05] Persistent tile loop. The ring does not restart with a tile. Every other wave reads K backwards: L2 still
  // holds the last K blocks of the rows that it shares with the wave before.
  for (int index = cta.worker, wave = 0; index < schedule.work_tiles; index += schedule.workers, ++wave) {
    const WorkTile tile = cta.work_tile(index);
    const int a_rows = a.rows_in(tile.m_subtiles * Config::CLUSTER_N, Config::A_LOAD_ROWS, tile.row);
    const int b_rows = b.rows_in(Config::CLUSTER_M, Config::B_LOAD_ROWS, tile.col);
    for (int k_block = 0; k_block < cta.k_blocks; ++k_block) {
      const int k_start =
          (cta.first_k_block + (wave % 2 != 0 ? cta.k_blocks - 1 - k_block : k_block)) * Config::BLOCK_K;
      const uint32_t full = cta.smem_full(ring.stage);
      wait_until_empty();  // the MMAs of the whole group are done; the first pass through the ring does not block
      if (Config::FULL_ARRIVALS > 1) ptx::mbarrier_arrive(full, Config::FULL_ARRIVALS - 1);  // for the others
      ptx::mbarrier_arrive_expect_tx(full, (a_rows + b_rows) * Config::BLOCK_K * 2);
      for (int box = 0; box < tile.m_subtiles; ++box) {
        load<Config::CLUSTER_N, Config::A_LOAD_ROWS>(
            cta.stage_a(ring.stage) + box * Config::A_BOX_BYTES + cta.n_rank * Config::A_LOAD_BYTES, params.maps.a, a,
            k_start, tile.row + box * Config::A_BOX_ROWS + cta.n_rank * Config::A_LOAD_ROWS, full, a_sharers);
      }
      load<Config::CLUSTER_M, Config::B_LOAD_ROWS>(cta.stage_b(ring.stage) + cta.m_rank * Config::B_LOAD_BYTES,
                                                   params.maps.b, b, k_start,
                                                   tile.col + cta.m_rank * Config::B_LOAD_ROWS, full, b_sharers);
      ring += 1;
      if (k_block + 1 == cta.distance && !cta.is_first(index)) reserve_stages_for_d();  // of the tile before
    }
  }
  reserve_stages_for_d();
  // Drain: one more pass through the ring, until all arrivals have come; none may come after this CTA exits. (The wait
  // for a stage that was never filled passes at once, as in the first pass.)
  for (int i = 0; i < Config::NUM_STAGES; ++i, ring += 1) wait_until_empty();
}

}  // namespace production
