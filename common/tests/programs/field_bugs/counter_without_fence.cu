// NVIDIA/Fuser PR 2391: blocks write partial sums, and thread 0 then counts its block, without a fence between. The
// last block reads what the others wrote. A fence of thread 0 behind the barrier covers the writes of the whole block.
#include "field_bug.cuh"

constexpr int THREADS = 64, BLOCKS = 3;

template <bool GOOD>
__global__ void kernel(float* partial, int* counter, float* out) {
  __shared__ bool is_last;
  partial[blockIdx.x * THREADS + threadIdx.x] = blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (GOOD) __threadfence();
    is_last = atomicAdd(counter, 1) == BLOCKS - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  float sum = 0;
  for (int block = 0; block < BLOCKS; ++block) sum += partial[block * THREADS + threadIdx.x];
  out[threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> partial(BLOCKS * THREADS), out(THREADS);
  Buffer<int> counter(1, 0);
  kernel_of<<<BLOCKS, THREADS>>>(partial, counter, out);
  return verdict(out, [](int) { return 6; });
}
