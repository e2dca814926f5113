// Level 02, Hopper: loads run ahead of the MMAs, through a ring of stages; the swizzle explained.
//
// The twin of kernel_sm100.cuh, step by step. New in this level: four stages instead of one. The control thread starts
// the loads of the next K blocks while the tensor core works on this one, and one group of wgmmas is always in flight.
// The layout of the operands in shared memory is chosen at compile time: one executable holds the kernel for all four
// swizzles.
//
//   thread 0, TMA --- smem_full ---> all threads (MMAs, then epilogue)
//   all threads --- smem_empty ---> thread 0 (refills the stage)
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   arrives                              waits
//   smem_full[s]    1, plus STAGE_BYTES bytes            thread 0 (arrive.expect_tx), TMA     all threads
//   smem_empty[s]   4                                    one lane of each warp                thread 0
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/harness/level.h"
#include "common/mma/k_major.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

namespace level02 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int BLOCK_M = 128;  // tile of D per CTA
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: 8, 4, 2 or 1 spans of the swizzle
  static constexpr int WGMMA_M = 64;  // two instructions, one above the other, make the 128 rows
  static constexpr int WGMMA_N = 128;
  static constexpr int WGMMA_K = 16;
  static constexpr int NUM_STAGES = 4;
  static constexpr int NUM_THREADS = 128;  // one warpgroup

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
};

// Byte offsets from the start of dynamic shared memory.
struct Smem {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int STAGES = 1024;  // the 128-byte swizzle repeats every 1,024 bytes: operands are aligned to that
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 132'096);
static_assert(Smem::SMEM_EMPTY + 8 * Config::NUM_STAGES <= Smem::STAGES);
static_assert(Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0);
static_assert(2 * Smem::BYTES > 228 * 1024);  // one CTA runs per SM

// -------------------------------------------------------------------------------------------------------------- kernel

template <mma::Swizzle SWIZZLE>  // [L02]
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* d,
              int m, int n, int k, int ldd) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tile.
  const uint32_t warp_idx = threadIdx.x / 32;
  const uint32_t lane_idx = threadIdx.x % 32;
  const bool is_control_thread = threadIdx.x == 0;

  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tile = blockIdx.x;  // row-major order of tiles, one per CTA
  const int m_block = tile / n_blocks;
  const int n_block = tile % n_blocks;
  const int a_row = m_block * Config::BLOCK_M;
  const int b_row = n_block * Config::BLOCK_N;

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };

  // Step 2: set up the barriers.
  if (is_control_thread) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), 1);
      ptx::mbarrier_init(smem_empty(stage), Config::NUM_THREADS / 32);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA uses the barriers
  }
  __syncthreads();  // the barriers exist before any thread waits on them

  // Step 3: the main loop, on a ring of stages that the control thread fills ahead of the MMAs.
  // [L02] Layout and loads of a stage's A and B: slabs one swizzle span wide, each loaded as one box.
  constexpr mma::KMajorTile A_TILE{SWIZZLE, Config::BLOCK_M, Config::BLOCK_K};
  constexpr mma::KMajorTile B_TILE{SWIZZLE, Config::BLOCK_N, Config::BLOCK_K};
  const auto fill = [&](int stage, int k_block) {
    ptx::mbarrier_arrive_expect_tx(smem_full(stage), Config::STAGE_BYTES);
    for (int slab = 0; slab < A_TILE.slabs(); ++slab) {
      const int k_start = k_block * Config::BLOCK_K + slab * A_TILE.box_cols();
      ptx::cp_async_bulk_tensor_2d_g2s(stage_a(stage) + slab * A_TILE.slab_bytes(), &map_a, k_start, a_row,
                                       smem_full(stage));
      ptx::cp_async_bulk_tensor_2d_g2s(stage_b(stage) + slab * B_TILE.slab_bytes(), &map_b, k_start, b_row,
                                       smem_full(stage));
    }
  };
  if (is_control_thread) {
    for (int k_block = 0; k_block < Config::NUM_STAGES && k_block < k_blocks; ++k_block) fill(k_block, k_block);
  }
  const uint64_t a_desc = mma::SmemDescriptorSm90{.start_address = stage_a(0),
                                                  .leading_byte_offset = A_TILE.leading_byte_offset(),
                                                  .stride_byte_offset = A_TILE.stride_byte_offset(),
                                                  .swizzle = SWIZZLE}
                              .encode();
  const uint64_t b_desc = mma::SmemDescriptorSm90{.start_address = stage_b(0),
                                                  .leading_byte_offset = B_TILE.leading_byte_offset(),
                                                  .stride_byte_offset = B_TILE.stride_byte_offset(),
                                                  .swizzle = SWIZZLE}
                              .encode();
  float accumulators[2][Config::WGMMA_N / 2];  // [upper or lower 64 rows][fragment]
  int stage = 0;
  uint32_t phase = 0;  // parity of the barriers' phase in this pass through the ring
  for (int k_block = 0; k_block < k_blocks; ++k_block) {
    ptx::mbarrier_wait(smem_full(stage), phase);  // the operands have arrived
    __syncwarp();                                 // wgmma requires converged warps
    ptx::wgmma_fence();                           // orders earlier accesses of the accumulators before the MMAs
    const uint64_t a_stage = mma::advance(a_desc, stage * Config::STAGE_BYTES);
    const uint64_t b_stage = mma::advance(b_desc, stage * Config::STAGE_BYTES);
#pragma unroll
    for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        ptx::wgmma_m64n128k16_bf16(accumulators[half],
                                   mma::advance(a_stage, A_TILE.row_bytes(half * Config::WGMMA_M) + A_TILE.k_bytes(kk)),
                                   mma::advance(b_stage, B_TILE.k_bytes(kk)), k_block > 0 || kk > 0);
      }
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done,
    if (k_block > 0) {           // in all four warps once each has arrived: then its stage is filled again
      const int done_stage = stage == 0 ? Config::NUM_STAGES - 1 : stage - 1;
      const uint32_t done_phase = stage == 0 ? phase ^ 1 : phase;
      const int next_k_block = k_block - 1 + Config::NUM_STAGES;
      if (lane_idx == 0) ptx::mbarrier_arrive(smem_empty(done_stage));
      if (is_control_thread && next_k_block < k_blocks) {
        ptx::mbarrier_wait(smem_empty(done_stage), done_phase);
        fill(done_stage, next_k_block);
      }
    }
    if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
  }
  ptx::wgmma_wait_group<0>(accumulators[0], accumulators[1]);  // all MMAs are done: the accumulators are readable

  // Step 4: epilogue. Each thread converts and stores its fragments, one element at a time.
#pragma unroll  // registers have no run-time index: every access of the accumulators must be unrolled
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < Config::WGMMA_N / 2; ++i) {
      const int row = m_block * Config::BLOCK_M + half * Config::WGMMA_M + warp_idx * 16 + lane_idx / 4 + i / 2 % 2 * 8;
      const int col = n_block * Config::BLOCK_N + i / 4 * 8 + lane_idx % 4 * 2 + i % 2;
      if (row < m && col < n) d[static_cast<int64_t>(row) * ldd + col] = __float2bfloat16_rn(accumulators[half][i]);
    }
  }

  // Step 5: tear down. Nothing is in flight, nothing was allocated.
}

// -------------------------------------------------------------------------------------------------------------- launch

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns the first error that the driver reports for the tensor maps or the launch.
template <mma::Swizzle SWIZZLE>
cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  CUtensorMap map_a, map_b;
  constexpr int BOX_COLS = mma::swizzle_span_bytes(SWIZZLE) / 2;
  cudaError_t status =
      mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M, BOX_COLS, SWIZZLE);
  if (status != cudaSuccess) return status;
  status =
      mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k, Config::BLOCK_N, BOX_COLS, SWIZZLE);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm90<SWIZZLE>, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  const int m_blocks = (problem.m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  gemm_sm90<SWIZZLE><<<m_blocks * n_blocks, Config::NUM_THREADS, Smem::BYTES, stream>>>(
      map_a, map_b, problem.d, problem.m, problem.n, problem.k, problem.ldd);
  return cudaGetLastError();
}

}  // namespace level02
