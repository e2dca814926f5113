// Warm-up 4, Hopper: D[128,64] = A[128,256] * B[64,256]^T by two warpgroups, each with the half of the rows.
//
// As k_loop_sm90.cu, but both warpgroups multiply the same B, each by rows of A of its own, and neither waits for the
// other.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

constexpr int PAIR = 2, M = 128, N = 64, K = 256, BLOCK_K = 64, MMA_K = 16, THREADS = PAIR * 128;
constexpr int OWN_M = M / PAIR;  // rows of A, and of D, of a warpgroup
constexpr uint32_t SBO = 8 * 128;

__global__ void __launch_bounds__(THREADS)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* d) {
  __shared__ __align__(1024) uint8_t smem_a[M * BLOCK_K * 2], smem_b[N * BLOCK_K * 2];
  __shared__ uint64_t full_barrier, empty_barrier;
  const int thread = threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = threadIdx.x / 128;
  const uint32_t smem_full = ptx::smem_address(&full_barrier), smem_empty = ptx::smem_address(&empty_barrier);
  const uint32_t a_tile = ptx::smem_address(smem_a), b_tile = ptx::smem_address(smem_b);

  if (thread == 0) {
    ptx::mbarrier_init(smem_full, 1);
    ptx::mbarrier_init(smem_empty, THREADS / 32);  // an arrival of each warp of both warpgroups
    ptx::fence_mbarrier_init();                    // orders the inits before TMA uses the barriers
  }
  __syncthreads();  // the barriers exist before any thread waits at them

  const uint64_t a_desc = mma::SmemDescriptorSm90{.start_address = a_tile + group * OWN_M * BLOCK_K * 2,
                                                  .stride_byte_offset = SBO,
                                                  .swizzle = mma::Swizzle::B128}
                              .encode();  // its own rows: 64 rows of 128 bytes further on
  const uint64_t b_desc =
      mma::SmemDescriptorSm90{.start_address = b_tile, .stride_byte_offset = SBO, .swizzle = mma::Swizzle::B128}
          .encode();
  float accumulators[N / 2];
  uint32_t phase = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    if (thread == 0) {
      ptx::mbarrier_wait(smem_empty, phase ^ 1);  // all warps have read the operands before; the first wait passes
      ptx::mbarrier_arrive_expect_tx(smem_full, sizeof smem_a + sizeof smem_b);
      ptx::cp_async_bulk_tensor_2d_g2s(a_tile, &map_a, k, 0, smem_full);
      ptx::cp_async_bulk_tensor_2d_g2s(b_tile, &map_b, k, 0, smem_full);
    }
    ptx::mbarrier_wait(smem_full, phase);  // all bytes have come
    __syncwarp();                          // wgmma requires a converged warp
    ptx::wgmma_fence();                    // orders earlier uses of the accumulators before the MMAs
#pragma unroll
    for (int kk = 0; kk < BLOCK_K; kk += MMA_K) {
      ptx::wgmma_m64n64k16_bf16(accumulators, mma::advance(a_desc, kk * 2), mma::advance(b_desc, kk * 2),
                                k > 0 || kk > 0);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>(accumulators);           // this warp's part of the MMAs has read the operands
    if (lane == 0) ptx::mbarrier_arrive(smem_empty);  // it goes on at once; thread 0 waits for all warps
    phase ^= 1;
  }

#pragma unroll                       // registers have no run-time index: the loop must be unrolled
  for (int i = 0; i < N / 2; ++i) {  // warps 4 to 7 are the second warpgroup, whose rows begin at 64
    d[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = accumulators[i];
  }
}

int main() {
  cudaDeviceProp gpu;
  if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 9) {
    return std::puts("An H100, H200 or GH200 is needed, or: scripts/sim.sh build/bin/warm_up_pair_sm90"), 77;
  }
  __nv_bfloat16 *a, *b;
  float* d;
  cudaMallocManaged(&a, M * K * 2), cudaMallocManaged(&b, N * K * 2), cudaMallocManaged(&d, M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < N * K; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  CUtensorMap map_a, map_b;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, a, M, K, K, M, BLOCK_K, mma::Swizzle::B128);
  if (status == cudaSuccess) status = mma::encode_tensor_map_2d(&map_b, b, N, K, K, N, BLOCK_K, mma::Swizzle::B128);
  if (status == cudaSuccess) multiply<<<1, THREADS>>>(map_a, map_b, d), status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return std::printf("it failed: %s\n", cudaGetErrorString(status)), 3;
  int wrong[PAIR] = {};  // in each warpgroup's half of D
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    for (int j = 0; j < K; ++j) sum += float(a[i / N * K + j]) * float(b[i % N * K + j]);
    wrong[i / N / OWN_M] += d[i] != sum;
  }
  for (int group = 0; group < PAIR; ++group) {
    std::printf("warpgroup %d: rows %d to %d of A and of D, all rows of B, %d elements wrong\n", group, group * OWN_M,
                group * OWN_M + OWN_M - 1, wrong[group]);
  }
  const int all = wrong[0] + wrong[1];
  return std::printf("%s: %d of %d elements of D differ\n", all ? "wrong" : "right", all, M * N), all != 0;
}
