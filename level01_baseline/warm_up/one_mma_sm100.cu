// Warm-up 1, Blackwell: D[128,32] = A[128,16] * B[32,16]^T, which is one tcgen05.mma of one CTA.
//
// Ordinary stores put the operands into shared memory, without swizzle. The accumulator lies in tensor memory (TMEM).
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"

constexpr int M = 128, N = 32, K = 16;

// Where the tensor core looks for an element, in bytes from the tile's start: core matrices of 8 rows x 16 bytes.
constexpr uint32_t SBO = 8 * 16;                                                 // from 8 rows to the next 8
__host__ __device__ constexpr uint32_t lbo(int rows) { return rows / 8 * SBO; }  // from k = 0..7 to k = 8..15
__host__ __device__ constexpr uint32_t place(int row, int k, int rows) {
  return row / 8 * SBO + k / 8 * lbo(rows) + row % 8 * 16 + k % 8 * 2;
}

__global__ void __launch_bounds__(M) one_mma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
  __shared__ __align__(128) uint8_t smem_a[M * K * 2], smem_b[N * K * 2];
  __shared__ uint64_t mma_done;
  __shared__ uint32_t tmem_address;
  const int thread = threadIdx.x, warp = threadIdx.x / 32;
  const uint32_t done = ptx::smem_address(&mma_done);

  // Set up: tensor memory for the accumulator, and a barrier that tells when the MMA is done.
  if (warp == 0) ptx::tcgen05_alloc<1>(ptx::smem_address(&tmem_address), N);  // N columns, all 128 lanes
  if (thread == 0) {
    ptx::mbarrier_init(done, 1);  // one arrival completes a phase: the tensor core's
    ptx::fence_mbarrier_init();   // orders the init before that arrival
  }
  // The operands, element by element.
  for (int i = thread; i < M * K; i += M) *reinterpret_cast<__nv_bfloat16*>(smem_a + place(i / K, i % K, M)) = a[i];
  for (int i = thread; i < N * K; i += M) *reinterpret_cast<__nv_bfloat16*>(smem_b + place(i / K, i % K, N)) = b[i];
  ptx::fence_proxy_async_shared();          // orders this thread's stores before the tensor core's reads
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  __syncthreads();                          // the operands are complete, and TMEM's address is visible to all
  ptx::tcgen05_fence_after_thread_sync();   // orders the MMA and the loads after the barrier
  const uint32_t tmem = tmem_address;

  // One thread issues the MMA for the whole CTA; it runs by itself.
  if (thread == 0) {
    mma::SmemDescriptorSm100 a_desc{ptx::smem_address(smem_a), lbo(M), SBO, mma::Swizzle::None};
    mma::SmemDescriptorSm100 b_desc{ptx::smem_address(smem_b), lbo(N), SBO, mma::Swizzle::None};
    constexpr mma::InstructionDescriptor instruction{.m = M, .n = N};  // BF16 x BF16, summed in FP32
    ptx::tcgen05_mma_f16<1>(tmem, a_desc.encode(), b_desc.encode(), instruction.encode(), false);  // do not add to D
    ptx::tcgen05_commit<1>(done);  // "when it is done, arrive there"
    printf("descriptors: A %016lx, B %016lx, instruction %08x\n", a_desc.encode(), b_desc.encode(),
           instruction.encode());
  }
  ptx::mbarrier_wait(done, 0);             // phase 0, the barrier's first, is complete
  ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMA
  __syncwarp();                            // tcgen05.ld requires a converged warp

  // TMEM lane = row of D, TMEM column = column of D. Warp w reaches lanes 32w to 32w + 31: one row per thread.
  for (int column = 0; column < N; column += 8) {
    float values[8];
    ptx::tcgen05_ld_32x32b(tmem + ((warp * 32) << 16) + column, values);  // an address: lane in the upper half, column
    ptx::tcgen05_wait_ld(values);                                         // undefined before
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
    return std::puts("A B200 or GB200 is needed, or: scripts/sim.sh build/bin/warm_up_one_mma_sm100"), 77;
  }
  __nv_bfloat16 *a, *b;
  float* d;
  cudaMallocManaged(&a, M * K * 2), cudaMallocManaged(&b, N * K * 2), cudaMallocManaged(&d, M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = __float2bfloat16(i * 7 % 11 - 5);  // small integers: every sum is exact
  for (int i = 0; i < N * K; ++i) b[i] = __float2bfloat16(i * 5 % 13 - 6);
  std::printf("A in shared memory: (row 0, k 0) at byte %u, (0, 1) at %u, (1, 0) at %u, (8, 0) at %u, (0, 8) at %u\n",
              place(0, 0, M), place(0, 1, M), place(1, 0, M), place(8, 0, M), place(0, 8, M));
  one_mma<<<1, M>>>(a, b, d);
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
    return std::printf("the kernel failed: %s\n", cudaGetErrorString(status)), 3;
  }
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(a[i / N * K + k]) * float(b[i % N * K + k]);
    wrong += d[i] != sum;
  }
  std::printf("row 37 of D, which thread 37 read from TMEM lane 37, begins with %g %g\n", d[37 * N], d[37 * N + 1]);
  return std::printf("%s: %d of %d elements of D differ\n", wrong ? "wrong" : "right", wrong, M * N), wrong != 0;
}
