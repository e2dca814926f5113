// NVIDIA/cccl PR 10627 (cub::DeviceTopK): thread 0 counts its block as done while other threads of the block have still
// to add to the histogram.
#include "field_bug.cuh"

constexpr int THREADS = 128, BLOCKS = 3;

template <bool GOOD>
__global__ void kernel(int* histogram, int* done, int* out) {
  __shared__ bool is_last;
  atomicAdd(&histogram[threadIdx.x % 8], 1);
  if (GOOD) __syncthreads();
  __threadfence();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(done, 1) == BLOCKS - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last && threadIdx.x < 8) out[threadIdx.x] = histogram[threadIdx.x];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> histogram(8, 0), done(1, 0), out(8);
  kernel_of<<<BLOCKS, THREADS>>>(histogram, done, out);
  return verdict(out, [](int) { return BLOCKS * THREADS / 8; });
}
