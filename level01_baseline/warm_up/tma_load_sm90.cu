// Warm-up 2, Hopper: D[64,32] = A[64,64] * B[32,64]^T, 16 elements of K at a time, all in the same place.
//
// As one_mma_sm90.cu, but TMA brings the operands, and a barrier, phase after phase, tells when they are complete.
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

constexpr int M = 64, N = 32, K = 64, BLOCK_K = 16;
constexpr int THREADS = 128;
constexpr uint32_t SBO = 8 * 16;                              // core matrices of 8 rows x 16 bytes, as before
constexpr uint32_t LBO_A = M / 8 * SBO, LBO_B = N / 8 * SBO;  // a column of them, as TMA writes it: one box

__global__ void __launch_bounds__(THREADS)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* d,
             uint32_t* parities) {
  __shared__ __align__(128) uint8_t smem_a[M * BLOCK_K * 2], smem_b[N * BLOCK_K * 2];
  __shared__ uint64_t smem_full;
  const int thread = threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t full = ptx::smem_address(&smem_full);
  const uint32_t a_tile = ptx::smem_address(smem_a), b_tile = ptx::smem_address(smem_b);

  if (thread == 0) {
    ptx::mbarrier_init(full, 1);  // one arrival per phase, and the bytes it announces
    ptx::fence_mbarrier_init();   // orders the init before TMA uses the barrier
  }
  __syncthreads();  // the barrier exists before any thread waits at it

  const uint64_t a_desc = mma::SmemDescriptorSm90{a_tile, LBO_A, SBO, mma::Swizzle::None}.encode();
  const uint64_t b_desc = mma::SmemDescriptorSm90{b_tile, LBO_B, SBO, mma::Swizzle::None}.encode();
  float accumulators[N / 2];
  uint32_t phase = 0;  // parity of the phase that the barrier is in
  for (int k = 0; k < K; k += BLOCK_K) {
    if (thread == 0) {
      ptx::mbarrier_arrive_expect_tx(full, sizeof smem_a + sizeof smem_b);  // the arrival, and what is to come
      for (int column = 0; column < 2; ++column) {                          // a box is 8 elements wide: 16 bytes
        ptx::cp_async_bulk_tensor_2d_g2s(a_tile + column * LBO_A, &map_a, k + column * 8, 0, full);
        ptx::cp_async_bulk_tensor_2d_g2s(b_tile + column * LBO_B, &map_b, k + column * 8, 0, full);
      }
    }
    ptx::mbarrier_wait(full, phase);  // all bytes have come. No proxy fence: TMA wrote them, no thread did
    __syncwarp();                     // wgmma requires a converged warp
    ptx::wgmma_fence();               // orders earlier uses of the accumulators before the MMA
    ptx::wgmma_m64n32k16_bf16(accumulators, a_desc, b_desc, k > 0);  // from the second on: D += ...
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>(accumulators);  // this warp's part of the MMA has read the operands;
    __syncthreads();                         // so have all others: the next load may overwrite them
    if (thread == 0) parities[k / BLOCK_K] = phase;
    phase ^= 1;
  }

#pragma unroll  // registers have no run-time index: the loop must be unrolled
  for (int i = 0; i < N / 2; ++i) {
    d[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = accumulators[i];
  }
}

int main() {
  cudaDeviceProp gpu;
  if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 9) {
    return std::puts("An H100, H200 or GH200 is needed, or: scripts/sim.sh build/bin/warm_up_tma_load_sm90"), 77;
  }
  __nv_bfloat16 *a, *b;
  float* d;
  uint32_t* parities;
  cudaMallocManaged(&a, M * K * 2), cudaMallocManaged(&b, N * K * 2), cudaMallocManaged(&d, M * N * 4);
  cudaMallocManaged(&parities, K / BLOCK_K * 4);
  for (int i = 0; i < M * K; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < N * K; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  CUtensorMap map_a, map_b;  // a matrix of M rows, K columns, pitch K; boxes of M rows, 8 columns
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, a, M, K, K, M, 8, mma::Swizzle::None);
  if (status == cudaSuccess) status = mma::encode_tensor_map_2d(&map_b, b, N, K, K, N, 8, mma::Swizzle::None);
  if (status == cudaSuccess) multiply<<<1, THREADS>>>(map_a, map_b, d, parities), status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return std::printf("it failed: %s\n", cudaGetErrorString(status)), 3;
  for (int k = 0; k < K; k += BLOCK_K) {
    std::printf("k = %2d to %2d: loaded and multiplied; the barrier completed a phase of parity %u\n", k, k + 15,
                parities[k / BLOCK_K]);
  }
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(a[i / N * K + k]) * float(b[i % N * K + k]);
    wrong += d[i] != sum;
  }
  return std::printf("%s: %d of %d elements of D differ\n", wrong ? "wrong" : "right", wrong, M * N), wrong != 0;
}
