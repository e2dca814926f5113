// Level 05, Blackwell: CTAs stay and loop over tiles, in an order that the L2 cache likes; TMA stores D.
//
// D[M,N] = A[M,K] * B[N,K]^T, BF16 in and out, FP32 accumulation, on pairs of CTAs that share one tcgen05.mma. New in
// this level: the grid is as large as the GPU and no larger; each cluster takes every Nth tile. Tiles are ordered in
// groups of 8 m-blocks, so that clusters which run at the same time share rows of A and B in L2. One thread hands the
// staged tile to TMA. There is one accumulator, so a cluster barrier ends each tile: until then no warp may load or
// multiply for the next.
//
//   TMA warps --- smem_full ---> MMA warp --- smem_empty ---> TMA warps
//   MMA warp --- tmem_full ---> all warps (epilogue) --- cluster barrier ---> all warps (next tile)
//
// Barriers (in the shared memory of each CTA)
//   name            arrivals per phase                        arrives                                   waits
//   smem_full[s]    2, plus CTA_GROUP * STAGE_BYTES bytes     both CTAs' TMA warps, at the leader's     MMA warp
//   smem_empty[s]   1                                         the leader's commit, to both CTAs         TMA warp
//   tmem_full       1                                         the leader's commit, to both CTAs         all warps
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/harness/level.h"
#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"

namespace level05 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int CTA_GROUP = 2;  // CTAs that share one MMA, and the cluster's size
  static constexpr int BLOCK_M = 128;  // tile of D per cluster; also the rows of A, and TMEM lanes, per CTA
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int UMMA_M = 256;  // the MMA counts the rows of both CTAs
  static constexpr int UMMA_N = 128;
  static constexpr int UMMA_K = 16;
  static constexpr int NUM_STAGES = 8;  // the producer has its own warp now and can run further ahead
  static constexpr int NUM_THREADS = 128;
  static constexpr int TMEM_COLUMNS = 128;      // one FP32 accumulator of BLOCK_N columns
  static constexpr int STORE_N = 8;             // BF16 elements in one store to shared memory: 16 bytes
  static constexpr int SWIZZLE_GROUP_SIZE = 8;  // m-blocks that a group of tiles covers before n advances

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;              // per CTA: all 128 rows
  static constexpr int B_BYTES = BLOCK_N / CTA_GROUP * BLOCK_K * 2;  // per CTA: its 64 of the 128 rows
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_PITCH = BLOCK_N * 2;  // bytes from row to row of the staged tile
  static constexpr int CD_BYTES = BLOCK_M * CD_PITCH;
};

// Byte offsets from the start of dynamic shared memory, the same in both CTAs: one descriptor serves the pair.
struct Smem {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int TMEM_FULL = SMEM_EMPTY + 8 * Config::NUM_STAGES;
  static constexpr int TMEM_ADDRESS = TMEM_FULL + 8;  // where tcgen05.alloc leaves its result
  static constexpr int CD = 1024;                     // [L04] the tile on its way out
  static constexpr int STAGES =
      CD + Config::CD_BYTES;  // the 128-byte swizzle repeats every 1,024 bytes: operands are aligned to that
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 230'400 && Smem::BYTES <= 232'448);
static_assert(Smem::TMEM_ADDRESS + 4 <= Smem::CD);
static_assert(Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0);

// [L05] The order of tiles: SWIZZLE_GROUP_SIZE m-blocks downwards, then the next n. Neighbours in this order share
// columns (B), and a group as a whole returns to the same rows (A) while they are still in L2.
struct TileCoordinates {
  int m_block, n_block;
};
__host__ __device__ constexpr TileCoordinates tile_coordinates(int tile, int m_blocks, int n_blocks) {
  const int tiles_per_group = Config::SWIZZLE_GROUP_SIZE * n_blocks;
  const int first_m_block = tile / tiles_per_group * Config::SWIZZLE_GROUP_SIZE;
  const int rest = m_blocks - first_m_block;
  const int group_size =
      rest < Config::SWIZZLE_GROUP_SIZE ? rest : Config::SWIZZLE_GROUP_SIZE;  // the last may be smaller
  const int tile_in_group = tile % tiles_per_group;
  return {first_m_block + tile_in_group % group_size, tile_in_group / group_size};
}

// -------------------------------------------------------------------------------------------------------------- kernel

__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_d, int m, int n, int k) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tiles.
  const uint32_t warp_idx = threadIdx.x / 32;
  const uint32_t cta_rank = ptx::cluster_ctarank();
  const bool is_leader = cta_rank == 0;  // the CTA of the pair whose thread issues the MMAs

  const int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tiles = m_blocks * n_blocks;
  const int num_clusters = gridDim.x / Config::CTA_GROUP;
  const int first_tile = blockIdx.x / Config::CTA_GROUP;

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };
  const uint32_t tmem_full = base + Smem::TMEM_FULL;

  // Step 2: set up barriers and tensor memory.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), Config::CTA_GROUP);  // [L02] both CTAs report to the leader's barrier
      ptx::mbarrier_init(smem_empty(stage), 1);
    }
    ptx::mbarrier_init(tmem_full, 1);
    ptx::fence_mbarrier_init();  // orders the inits before TMA, the tensor core and the peer use the barriers
  }
  __syncwarp();  // the cluster barrier requires converged warps
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // both CTAs run, as the pair's tcgen05.alloc requires, and their barriers exist
  if (warp_idx == 0) {
    ptx::tcgen05_alloc<Config::CTA_GROUP>(base + Smem::TMEM_ADDRESS, Config::TMEM_COLUMNS);
    ptx::tcgen05_relinquish_alloc_permit<Config::CTA_GROUP>();
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();             // TMEM is allocated in both CTAs, its address visible to every thread
  ptx::tcgen05_fence_after_thread_sync();  // orders tcgen05 operations after the barrier; so do the later fences
  const uint32_t tmem = *reinterpret_cast<const uint32_t*>(smem + Smem::TMEM_ADDRESS);

  // [L05] Persistent tile loop. The ring does not restart with a tile: stage and phase are kept. They belong to the
  // lane that elect_sync() elects, which is the same one every time.
  int stage = 0;
  uint32_t phase = 0;
  uint32_t tile_phase = 0;  // parity of tmem_full's phase for this tile
  for (int tile = first_tile; tile < tiles; tile += num_clusters, tile_phase ^= 1) {
    const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
    const int a_row = m_block * Config::BLOCK_M;  // the same in both CTAs
    const int b_row = n_block * Config::BLOCK_N + static_cast<int>(cta_rank) * (Config::BLOCK_N / Config::CTA_GROUP);

    // Step 3: the main loop, once per role. Each role has its position in the ring: a stage, and its barriers' parity.
    if (warp_idx == 0) {  // [L03] TMA warp, in both CTAs
      if (ptx::elect_sync()) {
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_empty(stage),
                             phase ^ 1);  // MMAs are done reading it; the first wait of a stage passes
          const uint32_t full = ptx::pair_leader_address(smem_full(stage));  // [L02]
          ptx::mbarrier_arrive_expect_tx_cluster(full, Config::STAGE_BYTES);
          ptx::cp_async_bulk_tensor_2d_g2s<Config::CTA_GROUP>(stage_a(stage), &map_a, k_block * Config::BLOCK_K, a_row,
                                                              full);
          ptx::cp_async_bulk_tensor_2d_g2s<Config::CTA_GROUP>(stage_b(stage), &map_b, k_block * Config::BLOCK_K, b_row,
                                                              full);
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
      }
    } else if (warp_idx == 1 && is_leader) {  // [L03] MMA warp, in the leader
      if (ptx::elect_sync()) {
        constexpr mma::InstructionDescriptor instruction{.m = Config::UMMA_M, .n = Config::UMMA_N};
        mma::SmemDescriptorSm100 descriptor{.start_address = stage_a(0),
                                            .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                            .swizzle = mma::Swizzle::B128};
        const uint64_t a_desc = descriptor.encode();
        descriptor.start_address = stage_b(0);
        const uint64_t b_desc = descriptor.encode();
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_full(stage), phase);  // both CTAs' operands have arrived
          ptx::tcgen05_fence_after_thread_sync();       // orders the MMAs after the wait
          for (int kk = 0; kk < Config::BLOCK_K / Config::UMMA_K; ++kk) {
            const uint32_t bytes = stage * Config::STAGE_BYTES + kk * Config::UMMA_K * 2;
            ptx::tcgen05_mma_f16<Config::CTA_GROUP>(tmem, mma::advance(a_desc, bytes), mma::advance(b_desc, bytes),
                                                    instruction.encode(), k_block > 0 || kk > 0);
          }
          ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(smem_empty(stage), 0b11);  // both CTAs may refill the stage
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
        ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(tmem_full, 0b11);  // D is complete in both CTAs
      }
    }
    __syncwarp();  // the lanes that were not elected wait here, not in the loop below

    // Step 4: epilogue. TMEM lane = row of the tile; each thread converts its row and stages it in shared memory.
    ptx::mbarrier_wait(tmem_full, tile_phase);
    __syncwarp();                            // tcgen05.ld requires converged warps
    ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMAs that the barrier reported
    for (int column = 0; column < Config::BLOCK_N; column += Config::STORE_N) {
      float values[Config::STORE_N];
      ptx::tcgen05_ld_32x32b(tmem + ((warp_idx * 32) << 16) + column, values);  // warp w reaches lanes 32w .. 32w + 31
      ptx::tcgen05_wait_ld(values);                                             // before it the registers are undefined
      const uint4 packed = {ptx::cvt_rn_bf16x2_f32(values[1], values[0]), ptx::cvt_rn_bf16x2_f32(values[3], values[2]),
                            ptx::cvt_rn_bf16x2_f32(values[5], values[4]), ptx::cvt_rn_bf16x2_f32(values[7], values[6])};
      *reinterpret_cast<uint4*>(smem + Smem::CD + threadIdx.x * Config::CD_PITCH + column * 2) = packed;
    }
    ptx::fence_proxy_async_shared();  // [L05] orders this thread's stores before TMA's reads
    __syncthreads();                  // [L04] the tile is complete
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk_tensor_2d_s2g(&map_d, n_block * Config::BLOCK_N, m_block * Config::BLOCK_M, base + Smem::CD);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read<0>();  // TMA has read the tile: after the barrier below it may be overwritten
    }
    // The end of a tile: both CTAs have read the accumulator. (Redundant, kept for clarity: exercise 4 of the README.)
    ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before the barrier
    __syncwarp();                             // the cluster barrier requires converged warps
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    ptx::tcgen05_fence_after_thread_sync();  // orders the next tile's MMAs, and the deallocation, after the loads
  }

  // Step 5: tear down. No CTA may exit, or free TMEM, while its peer still needs it.
  if (warp_idx == 0 && ptx::elect_sync()) {
    // Drain: one more pass through the ring, until every commit has arrived; none may arrive after this CTA exits.
    // (The wait for a stage that was never filled passes at once, as in the first pass.)
    for (int i = 0; i < Config::NUM_STAGES; ++i) {
      ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);
      if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
    }
  }
  __syncwarp();  // the cluster barrier requires converged warps; the branch above may split them
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // the last tile's suffices; without that one (exercise 4) this one is required
  if (warp_idx == 0) ptx::tcgen05_dealloc<Config::CTA_GROUP>(tmem, Config::TMEM_COLUMNS);
}

// -------------------------------------------------------------------------------------------------------------- launch

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns the first error that the driver reports for the tensor maps or the launch.
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  CUtensorMap map_a, map_b, map_d;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k,
                                     Config::BLOCK_N / Config::CTA_GROUP, Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_d, problem.d, problem.m, problem.n, problem.ldd, Config::BLOCK_M,
                                     Config::BLOCK_N, mma::Swizzle::None);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm100, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  // [L05] As many clusters as fit on the GPU at once, but no more than there are tiles. The query takes the cluster's
  // size from an attribute, not from __cluster_dims__; its grid is any, and replaced by the answer.
  cudaLaunchAttribute cluster{.id = cudaLaunchAttributeClusterDimension,
                              .val = {.clusterDim = {Config::CTA_GROUP, 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = Config::CTA_GROUP,
                            .blockDim = Config::NUM_THREADS,
                            .dynamicSmemBytes = Smem::BYTES,
                            .stream = stream,
                            .attrs = &cluster,
                            .numAttrs = 1};
  int clusters = 0;
  status = cudaOccupancyMaxActiveClusters(&clusters, gemm_sm100, &config);
  if (status != cudaSuccess) return status;
  const int m_blocks = (problem.m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  config.gridDim = Config::CTA_GROUP * std::min(clusters, m_blocks * n_blocks);
  return cudaLaunchKernelEx(&config, gemm_sm100, map_a, map_b, map_d, problem.m, problem.n, problem.k);
}

}  // namespace level05
