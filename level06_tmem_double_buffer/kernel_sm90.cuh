// Level 06, Hopper: two sets of accumulators: the epilogue of one tile overlaps the MMAs of the next.
//
// The twin of kernel_sm100.cuh, step by step. Hopper has no tensor memory to hold a second accumulator, but it has a
// second warpgroup. New in this level, "ping-pong": each consumer owns a whole tile and takes every other one of the
// CTA's. While one multiplies, the other stores; then they change roles.
//
//   producer --- smem_full ---> consumer of the tile --- smem_empty ---> producer
//   consumer 0 --- TURN_BARRIER ---> consumer 1 --- TURN_BARRIER ---> consumer 0
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   arrives                              waits
//   smem_full[s]    1, plus STAGE_BYTES bytes            producer (arrive.expect_tx), TMA     the tile's consumer
//   smem_empty[s]   4                                    one lane of each of its warps        producer
// Named barriers per consumer: one where its warps meet around a store, one where it waits for its turn.
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

namespace level06 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int BLOCK_M = 128;  // tile of D per CTA
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;  // two instructions, one above the other, make the 128 rows
  static constexpr int WGMMA_N = 128;
  static constexpr int WGMMA_K = 16;
  // More stages fit, but with a deep ring CTAs drift apart, and L2 loses the panels that they share (see README).
  static constexpr int NUM_STAGES = 4;
  static constexpr int NUM_CONSUMERS = 2;                                // warpgroups that multiply
  static constexpr int NUM_THREADS = 128 * (1 + NUM_CONSUMERS);          // warpgroup 0 is the producer
  static constexpr int LAUNCH_REGISTERS = 65'536 / NUM_THREADS / 8 * 8;  // per thread, in eights, before setmaxnreg
  static constexpr int PRODUCER_REGISTERS = 24;
  static constexpr int CONSUMER_REGISTERS = 240;
  static constexpr int SWIZZLE_GROUP_SIZE = 8;  // m-blocks that a group of tiles covers before n advances
  static constexpr int STORE_BARRIER = 1;       // bar.sync of consumer c's four warps: number 1 + c
  static constexpr int TURN_BARRIER = 3;        // [L06] where consumer c waits for its turn: number 3 + c

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_PITCH = BLOCK_N * 2;         // bytes from row to row: TMA requires rows without gaps
  static constexpr int CD_BYTES = BLOCK_M * CD_PITCH;  // per consumer
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
  static constexpr int CD = 1024;  // [L04] the tile on its way out, each consumer has its own
  // A multiple of 1,024, where the swizzle's pattern starts.
  static constexpr int STAGES = CD + Config::NUM_CONSUMERS * Config::CD_BYTES;
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 197'632 && Smem::BYTES <= 232'448);
static_assert(Smem::SMEM_EMPTY + 8 * Config::NUM_STAGES <= Smem::CD);
static_assert(Smem::STAGES % 1024 == 0 && Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0);
static_assert(2 * Smem::BYTES > 228 * 1024);  // one CTA runs per SM

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

__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_d, int m, int n, int k) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tiles.
  // [L03] All lanes of a warp have the same role. The broadcast tells the compiler so: branches are uniform.
  const uint32_t warp_idx = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const uint32_t lane_idx = threadIdx.x % 32;
  const uint32_t warpgroup_idx = warp_idx / 4;

  const int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
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
      ptx::mbarrier_init(smem_empty(stage), 4);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA uses the barriers
  }
  __syncthreads();  // the barriers exist before any thread waits on them

  // Step 3: the main loop, once per role. Each role has its position in the ring: a stage, and its barriers' parity.
  if (warpgroup_idx == 0) {                             // [L03] producer
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();  // required of the whole warpgroup, although one thread works
    if (warp_idx == 0 && ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
      // [L05] Persistent tile loop. The ring does not restart with a tile: stage and phase are kept.
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
        const int a_row = m_block * Config::BLOCK_M;
        const int b_row = n_block * Config::BLOCK_N;
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);  // MMAs are done reading it; the first wait passes
          ptx::mbarrier_arrive_expect_tx(smem_full(stage), Config::STAGE_BYTES);
          ptx::cp_async_bulk_tensor_2d_g2s(stage_a(stage), &map_a, k_block * Config::BLOCK_K, a_row, smem_full(stage));
          ptx::cp_async_bulk_tensor_2d_g2s(stage_b(stage), &map_b, k_block * Config::BLOCK_K, b_row, smem_full(stage));
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
      }
    }
  } else {  // [L03] consumers
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    const int consumer = static_cast<int>(warpgroup_idx) - 1;
    mma::SmemDescriptorSm90 descriptor{.start_address = stage_a(0),
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    const uint64_t a_desc = descriptor.encode();
    descriptor.start_address = stage_b(0);
    const uint64_t b_desc = descriptor.encode();
    // Each warp arrives for itself: its MMAs may be done before the others'. At K block 0 it has no stage to release.
    const auto release_stage_before = [&](int stage) {
      if (lane_idx == 0) ptx::mbarrier_arrive(smem_empty(stage == 0 ? Config::NUM_STAGES - 1 : stage - 1));
    };
    constexpr uint32_t A_HALF_BYTES = Config::WGMMA_M * Config::BLOCK_K * 2;  // from rows 0..63 of A to rows 64..127
    float accumulators[2][Config::WGMMA_N / 2];                               // [upper or lower 64 rows][fragment]
    int stage = 0;
    uint32_t phase = 0;
    bool is_my_turn = consumer == 0;  // [L06] consumer 0 has the CTA's first tile, consumer 1 the second, and so on
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, is_my_turn = !is_my_turn) {
      if (!is_my_turn) {  // skip the other consumer's K blocks in the ring
        stage += k_blocks % Config::NUM_STAGES;
        phase ^= k_blocks / Config::NUM_STAGES & 1;
        if (stage >= Config::NUM_STAGES) stage -= Config::NUM_STAGES, phase ^= 1;
        continue;
      }
      // Wait until the other consumer has issued its MMAs, and so has seen every stage before this one filled. An
      // earlier wait could pass on the parity of two wrap-arounds ago. The CTA's first tile has no other before it.
      if (tile != blockIdx.x) ptx::bar_sync(Config::TURN_BARRIER + consumer, 256);
      for (int k_block = 0; k_block < k_blocks; ++k_block) {
        ptx::mbarrier_wait(smem_full(stage), phase);  // the operands have arrived
        __syncwarp();                                 // wgmma requires converged warps
        ptx::wgmma_fence();                           // orders earlier accesses of the accumulators before the MMAs
        const uint64_t a_stage = mma::advance(a_desc, stage * Config::STAGE_BYTES);
        const uint64_t b_stage = mma::advance(b_desc, stage * Config::STAGE_BYTES);
#pragma unroll
        for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
          const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            ptx::wgmma_m64n128k16_bf16(accumulators[half], mma::advance(a_stage, half * A_HALF_BYTES + k_bytes),
                                       mma::advance(b_stage, k_bytes), k_block > 0 || kk > 0);
          }
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done
        if (k_block > 0) release_stage_before(stage);
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
      const bool is_last = tile + gridDim.x >= tiles;
      if (!is_last) ptx::bar_arrive(Config::TURN_BARRIER + 1 - consumer, 256);  // [L06] now it is the other's turn
      ptx::wgmma_wait_group<0>(accumulators[0], accumulators[1]);  // all MMAs are done: the accumulators are readable
      release_stage_before(stage);                                 // the last one, before the epilogue begins

      // Step 4: epilogue. Each consumer rearranges its tile from fragments into rows, in shared memory, and TMA stores
      // them.
      const auto [m_block, n_block] = tile_coordinates(tile, m_blocks, n_blocks);
      const int row_in_cd = warp_idx % 4 * 16 + lane_idx % 16;
      const uint32_t cd = base + Smem::CD + consumer * Config::CD_BYTES;
      const uint32_t cd_row = cd + row_in_cd * Config::CD_PITCH + lane_idx / 16 * 16;
#pragma unroll  // registers have no run-time index: every access of the accumulators must be unrolled
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int i = 0; i < Config::WGMMA_N / 2; i += 8) {  // 16 columns: rows 0-7, rows 8-15, both again 8 columns on
          ptx::stmatrix_x4(cd_row + half * Config::WGMMA_M * Config::CD_PITCH + i / 8 * 32,
                           ptx::cvt_rn_bf16x2_f32(accumulators[half][i + 1], accumulators[half][i]),
                           ptx::cvt_rn_bf16x2_f32(accumulators[half][i + 3], accumulators[half][i + 2]),
                           ptx::cvt_rn_bf16x2_f32(accumulators[half][i + 5], accumulators[half][i + 4]),
                           ptx::cvt_rn_bf16x2_f32(accumulators[half][i + 7], accumulators[half][i + 6]));
        }
      }
      ptx::fence_proxy_async_shared();                       // [L05] orders this thread's stores before TMA's reads
      ptx::bar_sync(Config::STORE_BARRIER + consumer, 128);  // all four warps' rows are written
      if (warp_idx % 4 == 0 && ptx::elect_sync()) {
        ptx::cp_async_bulk_tensor_2d_s2g(&map_d, n_block * Config::BLOCK_N, m_block * Config::BLOCK_M, cd);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read<0>();  // TMA has read the tile,
      }
      __syncwarp();                                          // bar.sync requires converged warps
      ptx::bar_sync(Config::STORE_BARRIER + consumer, 128);  // and all know; the turn barrier suffices, too
    }
  }

  // Step 5: tear down. Nothing is in flight, nothing was allocated.
}

// -------------------------------------------------------------------------------------------------------------- launch

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns the first error that the driver reports for the tensor maps or the launch.
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  CUtensorMap map_a, map_b, map_d;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k, Config::BLOCK_N,
                                     Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_d, problem.d, problem.m, problem.n, problem.ldd, Config::BLOCK_M,
                                     Config::BLOCK_N, mma::Swizzle::None);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm90, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  // [L05] As many CTAs as there are SMs (an SM holds one), but no more than there are tiles.
  int device = 0, num_sms = 0;
  status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  status = cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  const int m_blocks = (problem.m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  gemm_sm90<<<std::min(num_sms, m_blocks * n_blocks), Config::NUM_THREADS, Smem::BYTES, stream>>>(
      map_a, map_b, map_d, problem.m, problem.n, problem.k);
  return cudaGetLastError();
}

}  // namespace level06
