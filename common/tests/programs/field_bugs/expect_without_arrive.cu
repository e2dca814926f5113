// tile-ai/tilelang issue 2566: bytes are expected at an mbarrier, and nothing arrives there: the phase never completes.
#include "field_bug.cuh"

constexpr int COUNT = 256;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(128) float tile[COUNT];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
    expect(at(&full), sizeof tile);
    if (GOOD) arrive(at(&full));
    bulk_load(at(tile), data, sizeof tile, at(&full));
  }
  __syncthreads();
  wait(at(&full), 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(COUNT, 0, 1), out(COUNT);
  kernel_of<<<1, COUNT>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
