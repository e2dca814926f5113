// How many blocks of a kernel an SM holds, against the rules that NVIDIA publishes as a header (cuda_occupancy.h):
// kernels that need few and many registers, with shared memory of every size. And that a block whose registers an SM
// does not have is refused.
#include <cuda_occupancy.h>
#include <cuda_runtime.h>

#include <cstdio>

/// Holds COUNT values at a time.
template <int COUNT>
__global__ void hold(float* data) {
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = data[i * 1024 + threadIdx.x];
  __syncthreads();
  for (int i = 0; i < COUNT; ++i) data[i * 1024 + threadIdx.x + 5] = values[COUNT - 1 - i] * values[i];
}

int compared = 0, wrong = 0;

void compare(void (*kernel)(float*), const cudaDeviceProp& device) {
  const cudaOccDeviceProp properties(device);
  const cudaOccDeviceState state;
  cudaFuncAttributes attributes{};
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 200'000);
  cudaFuncGetAttributes(&attributes, kernel);
  const cudaOccFuncAttributes needs(attributes);
  for (int threads = 32; threads <= attributes.maxThreadsPerBlock; threads += 32) {
    for (const size_t smem : {0, 1'000, 20'000, 50'000, 99'000, 200'000}) {
      cudaOccResult want;
      int blocks = -1;
      cudaOccMaxActiveBlocksPerMultiprocessor(&want, &properties, &needs, &state, threads, smem);
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, smem);
      ++compared;
      if (blocks == want.activeBlocksPerMultiprocessor) continue;
      ++wrong;
      std::printf("%d registers, %d threads, %zu bytes: %d blocks, not %d\n", attributes.numRegs, threads, smem, blocks,
                  want.activeBlocksPerMultiprocessor);
    }
  }
  // One warp more than it says is too many.
  if (attributes.maxThreadsPerBlock == 1024) return;
  kernel<<<1, attributes.maxThreadsPerBlock + 32>>>(nullptr);
  if (cudaGetLastError() != cudaErrorLaunchOutOfResources) ++wrong, std::printf("a block that is too large ran\n");
}

int main() {
  cudaDeviceProp device{};
  cudaGetDeviceProperties(&device, 0);
  for (auto* const kernel : {hold<4>, hold<40>, hold<90>, hold<120>, hold<200>}) compare(kernel, device);
  cudaFuncAttributes large{};
  cudaFuncGetAttributes(&large, hold<120>);
  std::printf("%d registers, %d cases %s\n", large.numRegs, compared, wrong == 0 ? "PASSED" : "FAILED");
}
