// Warm-up 2, Blackwell: D[128,32] = A[128,64] * B[32,64]^T, 16 elements of K at a time, all in the same place.
//
// As one_mma_sm100.cu, but TMA brings the operands, and two barriers, phase after phase, tell what is complete.
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

constexpr int M = 128, N = 32, K = 64, BLOCK_K = 16;
constexpr uint32_t SBO = 8 * 16;                              // core matrices of 8 rows x 16 bytes, as before
constexpr uint32_t LBO_A = M / 8 * SBO, LBO_B = N / 8 * SBO;  // a column of them, as TMA writes it: one box

__global__ void __launch_bounds__(M)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* d) {
  __shared__ __align__(128) uint8_t smem_a[M * BLOCK_K * 2], smem_b[N * BLOCK_K * 2];
  __shared__ uint64_t smem_full, mma_done;
  __shared__ uint32_t tmem_address;
  const int thread = threadIdx.x, warp = threadIdx.x / 32;
  const uint32_t full = ptx::smem_address(&smem_full), done = ptx::smem_address(&mma_done);
  const uint32_t a_tile = ptx::smem_address(smem_a), b_tile = ptx::smem_address(smem_b);

  if (warp == 0) ptx::tcgen05_alloc<1>(ptx::smem_address(&tmem_address), N);
  if (thread == 0) {
    ptx::mbarrier_init(full, 1), ptx::mbarrier_init(done, 1);  // one arrival per phase, and the bytes it announces
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the tensor core use the barriers
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs and the loads after the barrier
  const uint32_t tmem = tmem_address;

  if (thread == 0) {
    const uint64_t a_desc = mma::SmemDescriptorSm100{a_tile, LBO_A, SBO, mma::Swizzle::None}.encode();
    const uint64_t b_desc = mma::SmemDescriptorSm100{b_tile, LBO_B, SBO, mma::Swizzle::None}.encode();
    constexpr mma::InstructionDescriptor instruction{.m = M, .n = N};
    uint32_t phase = 0;  // parity of the phase that both barriers are in
    for (int k = 0; k < K; k += BLOCK_K) {
      ptx::mbarrier_arrive_expect_tx(full, sizeof smem_a + sizeof smem_b);  // the arrival, and what is to come
      for (int column = 0; column < 2; ++column) {                          // a box is 8 elements wide: 16 bytes
        ptx::cp_async_bulk_tensor_2d_g2s(a_tile + column * LBO_A, &map_a, k + column * 8, 0, full);
        ptx::cp_async_bulk_tensor_2d_g2s(b_tile + column * LBO_B, &map_b, k + column * 8, 0, full);
      }
      ptx::mbarrier_wait(full, phase);         // all bytes have come. No proxy fence: TMA wrote them, no thread did
      ptx::tcgen05_fence_after_thread_sync();  // orders the MMA after the wait
      ptx::tcgen05_mma_f16<1>(tmem, a_desc, b_desc, instruction.encode(), k > 0);  // from the second on: D += ...
      ptx::tcgen05_commit<1>(done);
      ptx::mbarrier_wait(done, phase);  // the MMA has read the operands: the next load may overwrite them
      printf("k = %2d to %2d: loaded and multiplied; each barrier completed a phase of parity %u\n", k, k + 15, phase);
      phase ^= 1;
    }
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the MMAs, all of which are done, before the barrier
  __syncthreads();                          // thread 0 has seen the last phase
  ptx::tcgen05_fence_after_thread_sync();   // orders all threads' loads after it
  for (int column = 0; column < N; column += 8) {
    float values[8];
    ptx::tcgen05_ld_32x32b(tmem + ((warp * 32) << 16) + column, values);
    ptx::tcgen05_wait_ld(values);
    for (int i = 0; i < 8; ++i) d[thread * N + column + i] = values[i];
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's loads before the barrier
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after all threads' loads
  if (warp == 0) ptx::tcgen05_dealloc<1>(tmem, N);
}

int main() {
  cudaDeviceProp gpu;
  if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 10 || gpu.minor != 0) {
    return std::puts("A B200 or GB200 is needed, or: scripts/sim.sh build/bin/warm_up_tma_load_sm100"), 77;
  }
  __nv_bfloat16 *a, *b;
  float* d;
  cudaMallocManaged(&a, M * K * 2), cudaMallocManaged(&b, N * K * 2), cudaMallocManaged(&d, M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < N * K; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  CUtensorMap map_a, map_b;  // a matrix of M rows, K columns, pitch K; boxes of M rows, 8 columns
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, a, M, K, K, M, 8, mma::Swizzle::None);
  if (status == cudaSuccess) status = mma::encode_tensor_map_2d(&map_b, b, N, K, K, N, 8, mma::Swizzle::None);
  if (status == cudaSuccess) multiply<<<1, M>>>(map_a, map_b, d), status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return std::printf("it failed: %s\n", cudaGetErrorString(status)), 3;
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(a[i / N * K + k]) * float(b[i % N * K + k]);
    wrong += d[i] != sum;
  }
  return std::printf("%s: %d of %d elements of D differ\n", wrong ? "wrong" : "right", wrong, M * N), wrong != 0;
}
