// The epilogue: four warps of each CTA take D out of tensor memory, and one thread hands it to TMA.
#pragma once

#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"
#include "level08_deep_pipeline/production/sm100/cta.cuh"

namespace production {

/// Executed by the four epilogue warps.
template <class Config>
__device__ __forceinline__ void write_d(const Cta<Config>& cta, uint32_t warp) {
  // TMEM lane = row of the M sub-tile; each thread converts its row and stages it in shared memory.
  const uint32_t thread = threadIdx.x - Config::FIRST_EPILOGUE_WARP * 32;
  const uint32_t lanes = (warp % 4 * 32) << 16;  // warp w reaches lanes 32 (w % 4) .. 32 (w % 4) + 31
  int buffer = 0, store_stage = 0;
  uint32_t tmem_phase = 0;
  for (auto walk = cta.tile_walk(); walk.has_tile(); walk.next()) {
    const auto [m_block, n_block] = tile_coordinates<Config>(walk.tile, cta.m_blocks, cta.n_blocks);
    ptx::mbarrier_wait(cta.tmem_full(buffer), tmem_phase);
    __syncwarp();                            // converges the warp after the wait; the __syncwarp() below would suffice
    ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMAs that the barrier reported
    for (int subtile = 0; subtile < Config::M_SUBTILES * Config::BLOCK_N / Config::STORE_BLOCK_N; ++subtile) {  // [L08]
      const int m_subtile = subtile / (Config::BLOCK_N / Config::STORE_BLOCK_N);
      const int first_column = subtile % (Config::BLOCK_N / Config::STORE_BLOCK_N) * Config::STORE_BLOCK_N;
      const bool is_last = subtile == Config::M_SUBTILES * Config::BLOCK_N / Config::STORE_BLOCK_N - 1;
      // TMA has read the sub-tile staged in this buffer before; its reads of other buffers may still be pending.
      if (thread == 0) ptx::cp_async_bulk_wait_group_read<Config::NUM_STORE_STAGES - 1>();
      __syncwarp();                                                       // bar.sync requires converged warps
      ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);  // now every thread may write there
      const int cd = SmemOf<Config>::CD + store_stage * Config::CD_BYTES;
      for (int i = 0; i < Config::STORE_BLOCK_N / Config::STORE_N; ++i) {
        float values[Config::STORE_N];
        ptx::tcgen05_ld_32x32b(cta.tmem + lanes + buffer * Config::ACCUMULATOR_COLUMNS + m_subtile * Config::BLOCK_N +
                                   first_column + i * Config::STORE_N,
                               values);
        ptx::tcgen05_wait_ld(values);  // before it the registers are undefined
        const uint4 packed = {
            ptx::cvt_rn_bf16x2_f32(values[1], values[0]), ptx::cvt_rn_bf16x2_f32(values[3], values[2]),
            ptx::cvt_rn_bf16x2_f32(values[5], values[4]), ptx::cvt_rn_bf16x2_f32(values[7], values[6])};
        // [L08] The 128-byte swizzle, as TMA will undo it: 16-byte chunk i of row r lies at chunk i ^ (r % 8).
        const int chunk = Config::SWIZZLED_CD ? i ^ (thread % 8) : i;
        *reinterpret_cast<uint4*>(cta.smem + cd + thread * Config::CD_PITCH + chunk * 16) = packed;
      }
      ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before the last sub-tile's tmem_empty
      if (Config::ASAP_TMEM_EMPTY && is_last) {
        __syncwarp();  // [L08] all lanes of this warp have read their rows: it need not wait for the other warps
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(cta.tmem_empty(buffer)));
      }
      ptx::fence_proxy_async_shared();  // [L05] orders this thread's stores before TMA's reads
      ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);  // [L04] the sub-tile is complete
      if (thread == 0) {
        ptx::cp_async_bulk_tensor_2d_s2g(&cta.params.map_d, n_block * Config::BLOCK_N + first_column,
                                         m_block * Config::BLOCK_M + m_subtile * Config::SUBTILE_M, cta.base + cd);
        ptx::cp_async_bulk_commit_group();
        if (!Config::ASAP_TMEM_EMPTY && is_last) {  // [L06] all have read the accumulator: the MMAs may continue
          ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(cta.tmem_empty(buffer)));
        }
      }
      if (++store_stage == Config::NUM_STORE_STAGES) store_stage = 0;
    }
    if (++buffer == Config::NUM_ACCUMULATORS) buffer = 0, tmem_phase ^= 1;
  }
  if (thread == 0) ptx::cp_async_bulk_wait_group_read<0>();  // shared memory must outlive TMA's reads
}

}  // namespace production
