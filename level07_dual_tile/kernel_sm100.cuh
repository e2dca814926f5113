// Level 07, Blackwell: each CTA of the pair owns a tile, so one MMA works on two.
//
// D[M,N] = A[M,K] * B[N,K]^T, BF16 in and out, FP32 accumulation, on pairs of CTAs that share one tcgen05.mma.
// New in this level: the two CTAs load different rows of A. The MMA always multiplied 256 rows, those of both CTAs;
// until now they were the same rows twice. The scheduler deals tiles to CTAs, neighbours in m to the two of a pair,
// both CTAs store, and the MMA warp waits for both epilogues before it overwrites an accumulator.
//
//   TMA warps of both CTAs --- smem_full ---> MMA warp --- smem_empty ---> TMA warps of both CTAs
//   MMA warp --- tmem_full ---> epilogue warps of both CTAs --- tmem_empty ---> MMA warp
//
// Barriers (in the shared memory of each CTA)
//   name            arrivals per phase                        arrives                                   waits
//   smem_full[s]    2, plus CTA_GROUP * STAGE_BYTES bytes     both CTAs' TMA warps, at the leader's     MMA warp
//   smem_empty[s]   1                                         the leader's commit, to both CTAs         TMA warp
//   tmem_full[b]    1                                         the leader's commit, to both CTAs         epilogue warps
//   tmem_empty[b]   2                                         one thread per CTA, at the leader's       MMA warp
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

namespace level07 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int CTA_GROUP = 2;    // CTAs that share one MMA, and the cluster's size
  static constexpr int BLOCK_M = 256;    // [L07] tile of D per CTA, and its rows of A
  static constexpr int SUBTILE_M = 128;  // [L06] rows of an M sub-tile, which one MMA computes for a CTA: TMEM's lanes
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int UMMA_M = 256;  // the MMA counts the rows of both CTAs
  static constexpr int UMMA_N = 128;
  static constexpr int UMMA_K = 16;
  static constexpr int NUM_STAGES = 4;
  static constexpr int NUM_THREADS = 256;
  static constexpr int FIRST_EPILOGUE_WARP = 4;  // [L06] 4 warps, one per quarter of TMEM's lanes; warp 3 idles
  static constexpr int EPILOGUE_THREADS = 128;
  static constexpr int EPILOGUE_BARRIER = 1;  // number of their own bar.sync
  static constexpr int M_SUBTILES = BLOCK_M / SUBTILE_M;
  static constexpr int ACCUMULATOR_COLUMNS = M_SUBTILES * BLOCK_N;
  static constexpr int NUM_ACCUMULATORS = 2;  // [L06]
  static constexpr int TMEM_COLUMNS = NUM_ACCUMULATORS * ACCUMULATOR_COLUMNS;
  static constexpr int STORE_N = 8;             // BF16 elements in one store to shared memory: 16 bytes
  static constexpr int SWIZZLE_GROUP_SIZE = 8;  // m-blocks that a group of tiles covers before n advances

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;              // per CTA: all 256 rows
  static constexpr int B_BYTES = BLOCK_N / CTA_GROUP * BLOCK_K * 2;  // per CTA: its 64 of the 128 rows
  static constexpr int SUBTILE_BYTES = SUBTILE_M * BLOCK_K * 2;      // of A
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_PITCH = BLOCK_N * 2;           // bytes from row to row of the staged tile
  static constexpr int CD_BYTES = SUBTILE_M * CD_PITCH;  // one sub-tile: the second reuses the buffer
};

// Byte offsets from the start of dynamic shared memory, the same in both CTAs: one descriptor serves the pair.
struct Smem {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int TMEM_FULL = SMEM_EMPTY + 8 * Config::NUM_STAGES;
  static constexpr int TMEM_EMPTY = TMEM_FULL + 8 * Config::NUM_ACCUMULATORS;
  static constexpr int TMEM_ADDRESS =
      TMEM_EMPTY + 8 * Config::NUM_ACCUMULATORS;  // where tcgen05.alloc leaves its result
  static constexpr int CD = 1024;                 // [L04] the tile on its way out
  static constexpr int STAGES =
      CD + Config::CD_BYTES;  // the 128-byte swizzle repeats every 1,024 bytes: operands are aligned to that
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 197'632);
static_assert(Config::TMEM_COLUMNS <= 512);
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

// [L07] Rows of tiles, rounded up to a whole pair. Groups of tiles are then even, so tiles t and t + 1, t even, share
// n_block and are neighbours in m: the two halves of B in the pair belong to the same columns. A tile that lies wholly
// outside D is loaded as zeros and stored nowhere.
__host__ __device__ constexpr int padded_m_blocks(int m) {
  const int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  return (m_blocks + Config::CTA_GROUP - 1) / Config::CTA_GROUP * Config::CTA_GROUP;
}
static_assert(Config::SWIZZLE_GROUP_SIZE % Config::CTA_GROUP == 0);

// -------------------------------------------------------------------------------------------------------------- kernel

__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_d, int m, int n, int k) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tiles.
  const uint32_t warp_idx = threadIdx.x / 32;
  const uint32_t cta_rank = ptx::cluster_ctarank();
  const bool is_leader = cta_rank == 0;  // the CTA of the pair whose thread issues the MMAs

  const int m_blocks = padded_m_blocks(m);
  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tiles = m_blocks * n_blocks;
  const int num_ctas = gridDim.x;  // [L07] tiles are dealt to CTAs; those of a pair get t and t + 1, t even
  const int first_tile = blockIdx.x;

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };
  const auto tmem_full = [&](int buffer) { return base + Smem::TMEM_FULL + 8 * buffer; };
  const auto tmem_empty = [&](int buffer) { return base + Smem::TMEM_EMPTY + 8 * buffer; };

  // Step 2: set up barriers and tensor memory.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), Config::CTA_GROUP);  // [L02] both CTAs report to the leader's barrier
      ptx::mbarrier_init(smem_empty(stage), 1);
    }
    for (int buffer = 0; buffer < Config::NUM_ACCUMULATORS; ++buffer) {
      ptx::mbarrier_init(tmem_full(buffer), 1);
      ptx::mbarrier_init(tmem_empty(buffer), Config::CTA_GROUP);  // [L07] both CTAs' epilogues
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA, the tensor core and the peer use the barriers
  }
  __syncwarp();  // the cluster barrier requires converged warps
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // both CTAs run, as the pair's tcgen05.alloc requires, and their barriers exist
  if (warp_idx == 2) {
    ptx::tcgen05_alloc<Config::CTA_GROUP>(base + Smem::TMEM_ADDRESS, Config::TMEM_COLUMNS);
    ptx::tcgen05_relinquish_alloc_permit<Config::CTA_GROUP>();
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();             // TMEM is allocated in both CTAs, its address visible to every thread
  ptx::tcgen05_fence_after_thread_sync();  // orders tcgen05 operations after the barrier; so do the later fences
  const uint32_t tmem = *reinterpret_cast<const uint32_t*>(smem + Smem::TMEM_ADDRESS);

  // Step 3: the main loop, once per role. [L06] Each role has its own persistent tile loop [L05] and its own position
  // in the rings, which it keeps from tile to tile: a stage or an accumulator, and the parity of its barriers' phase.
  if (warp_idx == 0) {  // [L03] TMA warp, in both CTAs
    if (ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
      for (int tile = first_tile; tile < tiles; tile += num_ctas) {
        const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
        const int a_row = m_block * Config::BLOCK_M;  // [L07] this CTA's own
        const int b_row =
            n_block * Config::BLOCK_N + static_cast<int>(cta_rank) * (Config::BLOCK_N / Config::CTA_GROUP);
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
      // Drain: one more pass through the ring, until every commit has arrived; none may arrive after this CTA exits.
      // (The wait for a stage that was never filled passes at once, as in the first pass.)
      for (int i = 0; i < Config::NUM_STAGES; ++i) {
        ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);
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
      int stage = 0, buffer = 0;
      uint32_t phase = 0, tmem_phase = 0;
      for (int tile = first_tile; tile < tiles; tile += num_ctas) {
        ptx::mbarrier_wait(tmem_empty(buffer),
                           tmem_phase ^ 1);      // [L06] the epilogue has read it; the first wait passes
        ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs after the epilogue's loads; so does the next fence
        const uint32_t accumulator = tmem + buffer * Config::ACCUMULATOR_COLUMNS;
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_full(stage), phase);  // both CTAs' operands have arrived
          ptx::tcgen05_fence_after_thread_sync();       // orders the MMAs after the wait
          for (int subtile = 0; subtile < Config::M_SUBTILES; ++subtile) {
            for (int kk = 0; kk < Config::BLOCK_K / Config::UMMA_K; ++kk) {
              const uint32_t bytes = stage * Config::STAGE_BYTES + kk * Config::UMMA_K * 2;
              ptx::tcgen05_mma_f16<Config::CTA_GROUP>(accumulator + subtile * Config::BLOCK_N,
                                                      mma::advance(a_desc, bytes + subtile * Config::SUBTILE_BYTES),
                                                      mma::advance(b_desc, bytes), instruction.encode(),
                                                      k_block > 0 || kk > 0);
            }
          }
          ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(smem_empty(stage), 0b11);  // both CTAs may refill the stage
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
        ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(tmem_full(buffer), 0b11);  // [L07] both tiles are complete
        if (++buffer == Config::NUM_ACCUMULATORS) buffer = 0, tmem_phase ^= 1;
      }
    }
  } else if (warp_idx >= Config::FIRST_EPILOGUE_WARP) {  // [L06] epilogue warps, [L07] in both CTAs
    // Step 4: epilogue. TMEM lane = row of the M sub-tile; each thread converts its row and stages it in shared memory.
    const uint32_t thread = threadIdx.x - Config::FIRST_EPILOGUE_WARP * 32;
    const uint32_t lanes = (warp_idx % 4 * 32) << 16;  // warp w reaches lanes 32 (w % 4) .. 32 (w % 4) + 31
    int buffer = 0;
    uint32_t tmem_phase = 0;
    for (int tile = first_tile; tile < tiles; tile += num_ctas) {
      const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
      ptx::mbarrier_wait(tmem_full(buffer), tmem_phase);
      __syncwarp();  // converges the warp after the wait; the __syncwarp() below would suffice
      ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMAs that the barrier reported
      for (int subtile = 0; subtile < Config::M_SUBTILES; ++subtile) {
        if (thread == 0) ptx::cp_async_bulk_wait_group_read<0>();           // TMA has read the previous sub-tile,
        __syncwarp();                                                       // bar.sync requires converged warps
        ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);  // and every thread may overwrite it
        for (int column = 0; column < Config::BLOCK_N; column += Config::STORE_N) {
          float values[Config::STORE_N];
          ptx::tcgen05_ld_32x32b(
              tmem + lanes + buffer * Config::ACCUMULATOR_COLUMNS + subtile * Config::BLOCK_N + column, values);
          ptx::tcgen05_wait_ld(values);  // before it the registers are undefined
          const uint4 packed = {
              ptx::cvt_rn_bf16x2_f32(values[1], values[0]), ptx::cvt_rn_bf16x2_f32(values[3], values[2]),
              ptx::cvt_rn_bf16x2_f32(values[5], values[4]), ptx::cvt_rn_bf16x2_f32(values[7], values[6])};
          *reinterpret_cast<uint4*>(smem + Smem::CD + thread * Config::CD_PITCH + column * 2) = packed;
        }
        ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before tmem_empty
        ptx::fence_proxy_async_shared();          // [L05] orders this thread's stores before TMA's reads
        ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);  // [L04] the sub-tile is complete
        if (thread == 0) {
          ptx::cp_async_bulk_tensor_2d_s2g(&map_d, n_block * Config::BLOCK_N,
                                           m_block * Config::BLOCK_M + subtile * Config::SUBTILE_M, base + Smem::CD);
          ptx::cp_async_bulk_commit_group();
        }
      }
      // [L06] All threads have read both sub-tiles: the MMAs may continue, [L07] as far as this CTA is concerned.
      if (thread == 0) ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(tmem_empty(buffer)));
      if (++buffer == Config::NUM_ACCUMULATORS) buffer = 0, tmem_phase ^= 1;
    }
    if (thread == 0) ptx::cp_async_bulk_wait_group_read<0>();  // shared memory must outlive TMA's reads
  }
  __syncwarp();  // the lanes that were not elected wait here: what follows requires converged warps

  // Step 5: tear down. No CTA may exit, or free TMEM, while its peer still needs it.
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before the barrier; so did the last fence
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after all threads' loads
  if (warp_idx == 2) ptx::tcgen05_dealloc<Config::CTA_GROUP>(tmem, Config::TMEM_COLUMNS);
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
  status = mma::encode_tensor_map_2d(&map_d, problem.d, problem.m, problem.n, problem.ldd, Config::SUBTILE_M,
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
  const int m_blocks = padded_m_blocks(problem.m);
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  config.gridDim = std::min(Config::CTA_GROUP * clusters, m_blocks * n_blocks);  // even: both terms are
  return cudaLaunchKernelEx(&config, gemm_sm100, map_a, map_b, map_d, problem.m, problem.n, problem.k);
}

}  // namespace level07
