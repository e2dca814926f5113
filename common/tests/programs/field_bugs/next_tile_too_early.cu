// ORNL/HeCBench issue 253: a loop fills a tile, waits at a barrier and reads the tile. Nothing keeps a fast warp from
// filling the next tile while a slow one still reads.
#include "field_bug.cuh"

constexpr int THREADS = 128, TILES = 4;

template <bool GOOD>
__global__ void kernel(const int* data, int* out) {
  __shared__ int tile[THREADS];
  int sum = 0;
  for (int i = 0; i < TILES; ++i) {
    tile[threadIdx.x] = data[i * THREADS + threadIdx.x];
    __syncthreads();
    sum += tile[THREADS - 1 - threadIdx.x];
    if (GOOD) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> data(TILES * THREADS, 0, 1), out(THREADS);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int i) { return TILES * (THREADS - 1 - i) + 6 * THREADS; });
}
