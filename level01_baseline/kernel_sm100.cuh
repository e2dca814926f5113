// Level 01, Blackwell: everything works once, nothing overlaps.
//
// D[M,N] = A[M,K] * B[N,K]^T, BF16 in and out, FP32 accumulation, on pairs of CTAs that share one tcgen05.mma. A
// cluster of two CTAs computes one 128 x 128 tile of D. Both load the same 128 rows of A and one half each of the 128
// rows of B; the MMA is 256 rows high, so the pair computes the tile twice. That waste is deliberate; level 07 removes
// it.
//
//   thread 0, TMA --- smem_full ---> thread 0 --- cluster barrier ---> the leader's thread 0 (MMAs)
//   MMAs --- smem_empty ---> thread 0 of both CTAs (next loads)
//   MMAs --- tmem_full ---> all threads of both CTAs (epilogue)
//
// Barriers (one of each per CTA, in shared memory)
//   name         arrivals per phase                      arrives                              waits
//   smem_full    1, plus STAGE_BYTES bytes               thread 0 (arrive.expect_tx), TMA     thread 0
//   smem_empty   1                                       the leader's commit, to both CTAs    thread 0
//   tmem_full    1                                       the leader's commit, to both CTAs    all threads
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
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"

namespace level01 {

// ------------------------------------------------------------------------------------------------------- configuration

struct Config {
  static constexpr int CTA_GROUP = 2;  // CTAs that share one MMA, and the cluster's size
  static constexpr int BLOCK_M = 128;  // tile of D per cluster; also the rows of A, and TMEM lanes, per CTA
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int UMMA_M = 256;  // the MMA counts the rows of both CTAs
  static constexpr int UMMA_N = 128;
  static constexpr int UMMA_K = 16;
  static constexpr int NUM_THREADS = 128;
  static constexpr int TMEM_COLUMNS = 128;  // one FP32 accumulator of BLOCK_N columns

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;              // per CTA: all 128 rows
  static constexpr int B_BYTES = BLOCK_N / CTA_GROUP * BLOCK_K * 2;  // per CTA: its 64 of the 128 rows
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
};

// Byte offsets from the start of dynamic shared memory, the same in both CTAs: one descriptor serves the pair.
struct Smem {
  static constexpr int SMEM_FULL = 0;
  static constexpr int SMEM_EMPTY = 8;
  static constexpr int TMEM_FULL = 16;
  static constexpr int TMEM_ADDRESS = 24;  // where tcgen05.alloc leaves its result
  static constexpr int A = 1024;  // the 128-byte swizzle repeats every 1,024 bytes: operands are aligned to that
  static constexpr int B = A + Config::A_BYTES;
  static constexpr int BYTES = B + Config::B_BYTES;
};
static_assert(Smem::BYTES == 25'600);
static_assert(Smem::A % 1024 == 0 && Smem::B % 1024 == 0);

// -------------------------------------------------------------------------------------------------------------- kernel

__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* d,
               int m, int n, int k, int ldd) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: role of this thread, and the CTA's tile.
  const uint32_t warp_idx = threadIdx.x / 32;
  const uint32_t cta_rank = ptx::cluster_ctarank();
  const bool is_leader = cta_rank == 0;  // the CTA of the pair whose thread issues the MMAs
  const bool is_control_thread = threadIdx.x == 0;

  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tile = blockIdx.x / Config::CTA_GROUP;  // row-major order of tiles, one per cluster
  const int m_block = tile / n_blocks;
  const int n_block = tile % n_blocks;
  const int a_row = m_block * Config::BLOCK_M;  // the same in both CTAs
  const int b_row = n_block * Config::BLOCK_N + static_cast<int>(cta_rank) * (Config::BLOCK_N / Config::CTA_GROUP);

  const uint32_t base = ptx::smem_address(smem);
  const uint32_t smem_full = base + Smem::SMEM_FULL;
  const uint32_t smem_empty = base + Smem::SMEM_EMPTY;
  const uint32_t tmem_full = base + Smem::TMEM_FULL;

  // Step 2: set up barriers and tensor memory.
  if (is_control_thread) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::mbarrier_init(smem_full, 1);
    ptx::mbarrier_init(smem_empty, 1);
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

  // Step 3: the main loop. One stage: load, wait, multiply, wait.
  constexpr mma::InstructionDescriptor instruction{.m = Config::UMMA_M, .n = Config::UMMA_N};
  mma::SmemDescriptorSm100 descriptor{.start_address = base + Smem::A,
                                      .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                      .swizzle = mma::Swizzle::B128};
  const uint64_t a_desc = descriptor.encode();
  descriptor.start_address = base + Smem::B;
  const uint64_t b_desc = descriptor.encode();
  uint32_t phase = 0;  // parity of the barriers' phase in this iteration of the loop
  for (int k_block = 0; k_block < k_blocks; ++k_block) {
    if (is_control_thread) {
      ptx::mbarrier_wait(smem_empty, phase ^ 1);  // MMAs of the block before are done reading; the first wait passes
      ptx::mbarrier_arrive_expect_tx(smem_full, Config::STAGE_BYTES);
      ptx::cp_async_bulk_tensor_2d_g2s(base + Smem::A, &map_a, k_block * Config::BLOCK_K, a_row, smem_full);
      ptx::cp_async_bulk_tensor_2d_g2s(base + Smem::B, &map_b, k_block * Config::BLOCK_K, b_row, smem_full);
      ptx::mbarrier_wait(smem_full, phase);  // this CTA's operands have arrived
    }
    __syncwarp();  // the cluster barrier requires converged warps
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();  // so have the peer's, which the MMA reads too
    if (is_leader && is_control_thread) {
      ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs after the cluster barrier
      for (int kk = 0; kk < Config::BLOCK_K / Config::UMMA_K; ++kk) {
        const uint32_t k_bytes = kk * Config::UMMA_K * 2;  // inside the swizzle span: just move the start address
        ptx::tcgen05_mma_f16<Config::CTA_GROUP>(tmem, mma::advance(a_desc, k_bytes), mma::advance(b_desc, k_bytes),
                                                instruction.encode(), k_block > 0 || kk > 0);
      }
      ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(smem_empty, 0b11);  // both CTAs may overwrite A and B
    }
    phase ^= 1;
  }
  if (is_control_thread) {
    if (is_leader) ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(tmem_full, 0b11);  // D is complete in both CTAs
    ptx::mbarrier_wait(smem_empty, phase ^ 1);  // the last commit has arrived: no MMA uses this CTA any more
  }
  __syncwarp();  // lanes 1 to 31 of the control thread's warp wait here, not in the loop below

  // Step 4: epilogue. TMEM lane = row of the tile; each thread converts and stores its row, one element at a time.
  ptx::mbarrier_wait(tmem_full, 0);
  ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMAs that the barrier reported
  __syncwarp();                            // tcgen05.ld requires converged warps
  const int row = m_block * Config::BLOCK_M + threadIdx.x;
  for (int column = 0; column < Config::BLOCK_N; ++column) {
    float value[1];
    ptx::tcgen05_ld_32x32b(tmem + ((warp_idx * 32) << 16) + column, value);  // warp w reaches lanes 32w .. 32w + 31
    ptx::tcgen05_wait_ld(value);                                             // before it the registers are undefined
    const int col = n_block * Config::BLOCK_N + column;
    if (row < m && col < n) d[static_cast<int64_t>(row) * ldd + col] = __float2bfloat16_rn(value[0]);
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

}  // namespace level01
