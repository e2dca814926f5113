// ORNL/HeCBench issue 254: one thread writes a total to shared memory, and all threads read it, without a barrier.
#include "field_bug.cuh"

constexpr int THREADS = 128;

template <bool GOOD>
__global__ void kernel(const int* data, int* out) {
  __shared__ int total;
  if (threadIdx.x == THREADS - 1) {
    int sum = 0;
    for (int i = 0; i < THREADS; ++i) sum += data[i];
    total = sum;
  }
  if (GOOD) __syncthreads();
  out[threadIdx.x] = total;
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> data(THREADS, 1), out(THREADS);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int) { return THREADS; });
}
