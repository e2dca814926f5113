// MoonshotAI/FlashKDA issue 24: shared memory is written by ordinary stores and read by a TMA store, with a barrier and
// without the proxy fence.
#include "field_bug.cuh"

constexpr int COUNT = 256;

template <bool GOOD>
__global__ void kernel(float* out) {
  __shared__ alignas(128) float tile[COUNT];
  tile[threadIdx.x] = threadIdx.x;
  if (GOOD) fence_async();  // by each writer, before the barrier
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, at(tile), sizeof tile);
    bulk_commit();
    bulk_wait();
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> out(COUNT);
  kernel_of<<<1, COUNT>>>(out);
  return verdict(out, [](int i) { return i; });
}
