// Level 08, Hopper: both consumers share one tile of 128x256, and warps of their own store it.
//
// The twin of kernel_sm100.cuh, step by step. New in this level: each consumer multiplies 64 rows of the tile by all of
// its 256 columns, so that a byte of A serves more products. D leaves in two halves through one buffer, with the
// 128-byte swizzle. A store warp per consumer waits for TMA, while the consumer continues with its next tile.
//
//   producer --- smem_full ---> consumers --- smem_empty ---> producers of both CTAs
//   consumer c --- D_FULL ---> store warp c --- D_EMPTY ---> consumer c
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   arrives                              waits
//   smem_full[s]    1, plus STAGE_BYTES bytes            producer (arrive.expect_tx), TMA     both consumers
//                                                        (both CTAs')
//   smem_empty[s]   16                                   a lane for each consumer warp, in    producer
//                                                        both CTAs
// Named barriers, one of each per consumer: at D_FULL its store warp waits for a half of its rows of D; at D_EMPTY the
// consumer waits until TMA has read the half before.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/harness/level.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

namespace level08 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int CLUSTER_SIZE = 2;  // [L07] CTAs that share a tile of B
  static constexpr int BLOCK_M = 128;     // tile of D per CTA
  static constexpr int BLOCK_N = 256;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;  // [L08] a consumer's rows of the tile
  static constexpr int WGMMA_N = 256;
  static constexpr int WGMMA_K = 16;
  static constexpr int NUM_STAGES = 4;
  static constexpr int NUM_CONSUMERS = 2;                                // warpgroups that multiply
  static constexpr int NUM_THREADS = 128 * (1 + NUM_CONSUMERS);          // warpgroup 0: producer and store warps
  static constexpr int LAUNCH_REGISTERS = 65'536 / NUM_THREADS / 8 * 8;  // per thread, in eights, before setmaxnreg
  static constexpr int PRODUCER_REGISTERS = 40;  // [L08] room for store warps; 24 and 240 measured equal
  static constexpr int CONSUMER_REGISTERS = 232;
  static constexpr int SWIZZLE_GROUP_SIZE = 16;       // m-blocks that a group of tiles covers before n advances
  static constexpr int FIRST_STORE_WARP = 1;          // [L08] the store warp of consumer c is warp 1 + c
  static constexpr int D_FULL_BARRIER = 1;            // [L08] consumer c's rows of half of D are written: number 1 + c
  static constexpr int D_EMPTY_BARRIER = 3;           // [L08] TMA has read them: number 3 + c
  static constexpr int D_BARRIER_THREADS = 128 + 32;  // the consumer's and its store warp's

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int B_LOAD_ROWS = BLOCK_N / CLUSTER_SIZE;  // [L07] rows of B that one CTA loads for both
  static constexpr int B_LOAD_BYTES = B_LOAD_ROWS * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_N = BLOCK_N / 2;             // [L08] half of the columns of D leave at a time
  static constexpr int CD_BYTES = WGMMA_M * CD_N * 2;  // per consumer
  static constexpr int STORE_BLOCK_N = 64;             // [L08] columns of one TMA store: the span of the swizzle
  static constexpr int CD_PITCH = STORE_BLOCK_N * 2;   // bytes from row to row
  static constexpr int STORE_BYTES = WGMMA_M * CD_PITCH;
};
// A warpgroup that requests more registers than the others have released waits for ever.
constexpr bool registers_suffice(int producer, int consumer) {
  return producer + Config::NUM_CONSUMERS * consumer <= (1 + Config::NUM_CONSUMERS) * Config::LAUNCH_REGISTERS;
}
static_assert(registers_suffice(Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS));
static_assert(registers_suffice(40, 232) && !registers_suffice(40, 240));

// Byte offsets from the start of dynamic shared memory.
struct Smem {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int CD = 1024;                                        // [L04] half of the tile on its way out
  // CD and STAGES are multiples of 1,024, where the swizzle's pattern starts.
  static constexpr int STAGES = CD + Config::NUM_CONSUMERS * Config::CD_BYTES;
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 230'400 && Smem::BYTES <= 232'448);
static_assert(Smem::SMEM_EMPTY + 8 * Config::NUM_STAGES <= Smem::CD);
static_assert(Smem::STAGES % 1024 == 0 && Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0 &&
              Config::B_LOAD_BYTES % 1024 == 0 && Config::STORE_BYTES % 1024 == 0);
static_assert(2 * Smem::BYTES > 228 * 1024);  // an SM's shared memory holds one CTA, not two

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
// n_block and are neighbours in m: the pair needs the same rows of B. A tile wholly outside D is loaded as zeros
// and stored nowhere.
__host__ __device__ constexpr int padded_m_blocks(int m) {
  const int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  return (m_blocks + Config::CLUSTER_SIZE - 1) / Config::CLUSTER_SIZE * Config::CLUSTER_SIZE;
}
static_assert(Config::SWIZZLE_GROUP_SIZE % Config::CLUSTER_SIZE == 0);

// -------------------------------------------------------------------------------------------------------------- kernel

__global__ void __cluster_dims__(Config::CLUSTER_SIZE, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_d, int m, int n, int k) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tiles.
  // [L03] All lanes of a warp have the same role. The broadcast tells the compiler so: branches are uniform.
  const uint32_t warp_idx = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const uint32_t lane_idx = threadIdx.x % 32;
  const uint32_t warpgroup_idx = warp_idx / 4;
  const uint32_t cta_rank = ptx::cluster_ctarank();

  const int m_blocks = padded_m_blocks(m);
  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tiles = m_blocks * n_blocks;

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };

  // Step 2: set up the barriers.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), 1);
      ptx::mbarrier_init(smem_empty(stage), 4 * Config::NUM_CONSUMERS * Config::CLUSTER_SIZE);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the peer use the barriers
  }
  __syncwarp();  // the cluster barrier requires converged warps
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // both CTAs run, and their barriers exist

  // Step 3: the main loop, once per role. Each role has its position in the ring: a stage, and its barriers' parity.
  if (warpgroup_idx == 0) {                             // [L03] producer
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();  // required of the whole warpgroup, although few threads work
    if (warp_idx == 0 && ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
      // [L05] Persistent tile loop. The ring does not restart with a tile: stage and phase are kept.
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
        const int a_row = m_block * Config::BLOCK_M;
        const int b_row = n_block * Config::BLOCK_N + static_cast<int>(cta_rank) * Config::B_LOAD_ROWS;
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);  // both CTAs' MMAs are done; the first wait passes
          ptx::mbarrier_arrive_expect_tx(smem_full(stage), Config::STAGE_BYTES);
          ptx::cp_async_bulk_tensor_2d_g2s(stage_a(stage), &map_a, k_block * Config::BLOCK_K, a_row, smem_full(stage));
          ptx::cp_async_bulk_tensor_2d_g2s_multicast(stage_b(stage) + cta_rank * Config::B_LOAD_BYTES, &map_b,
                                                     k_block * Config::BLOCK_K, b_row, smem_full(stage), 0b11);
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
      }
      // Drain: one more pass through the ring, until all arrivals have come; none may come after this CTA exits.
      // (The wait for a stage that was never filled passes at once, as in the first pass.)
      for (int i = 0; i < Config::NUM_STAGES; ++i) {
        ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
    }
    // [L08] Store warps: each waits for TMA in place of its consumer, which multiplies meanwhile.
    const int consumer = static_cast<int>(warp_idx) - Config::FIRST_STORE_WARP;
    if (consumer >= 0 && consumer < Config::NUM_CONSUMERS) {
      const uint32_t cd = base + Smem::CD + consumer * Config::CD_BYTES;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
        const int row = m_block * Config::BLOCK_M + consumer * Config::WGMMA_M;
        for (int half = 0; half < 2; ++half) {
          ptx::bar_arrive(Config::D_EMPTY_BARRIER + consumer, Config::D_BARRIER_THREADS);  // the buffer is free
          ptx::bar_sync(Config::D_FULL_BARRIER + consumer,
                        Config::D_BARRIER_THREADS);  // all four warps' rows are written
          if (ptx::elect_sync()) {
            for (int column = 0; column < Config::CD_N; column += Config::STORE_BLOCK_N) {
              ptx::cp_async_bulk_tensor_2d_s2g(&map_d, n_block * Config::BLOCK_N + half * Config::CD_N + column, row,
                                               cd + column / Config::STORE_BLOCK_N * Config::STORE_BYTES);
            }
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read<0>();  // TMA has read the half, which may be overwritten now
          }
          __syncwarp();  // the lanes that were not elected wait here
        }
      }
    }
    __syncwarp();  // what follows requires converged warps
  } else {         // [L03] consumers
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    const int consumer = static_cast<int>(warpgroup_idx) - 1;
    constexpr uint32_t A_CONSUMER_BYTES = Config::WGMMA_M * Config::BLOCK_K * 2;  // [L08] a consumer's rows of A
    mma::SmemDescriptorSm90 descriptor{.start_address = stage_a(0) + consumer * A_CONSUMER_BYTES,
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    const uint64_t a_desc = descriptor.encode();
    descriptor.start_address = stage_b(0);
    const uint64_t b_desc = descriptor.encode();
    // Each warp arrives for itself: the end of its own MMAs says nothing about the other warps'. [L07] It arrives in
    // both CTAs, a lane for each: both load into both. The arrivals pass on no data and need no release at cluster
    // scope. A tile's last stage is released after its loop, so at K block 0 there is none to release.
    const auto release_stage_before = [&](int stage) {
      const uint32_t empty = smem_empty(stage == 0 ? Config::NUM_STAGES - 1 : stage - 1);
      if (lane_idx < Config::CLUSTER_SIZE) ptx::mbarrier_arrive_cluster(ptx::mapa(empty, lane_idx));
    };
    float accumulators[Config::WGMMA_N / 2];
    int stage = 0;
    uint32_t phase = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      for (int k_block = 0; k_block < k_blocks; ++k_block) {
        ptx::mbarrier_wait(smem_full(stage), phase);  // the operands have arrived
        __syncwarp();                                 // wgmma requires converged warps
        ptx::wgmma_fence();                           // orders earlier accesses of the accumulators before the MMAs
        const uint64_t a_stage = mma::advance(a_desc, stage * Config::STAGE_BYTES);
        const uint64_t b_stage = mma::advance(b_desc, stage * Config::STAGE_BYTES);
#pragma unroll
        for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
          const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
          ptx::wgmma_m64n256k16_bf16(accumulators, mma::advance(a_stage, k_bytes), mma::advance(b_stage, k_bytes),
                                     k_block > 0 || kk > 0);
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done
        if (k_block > 0) release_stage_before(stage);
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
      ptx::wgmma_wait_group<0>(accumulators);  // all MMAs are done: the accumulators are readable
      release_stage_before(stage);             // the last one, before the epilogue begins

      // Step 4: epilogue. Each consumer rearranges its rows of the tile from fragments into rows, in shared memory,
      // [L08] half of the columns at a time, and its store warp hands them to TMA.
      const uint32_t row_in_cd = warp_idx % 4 * 16 + lane_idx % 16;
      const uint32_t cd_row = base + Smem::CD + consumer * Config::CD_BYTES + row_in_cd * Config::CD_PITCH;
      const auto pack = [&](int i) { return ptx::cvt_rn_bf16x2_f32(accumulators[i + 1], accumulators[i]); };
#pragma unroll  // registers have no run-time index: every access of the accumulators must be unrolled
      for (int half = 0; half < 2; ++half) {
        ptx::bar_sync(Config::D_EMPTY_BARRIER + consumer, Config::D_BARRIER_THREADS);  // TMA has read the half before
#pragma unroll
        for (int column = 0; column < Config::CD_N; column += 16) {  // rows 0-7, rows 8-15, both again 8 columns on
          const int i = (half * Config::CD_N + column) / 2;          // the first of their fragments
          // [L08] The 128-byte swizzle, as TMA will undo it: 16-byte chunk c of row r lies at chunk c ^ (r % 8).
          const uint32_t chunk = (column % Config::STORE_BLOCK_N / 8 + lane_idx / 16) ^ (row_in_cd % 8);
          ptx::stmatrix_x4(cd_row + column / Config::STORE_BLOCK_N * Config::STORE_BYTES + chunk * 16, pack(i),
                           pack(i + 2), pack(i + 4), pack(i + 6));
        }
        ptx::fence_proxy_async_shared();  // [L05] orders this thread's stores before TMA's reads
        ptx::bar_arrive(Config::D_FULL_BARRIER + consumer, Config::D_BARRIER_THREADS);  // the store warp may read them
      }
    }
  }

  // Step 5: tear down. No CTA may exit while its peer still loads into it, or arrives at its barriers. (The consumers'
  // warps are converged: none of their lanes was elected.)
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // redundant: the drain has waited for all of that
}

// -------------------------------------------------------------------------------------------------------------- launch

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns the first error that the driver reports for the tensor maps or the launch.
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  CUtensorMap map_a, map_b, map_d;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k, Config::B_LOAD_ROWS,
                                     Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_d, problem.d, problem.m, problem.n, problem.ldd, Config::WGMMA_M,
                                     Config::STORE_BLOCK_N, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm90, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  // [L05] As many CTAs as there are SMs (an SM holds one), at most as many as tiles. [L07] Whole pairs: both are even.
  int device = 0, num_sms = 0;
  status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  status = cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  const int m_blocks = padded_m_blocks(problem.m);
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  // [L08] If fewer CTAs take as many waves, fewer run: 2,048 tiles take 16 waves on 128 SMs, and on 132, too.
  // (At least one pair: on a device of one SM the launch then reports what is wrong.)
  const int pairs = m_blocks * n_blocks / Config::CLUSTER_SIZE, most = std::max(num_sms / Config::CLUSTER_SIZE, 1);
  const int waves = (pairs + most - 1) / most;
  gemm_sm90<<<(pairs + waves - 1) / waves * Config::CLUSTER_SIZE, Config::NUM_THREADS, Smem::BYTES, stream>>>(
      map_a, map_b, map_d, problem.m, problem.n, problem.k);
  return cudaGetLastError();
}

}  // namespace level08
