// Warm-up 1, Hopper: D[64,32] = A[64,16] * B[32,16]^T, which is one wgmma of one warpgroup, 128 threads.
//
// Ordinary stores put the operands into shared memory, without swizzle. The accumulator lies in the threads' registers.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "common/mma/smem_descriptor.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/wgmma.cuh"

constexpr int M = 64, N = 32, K = 16;
constexpr int THREADS = 128;

// Where the tensor core looks for an element, in bytes from the tile's start: core matrices of 8 rows x 16 bytes.
constexpr uint32_t SBO = 8 * 16;                                                 // from 8 rows to the next 8
__host__ __device__ constexpr uint32_t lbo(int rows) { return rows / 8 * SBO; }  // from k = 0..7 to k = 8..15
__host__ __device__ constexpr uint32_t place(int row, int k, int rows) {
  return row / 8 * SBO + k / 8 * lbo(rows) + row % 8 * 16 + k % 8 * 2;
}
// Which element of D does a thread find in its register i? The fragment's layout.
__host__ __device__ constexpr int row_of(int thread, int i) {
  return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
}
__host__ __device__ constexpr int column_of(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

__global__ void __launch_bounds__(THREADS)
    one_mma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d, uint64_t* descriptors) {
  __shared__ __align__(128) uint8_t smem_a[M * K * 2], smem_b[N * K * 2];
  const int thread = threadIdx.x;

  // The operands, element by element.
  for (int i = thread; i < M * K; i += THREADS) {
    *reinterpret_cast<__nv_bfloat16*>(smem_a + place(i / K, i % K, M)) = a[i];
  }
  for (int i = thread; i < N * K; i += THREADS) {
    *reinterpret_cast<__nv_bfloat16*>(smem_b + place(i / K, i % K, N)) = b[i];
  }
  ptx::fence_proxy_async_shared();  // orders this thread's stores before the tensor core's reads
  __syncthreads();                  // the operands are complete

  // All 128 threads execute the MMA together. It runs by itself, and `accumulators` belongs to it until the wait.
  mma::SmemDescriptorSm90 a_desc{ptx::smem_address(smem_a), lbo(M), SBO, mma::Swizzle::None};
  mma::SmemDescriptorSm90 b_desc{ptx::smem_address(smem_b), lbo(N), SBO, mma::Swizzle::None};
  float accumulators[N / 2];  // 64 x 32 elements of D, 16 in each thread
  ptx::wgmma_fence();         // orders earlier uses of these registers before the MMA
  ptx::wgmma_m64n32k16_bf16(accumulators, a_desc.encode(), b_desc.encode(), false);  // do not add to D
  ptx::wgmma_commit_group();                                                         // closes a group, of one MMA
  ptx::wgmma_wait_group<0>(accumulators);                                            // no group is running any more
  if (thread == 0) descriptors[0] = a_desc.encode(), descriptors[1] = b_desc.encode();

#pragma unroll  // registers have no run-time index: the loop must be unrolled
  for (int i = 0; i < N / 2; ++i) d[row_of(thread, i) * N + column_of(thread, i)] = accumulators[i];
}

int main() {
  cudaDeviceProp gpu;
  if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 9) {
    return std::puts("An H100, H200 or GH200 is needed, or: scripts/sim.sh build/bin/warm_up_one_mma_sm90"), 77;
  }
  __nv_bfloat16 *a, *b;
  float* d;
  uint64_t* descriptors;
  cudaMallocManaged(&a, M * K * 2), cudaMallocManaged(&b, N * K * 2), cudaMallocManaged(&d, M * N * 4);
  cudaMallocManaged(&descriptors, 16);
  for (int i = 0; i < M * K; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < N * K; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  std::printf("A in shared memory: (row 0, k 0) at byte %u, (0, 1) at %u, (1, 0) at %u, (8, 0) at %u, (0, 8) at %u\n",
              place(0, 0, M), place(0, 1, M), place(1, 0, M), place(8, 0, M), place(0, 8, M));
  one_mma<<<1, THREADS>>>(a, b, d, descriptors);
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
    return std::printf("the kernel failed: %s\n", cudaGetErrorString(status)), 3;
  }
  std::printf("descriptors: A %016lx, B %016lx\n", descriptors[0], descriptors[1]);
  for (int i = 0; i < 8; ++i) {
    const int row = row_of(37, i), column = column_of(37, i);
    std::printf("thread 37, register %d: D[%d][%d] = %g\n", i, row, column, d[row * N + column]);
  }
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(a[i / N * K + k]) * float(b[i % N * K + k]);
    wrong += d[i] != sum;
  }
  return std::printf("%s: %d of %d elements of D differ\n", wrong ? "wrong" : "right", wrong, M * N), wrong != 0;
}
