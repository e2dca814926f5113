// Level 03, Blackwell: loads and MMAs run their own loops, in warps of their own.
//
// D[M,N] = A[M,K] * B[N,K]^T, BF16 in and out, FP32 accumulation, on pairs of CTAs that share one tcgen05.mma.
// New in this level: one warp does nothing but load, another nothing but multiply. Neither executes the other's waits,
// so the loads run as far ahead as the ring of stages allows; each thread then stores its row four elements at a
// time.
//
//   TMA warps --- smem_full ---> MMA warp --- smem_empty ---> TMA warps
//   MMA warp --- tmem_full ---> all warps (epilogue)
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

namespace level03 {

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
  static constexpr int TMEM_COLUMNS = 128;  // one FP32 accumulator of BLOCK_N columns
  static constexpr int STORE_N = 4;         // BF16 elements in one store: 8 bytes

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;              // per CTA: all 128 rows
  static constexpr int B_BYTES = BLOCK_N / CTA_GROUP * BLOCK_K * 2;  // per CTA: its 64 of the 128 rows
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
};

// Byte offsets from the start of dynamic shared memory, the same in both CTAs: one descriptor serves the pair.
struct Smem {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int TMEM_FULL = SMEM_EMPTY + 8 * Config::NUM_STAGES;
  static constexpr int TMEM_ADDRESS = TMEM_FULL + 8;  // where tcgen05.alloc leaves its result
  static constexpr int STAGES = 1024;  // the 128-byte swizzle repeats every 1,024 bytes: operands are aligned to that
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 197'632);
static_assert(Smem::TMEM_ADDRESS + 4 <= Smem::STAGES);
static_assert(Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0);

// -------------------------------------------------------------------------------------------------------------- kernel

__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* d,
               int m, int n, int k, int ldd) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tile.
  const uint32_t warp_idx = threadIdx.x / 32;
  const uint32_t cta_rank = ptx::cluster_ctarank();
  const bool is_leader = cta_rank == 0;  // the CTA of the pair whose thread issues the MMAs

  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tile = blockIdx.x / Config::CTA_GROUP;  // row-major order of tiles, one per cluster
  const int m_block = tile / n_blocks;
  const int n_block = tile % n_blocks;
  const int a_row = m_block * Config::BLOCK_M;  // the same in both CTAs
  const int b_row = n_block * Config::BLOCK_N + static_cast<int>(cta_rank) * (Config::BLOCK_N / Config::CTA_GROUP);

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

  // Step 3: the main loop, once per role. Each role has its position in the ring: a stage, and its barriers' parity.
  if (warp_idx == 0) {  // [L03] TMA warp, in both CTAs
    if (ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
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
      int stage = 0;
      uint32_t phase = 0;
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

  // Step 4: epilogue. TMEM lane = row of the tile; each thread converts and stores its row, four elements at a time.
  ptx::mbarrier_wait(tmem_full, 0);
  __syncwarp();                            // tcgen05.ld requires converged warps
  ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMAs that the barrier reported
  const int row = m_block * Config::BLOCK_M + threadIdx.x;
  for (int column = 0; column < Config::BLOCK_N; column += Config::STORE_N) {
    float values[Config::STORE_N];
    ptx::tcgen05_ld_32x32b(tmem + ((warp_idx * 32) << 16) + column, values);  // warp w reaches lanes 32w .. 32w + 31
    ptx::tcgen05_wait_ld(values);                                             // before it the registers are undefined
    const uint2 packed = {ptx::cvt_rn_bf16x2_f32(values[1], values[0]), ptx::cvt_rn_bf16x2_f32(values[3], values[2])};
    const int col = n_block * Config::BLOCK_N + column;
    if (row < m && col < n) *reinterpret_cast<uint2*>(d + static_cast<int64_t>(row) * ldd + col) = packed;
  }

  // Step 5: tear down. No CTA may exit, or free TMEM, while its peer still needs it.
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before the barrier
  __syncwarp();  // the cluster barrier requires converged warps; the branch above may split them
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after all threads' loads
  if (warp_idx == 0) ptx::tcgen05_dealloc<Config::CTA_GROUP>(tmem, Config::TMEM_COLUMNS);
}

// -------------------------------------------------------------------------------------------------------------- launch

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns the first error that the driver reports for the tensor maps or the launch.
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  CUtensorMap map_a, map_b;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k,
                                     Config::BLOCK_N / Config::CTA_GROUP, Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm100, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  const int m_blocks = (problem.m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  gemm_sm100<<<m_blocks * n_blocks * Config::CTA_GROUP, Config::NUM_THREADS, Smem::BYTES, stream>>>(
      map_a, map_b, problem.d, problem.m, problem.n, problem.k, problem.ldd);
  return cudaGetLastError();
}

}  // namespace level03
