// Level 04, Hopper: D leaves through shared memory, so that global stores are coalesced.
//
// The twin of kernel_sm100.cuh, step by step. New in this level: a warp first puts its fragments into shared memory,
// row by row of D, then stores two whole rows at a time, 16 bytes per lane, so that neighbouring lanes share
// transactions.
//
//   producer --- smem_full ---> consumers --- smem_empty ---> producer
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   arrives                              waits
//   smem_full[s]    1, plus STAGE_BYTES bytes            producer (arrive.expect_tx), TMA     consumers
//   smem_empty[s]   8                                    one lane of each consumer warp       producer
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
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

namespace level04 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int BLOCK_M = 128;  // tile of D per CTA
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;  // rows of a consumer, half of the tile's 128
  static constexpr int WGMMA_N = 128;
  static constexpr int WGMMA_K = 16;
  // More stages fit, but with a deep ring CTAs drift apart, and L2 loses the panels that they share (see README).
  static constexpr int NUM_STAGES = 4;
  static constexpr int NUM_CONSUMERS = 2;                                // warpgroups that multiply
  static constexpr int NUM_THREADS = 128 * (1 + NUM_CONSUMERS);          // warpgroup 0 is the producer
  static constexpr int LAUNCH_REGISTERS = 65'536 / NUM_THREADS / 8 * 8;  // per thread, in eights, before setmaxnreg
  static constexpr int PRODUCER_REGISTERS = 24;
  static constexpr int CONSUMER_REGISTERS = 240;

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_PITCH = BLOCK_N * 2 + 16;  // bytes from row to row: 8 rows start in different banks
  static constexpr int CD_BYTES = BLOCK_M * CD_PITCH;
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
  static constexpr int CD = 1024;                                        // [L04] the tile on its way out
  static constexpr int STAGES = CD + Config::CD_BYTES;  // a multiple of 1,024, where the swizzle's pattern starts
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
};
static_assert(Smem::BYTES == 166'912 && Smem::BYTES <= 232'448);
static_assert(Smem::SMEM_EMPTY + 8 * Config::NUM_STAGES <= Smem::CD);
static_assert(Smem::STAGES % 1024 == 0 && Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0);
static_assert(2 * Smem::BYTES > 228 * 1024);  // one CTA runs per SM

// -------------------------------------------------------------------------------------------------------------- kernel

__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* d,
              int m, int n, int k, int ldd) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tile.
  // [L03] All lanes of a warp have the same role. The broadcast tells the compiler so: branches are uniform.
  const uint32_t warp_idx = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const uint32_t lane_idx = threadIdx.x % 32;
  const uint32_t warpgroup_idx = warp_idx / 4;

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
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), 1);
      ptx::mbarrier_init(smem_empty(stage), 4 * Config::NUM_CONSUMERS);
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
      for (int k_block = 0; k_block < k_blocks; ++k_block) {
        ptx::mbarrier_wait(smem_empty(stage),
                           phase ^ 1);  // MMAs are done reading it; the first wait of a stage passes
        ptx::mbarrier_arrive_expect_tx(smem_full(stage), Config::STAGE_BYTES);
        ptx::cp_async_bulk_tensor_2d_g2s(stage_a(stage), &map_a, k_block * Config::BLOCK_K, a_row, smem_full(stage));
        ptx::cp_async_bulk_tensor_2d_g2s(stage_b(stage), &map_b, k_block * Config::BLOCK_K, b_row, smem_full(stage));
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
    }
  } else {  // [L03] consumers
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    const int consumer = static_cast<int>(warpgroup_idx) - 1;
    const uint32_t a_rows = consumer * Config::WGMMA_M * Config::BLOCK_K * 2;  // bytes of A before this consumer's rows
    mma::SmemDescriptorSm90 descriptor{.start_address = stage_a(0) + a_rows,
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    const uint64_t a_desc = descriptor.encode();
    descriptor.start_address = stage_b(0);
    const uint64_t b_desc = descriptor.encode();
    // Each warp arrives for itself: its MMAs may be done before the others'. At K block 0 it has no stage to release.
    const auto release_stage_before = [&](int stage) {
      if (lane_idx == 0) ptx::mbarrier_arrive(smem_empty(stage == 0 ? Config::NUM_STAGES - 1 : stage - 1));
    };
    float accumulators[Config::WGMMA_N / 2];
    int stage = 0;
    uint32_t phase = 0;
    for (int k_block = 0; k_block < k_blocks; ++k_block) {
      ptx::mbarrier_wait(smem_full(stage), phase);  // the operands have arrived
      __syncwarp();                                 // wgmma requires converged warps
      ptx::wgmma_fence();                           // orders earlier accesses of the accumulators before the MMAs
      const uint64_t a_stage = mma::advance(a_desc, stage * Config::STAGE_BYTES);
      const uint64_t b_stage = mma::advance(b_desc, stage * Config::STAGE_BYTES);
#pragma unroll
      for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
        const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
        ptx::wgmma_m64n128k16_bf16(accumulators, mma::advance(a_stage, k_bytes), mma::advance(b_stage, k_bytes),
                                   k_block > 0 || kk > 0);
      }
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done
      if (k_block > 0) release_stage_before(stage);
      if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
    }
    ptx::wgmma_wait_group<0>(accumulators);  // all MMAs are done: the accumulators are readable

    // Step 4: epilogue. [L04] Each warp rearranges its 16 rows from fragments into rows, in shared memory, and stores
    // those.
    const int warp_row = consumer * Config::WGMMA_M + warp_idx % 4 * 16;  // in the tile
    const uint32_t cd = base + Smem::CD + (warp_row + lane_idx % 16) * Config::CD_PITCH + lane_idx / 16 * 16;
#pragma unroll  // registers have no run-time index: every access of the accumulators must be unrolled
    for (int i = 0; i < Config::WGMMA_N / 2; i += 8) {  // 16 columns: rows 0-7, rows 8-15, both again 8 columns on
      ptx::stmatrix_x4(cd + i / 8 * 32, ptx::cvt_rn_bf16x2_f32(accumulators[i + 1], accumulators[i]),
                       ptx::cvt_rn_bf16x2_f32(accumulators[i + 3], accumulators[i + 2]),
                       ptx::cvt_rn_bf16x2_f32(accumulators[i + 5], accumulators[i + 4]),
                       ptx::cvt_rn_bf16x2_f32(accumulators[i + 7], accumulators[i + 6]));
    }
    __syncwarp();                                                           // orders the warp's stores before its loads
    const int first_row = warp_row + lane_idx / 16, chunk = lane_idx % 16;  // 16 lanes x 16 bytes: a row of the tile
    uint4 chunks[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      chunks[i] = ptx::ld_shared_v4(base + Smem::CD + (first_row + 2 * i) * Config::CD_PITCH + chunk * 16);
    }
    const int row = m_block * Config::BLOCK_M + first_row, col = n_block * Config::BLOCK_N + chunk * 8;
    __nv_bfloat16* const d_chunk = d + static_cast<int64_t>(row) * ldd + col;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (row + 2 * i < m && col < n) *reinterpret_cast<uint4*>(d_chunk + int64_t{2 * i} * ldd) = chunks[i];
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
  status = cudaFuncSetAttribute(gemm_sm90, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  const int m_blocks = (problem.m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  const int n_blocks = (problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  gemm_sm90<<<m_blocks * n_blocks, Config::NUM_THREADS, Smem::BYTES, stream>>>(map_a, map_b, problem.d, problem.m,
                                                                               problem.n, problem.k, problem.ldd);
  return cudaGetLastError();
}

}  // namespace level04
