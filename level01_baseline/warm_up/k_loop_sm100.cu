// Warm-up 3, Blackwell: D[M,N] = A[M,K] * B[N,K]^T of any size: a CTA for each tile of 128 x 64, 64 of K at a time.
//
// As tma_load_sm100.cu, but a box is a whole stage, swizzled, and what lies outside of D is not stored.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/swizzle.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 64, MMA_K = 16;
constexpr uint32_t SBO = 8 * 128;  // 64 elements of K are 128 bytes, one span of the swizzle: 8 such rows, then 8 more

__global__ void __launch_bounds__(BLOCK_M)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* d, int m,
             int n, int k) {
  __shared__ __align__(1024) uint8_t smem_a[BLOCK_M * BLOCK_K * 2], smem_b[BLOCK_N * BLOCK_K * 2];  // for the swizzle
  __shared__ uint64_t full_barrier, empty_barrier;
  __shared__ uint32_t tmem_address;
  const int thread = threadIdx.x, warp = threadIdx.x / 32;
  const int first_row = blockIdx.y * BLOCK_M, first_column = blockIdx.x * BLOCK_N;  // of this CTA's tile of D
  const int k_blocks = (k + BLOCK_K - 1) / BLOCK_K;
  const uint32_t smem_full = ptx::smem_address(&full_barrier), smem_empty = ptx::smem_address(&empty_barrier);
  const uint32_t a_tile = ptx::smem_address(smem_a), b_tile = ptx::smem_address(smem_b);

  if (warp == 0) ptx::tcgen05_alloc<1>(ptx::smem_address(&tmem_address), BLOCK_N);
  if (thread == 0) {
    ptx::mbarrier_init(smem_full, 1), ptx::mbarrier_init(smem_empty, 1);
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the tensor core use the barriers
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs and the loads after the barrier
  const uint32_t tmem = tmem_address;

  if (thread == 0) {
    const uint64_t a_desc =
        mma::SmemDescriptorSm100{.start_address = a_tile, .stride_byte_offset = SBO, .swizzle = mma::Swizzle::B128}
            .encode();
    const uint64_t b_desc =
        mma::SmemDescriptorSm100{.start_address = b_tile, .stride_byte_offset = SBO, .swizzle = mma::Swizzle::B128}
            .encode();
    constexpr mma::InstructionDescriptor instruction{.m = BLOCK_M, .n = BLOCK_N};
    uint32_t phase = 0;  // parity of the barriers' phase in this iteration
    for (int k_block = 0; k_block < k_blocks; ++k_block) {
      ptx::mbarrier_wait(smem_empty, phase ^ 1);  // the MMAs before have read the stage; the first wait passes
      ptx::mbarrier_arrive_expect_tx(smem_full, sizeof smem_a + sizeof smem_b);
      ptx::cp_async_bulk_tensor_2d_g2s(a_tile, &map_a, k_block * BLOCK_K, first_row, smem_full);
      ptx::cp_async_bulk_tensor_2d_g2s(b_tile, &map_b, k_block * BLOCK_K, first_column, smem_full);
      ptx::mbarrier_wait(smem_full, phase);          // all bytes have come
      ptx::tcgen05_fence_after_thread_sync();        // orders the MMAs after the wait
      for (int kk = 0; kk < BLOCK_K; kk += MMA_K) {  // inside the swizzle's span the start address moves on, no more
        ptx::tcgen05_mma_f16<1>(tmem, mma::advance(a_desc, kk * 2), mma::advance(b_desc, kk * 2), instruction.encode(),
                                k_block > 0 || kk > 0);
      }
      ptx::tcgen05_commit<1>(smem_empty);  // arrives when these MMAs are done
      phase ^= 1;
    }
    ptx::mbarrier_wait(smem_empty, phase ^ 1);  // the last MMAs are done: D is complete
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the MMAs before the barrier
  __syncthreads();                          // thread 0 has seen the last phase
  ptx::tcgen05_fence_after_thread_sync();   // orders all threads' loads after it
  for (int column = 0; column < BLOCK_N; column += 8) {
    float values[8];
    ptx::tcgen05_ld_32x32b(tmem + ((warp * 32) << 16) + column, values);  // by whole warps, rows outside of D included
    ptx::tcgen05_wait_ld(values);
    for (int i = 0; i < 8; ++i) {
      const int row = first_row + thread, col = first_column + column + i;
      if (row < m && col < n) d[row * n + col] = values[i];
    }
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's loads before the barrier
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after all threads' loads
  if (warp == 0) ptx::tcgen05_dealloc<1>(tmem, BLOCK_N);
}

int main(int argc, char** argv) {
  cudaDeviceProp gpu;
  if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 10 || gpu.minor != 0) {
    return std::puts("A B200 or GB200 is needed, or: scripts/sim.sh build/bin/warm_up_k_loop_sm100"), 77;
  }
  int size[] = {200, 72, 328};  // M, N, and K, a multiple of 8: a row of A begins at a multiple of 16 bytes
  for (int i = 1; i < std::min(argc, 4); ++i) size[i - 1] = std::atoi(argv[i]);
  const auto [m, n, k] = size;
  const dim3 tiles((n + BLOCK_N - 1) / BLOCK_N, (m + BLOCK_M - 1) / BLOCK_M);
  std::printf("D: %d x %d, in %u x %u tiles; K: %d, in blocks of %d\n", m, n, tiles.y, tiles.x, k, BLOCK_K);
  const auto at = [](int row, int col) { return mma::swizzle_address(mma::Swizzle::B128, row * 128 + col * 2); };
  std::printf("A in shared memory: (row 0, k 0) at byte %u, (0, 8) at %u, (1, 0) at %u, (1, 8) at %u, (8, 0) at %u\n",
              at(0, 0), at(0, 8), at(1, 0), at(1, 8), at(8, 0));
  __nv_bfloat16 *a, *b;
  float* d;
  cudaMallocManaged(&a, m * k * 2), cudaMallocManaged(&b, n * k * 2), cudaMallocManaged(&d, m * n * 4);
  for (int i = 0; i < m * k; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < n * k; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  CUtensorMap map_a, map_b;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, a, m, k, k, BLOCK_M, BLOCK_K, mma::Swizzle::B128);
  if (status == cudaSuccess) {
    status = mma::encode_tensor_map_2d(&map_b, b, n, k, k, BLOCK_N, BLOCK_K, mma::Swizzle::B128);
  }
  if (status == cudaSuccess) multiply<<<tiles, BLOCK_M>>>(map_a, map_b, d, m, n, k), status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return std::printf("it failed: %s\n", cudaGetErrorString(status)), 3;
  int wrong = 0;
  for (int i = 0; i < m * n; ++i) {
    float sum = 0;
    for (int j = 0; j < k; ++j) sum += float(a[i / n * k + j]) * float(b[i % n * k + j]);
    wrong += d[i] != sum;
  }
  return std::printf("%s: %d of %d elements of D differ\n", wrong ? "wrong" : "right", wrong, m * n), wrong != 0;
}
