// Warm-up 4, Blackwell: D[256,64] = A[256,256] * B[64,256]^T by a pair of CTAs that execute each MMA together.
//
// As k_loop_sm100.cu, but for two CTAs, a cluster. Each loads a half of A's rows and of B's, and has its half of D.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"

constexpr int PAIR = 2, M = 256, N = 64, K = 256, BLOCK_K = 64, MMA_K = 16;
constexpr int OWN_M = M / PAIR, OWN_N = N / PAIR;  // rows of A, and of B, that a CTA loads
constexpr uint32_t SBO = 8 * 128;

// Both CTAs have these at the same offsets: one pair of descriptors, and one address of a barrier, are good for both.
struct __align__(1024) Smem {
  uint8_t a[OWN_M * BLOCK_K * 2], b[OWN_N * BLOCK_K * 2];
  uint64_t full, empty;
  uint32_t tmem_address;
};

__global__ void __cluster_dims__(PAIR, 1, 1) __launch_bounds__(OWN_M)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* d) {
  __shared__ Smem smem;
  const int thread = threadIdx.x, warp = threadIdx.x / 32;
  const int rank = static_cast<int>(ptx::cluster_ctarank());  // 0 or 1; the CTA of rank 0 is the leader
  const uint32_t smem_full = ptx::smem_address(&smem.full), smem_empty = ptx::smem_address(&smem.empty);
  const uint32_t a_tile = ptx::smem_address(smem.a), b_tile = ptx::smem_address(smem.b);

  if (thread == 0) {
    ptx::mbarrier_init(smem_full, 1), ptx::mbarrier_init(smem_empty, 1);
    ptx::fence_mbarrier_init();  // orders the inits before TMA, the tensor core and the peer use the barriers
  }
  __syncwarp();                                                // the cluster barrier requires a converged warp
  ptx::barrier_cluster_arrive(), ptx::barrier_cluster_wait();  // the __syncthreads() of a cluster: both CTAs run
  if (warp == 0) ptx::tcgen05_alloc<PAIR>(ptx::smem_address(&smem.tmem_address), N);  // the same columns in both CTAs
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  ptx::barrier_cluster_arrive(), ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs and the loads after the barrier
  const uint32_t tmem = smem.tmem_address;

  const uint64_t a_desc =
      mma::SmemDescriptorSm100{.start_address = a_tile, .stride_byte_offset = SBO, .swizzle = mma::Swizzle::B128}
          .encode();
  const uint64_t b_desc =
      mma::SmemDescriptorSm100{.start_address = b_tile, .stride_byte_offset = SBO, .swizzle = mma::Swizzle::B128}
          .encode();
  constexpr mma::InstructionDescriptor instruction{.m = M, .n = N};  // of the pair: 256 rows
  uint32_t phase = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    if (thread == 0) {
      ptx::mbarrier_wait(smem_empty, phase ^ 1);  // the MMAs before have read this CTA's operands
      ptx::mbarrier_arrive_expect_tx(smem_full, sizeof smem.a + sizeof smem.b);
      ptx::cp_async_bulk_tensor_2d_g2s(a_tile, &map_a, k, rank * OWN_M, smem_full);
      ptx::cp_async_bulk_tensor_2d_g2s(b_tile, &map_b, k, rank * OWN_N, smem_full);
      ptx::mbarrier_wait(smem_full, phase);  // this CTA's operands have come
    }
    __syncwarp();
    ptx::barrier_cluster_arrive(), ptx::barrier_cluster_wait();  // so have the peer's, which the MMAs read too
    if (rank == 0 && thread == 0) {                              // one thread for both CTAs
      ptx::tcgen05_fence_after_thread_sync();                    // orders the MMAs after the barrier
      for (int kk = 0; kk < BLOCK_K; kk += MMA_K) {
        ptx::tcgen05_mma_f16<PAIR>(tmem, mma::advance(a_desc, kk * 2), mma::advance(b_desc, kk * 2),
                                   instruction.encode(), k > 0 || kk > 0);
      }
      ptx::tcgen05_commit_multicast<PAIR>(smem_empty, 0b11);  // when they are done: an arrival in each CTA
    }
    phase ^= 1;
  }
  ptx::mbarrier_wait(smem_empty, phase ^ 1);  // the last MMAs are done: D is complete
  ptx::tcgen05_fence_after_thread_sync();     // orders the loads after the MMAs
  __syncwarp();
  for (int column = 0; column < N; column += 8) {
    float values[8];
    ptx::tcgen05_ld_32x32b(tmem + ((warp * 32) << 16) + column, values);
    ptx::tcgen05_wait_ld(values);
    for (int i = 0; i < 8; ++i) d[(rank * OWN_M + thread) * N + column + i] = values[i];  // all columns of its own rows
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's loads before the barrier
  ptx::barrier_cluster_arrive(), ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after the loads of both CTAs
  if (warp == 0) ptx::tcgen05_dealloc<PAIR>(tmem, N);
}

int main() {
  cudaDeviceProp gpu;
  if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 10 || gpu.minor != 0) {
    return std::puts("A B200 or GB200 is needed, or: scripts/sim.sh build/bin/warm_up_pair_sm100"), 77;
  }
  __nv_bfloat16 *a, *b;
  float* d;
  cudaMallocManaged(&a, M * K * 2), cudaMallocManaged(&b, N * K * 2), cudaMallocManaged(&d, M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < N * K; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  CUtensorMap map_a, map_b;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, a, M, K, K, OWN_M, BLOCK_K, mma::Swizzle::B128);
  if (status == cudaSuccess) {
    status = mma::encode_tensor_map_2d(&map_b, b, N, K, K, OWN_N, BLOCK_K, mma::Swizzle::B128);
  }
  if (status == cudaSuccess) multiply<<<PAIR, OWN_M>>>(map_a, map_b, d), status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return std::printf("it failed: %s\n", cudaGetErrorString(status)), 3;
  int wrong[PAIR] = {};  // in each CTA's half of D
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    for (int j = 0; j < K; ++j) sum += float(a[i / N * K + j]) * float(b[i % N * K + j]);
    wrong[i / N / OWN_M] += d[i] != sum;
  }
  for (int cta = 0; cta < PAIR; ++cta) {
    std::printf("CTA %d: rows %d to %d of A and %d to %d of B loaded, rows %d to %d of D stored, %d elements wrong\n",
                cta, cta * OWN_M, cta * OWN_M + OWN_M - 1, cta * OWN_N, cta * OWN_N + OWN_N - 1, cta * OWN_M,
                cta * OWN_M + OWN_M - 1, wrong[cta]);
  }
  const int all = wrong[0] + wrong[1];
  return std::printf("%s: %d of %d elements of D differ\n", all ? "wrong" : "right", all, M * N), all != 0;
}
