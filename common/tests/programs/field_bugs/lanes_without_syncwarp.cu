// JustVugg/colibri issue 1099: the lanes of a warp write a tile in shared memory and read one another's elements,
// without __syncwarp between.
#include "field_bug.cuh"

template <bool GOOD>
__global__ void kernel(int* out) {
  __shared__ int tile[32];
  tile[threadIdx.x] = 3 * threadIdx.x;
  if (GOOD) __syncwarp();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> out(32);
  kernel_of<<<1, 32>>>(out);
  return verdict(out, [](int i) { return 3 * (31 - i); });
}
