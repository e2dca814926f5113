// triton-lang/triton PR 10409: an mbarrier is invalidated, and its memory used again, while an operation that will
// report to it is on its way. The thread that invalidates has not waited for it.
#include "field_bug.cuh"

constexpr int COUNT = 256, THREADS = 64;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(128) float tile[COUNT];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
    arrive_expect(at(&full), sizeof tile);
    bulk_load(at(tile), data, sizeof tile, at(&full));
  }
  __syncthreads();
  if (threadIdx.x < 32) {  // the second warp has nothing to do with the tile
    wait(at(&full), 0);
    for (int i = threadIdx.x; i < COUNT; i += 32) out[i] = tile[i];
  }
  if (GOOD) __syncthreads();
  if (threadIdx.x == 32) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(&full)) : "memory");
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(COUNT, 0, 1), out(COUNT);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
