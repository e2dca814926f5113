// Level 01, Hopper: everything works once, nothing overlaps.
//
// The twin of kernel_sm100.cuh, step by step. Hopper has no tensor memory and no pairs of CTAs that share an MMA: a
// warpgroup of 128 threads executes wgmma, and its registers hold the accumulators, 128 per thread for a 128 x 128
// tile.
//
//   thread 0, TMA --- smem_full ---> all threads (MMAs, then epilogue)
//   all threads --- __syncthreads ---> thread 0 (next loads)
//
// Barriers (one of each per CTA, in shared memory)
//   name         arrivals per phase                      arrives                              waits
//   smem_full    1, plus STAGE_BYTES bytes               thread 0 (arrive.expect_tx), TMA     all threads
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/harness/level.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

namespace level01 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int BLOCK_M = 128;  // tile of D per CTA
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;  // two instructions, one above the other, make the 128 rows
  static constexpr int WGMMA_N = 128;
  static constexpr int WGMMA_K = 16;
  static constexpr int NUM_THREADS = 128;  // one warpgroup

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
};

// Byte offsets from the start of dynamic shared memory.
struct Smem {
  static constexpr int SMEM_FULL = 0;
  static constexpr int A = 1024;  // the 128-byte swizzle repeats every 1,024 bytes: operands are aligned to that
  static constexpr int B = A + Config::A_BYTES;
  static constexpr int BYTES = B + Config::B_BYTES;
  // The kernel requests more than half of an SM's shared memory, so that one CTA runs per SM. Three would fit and
  // hide one another's waits. The ladder shows how one CTA can hide them itself, so it pins one (see README).
  static constexpr int PINNED_BYTES = 116 * 1024;
};
static_assert(Smem::BYTES == 33'792);
static_assert(Smem::A % 1024 == 0 && Smem::B % 1024 == 0);
static_assert(2 * Smem::PINNED_BYTES > 228 * 1024);

// -------------------------------------------------------------------------------------------------------------- kernel

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
  const uint32_t smem_full = base + Smem::SMEM_FULL;

  // Step 2: set up the barrier.
  if (is_control_thread) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::mbarrier_init(smem_full, 1);
    ptx::fence_mbarrier_init();  // orders the init before TMA uses the barrier
  }
  __syncthreads();  // the barrier exists before any thread waits on it

  // Step 3: the main loop. One stage: load, wait, multiply, wait.
  mma::SmemDescriptorSm90 descriptor{.start_address = base + Smem::A,
                                     .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                     .swizzle = mma::Swizzle::B128};
  const uint64_t a_desc = descriptor.encode();
  descriptor.start_address = base + Smem::B;
  const uint64_t b_desc = descriptor.encode();
  constexpr uint32_t A_HALF_BYTES = Config::WGMMA_M * Config::BLOCK_K * 2;  // from rows 0..63 of A to rows 64..127
  float accumulators[2][Config::WGMMA_N / 2];                               // [upper or lower 64 rows][fragment]
  uint32_t phase = 0;  // parity of the barrier's phase in this iteration of the loop
  for (int k_block = 0; k_block < k_blocks; ++k_block) {
    if (is_control_thread) {
      ptx::mbarrier_arrive_expect_tx(smem_full, Config::STAGE_BYTES);
      ptx::cp_async_bulk_tensor_2d_g2s(base + Smem::A, &map_a, k_block * Config::BLOCK_K, a_row, smem_full);
      ptx::cp_async_bulk_tensor_2d_g2s(base + Smem::B, &map_b, k_block * Config::BLOCK_K, b_row, smem_full);
    }
    ptx::mbarrier_wait(smem_full, phase);  // the operands have arrived
    __syncwarp();                          // wgmma requires converged warps
    ptx::wgmma_fence();                    // orders earlier accesses of the accumulators before the MMAs
#pragma unroll
    for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
      const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        ptx::wgmma_m64n128k16_bf16(accumulators[half], mma::advance(a_desc, half * A_HALF_BYTES + k_bytes),
                                   mma::advance(b_desc, k_bytes), k_block > 0 || kk > 0);
      }
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();  // the MMAs are done: accumulators are readable,
    __syncthreads();             // and once every warp is here, thread 0 may overwrite A and B
    phase ^= 1;
  }

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
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  CUtensorMap map_a, map_b;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k, Config::BLOCK_N,
                                     Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm90, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::PINNED_BYTES);
  if (status != cudaSuccess) return status;

  const int m_blocks = (problem.m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  gemm_sm90<<<m_blocks * n_blocks, Config::NUM_THREADS, Smem::PINNED_BYTES, stream>>>(
      map_a, map_b, problem.d, problem.m, problem.n, problem.k, problem.ldd);
  return cudaGetLastError();
}

}  // namespace level01
