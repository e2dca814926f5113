// tile-ai/tilelang issue 2584: the source of a bulk copy is not at a multiple of 16 bytes.
#include "field_bug.cuh"

constexpr int COUNT = 128;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(128) float tile[COUNT];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
    arrive_expect(at(&full), sizeof tile);
    bulk_load(at(tile), data + (GOOD ? 4 : 5), sizeof tile, at(&full));
  }
  __syncthreads();
  wait(at(&full), 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(COUNT + 8, 0, 1), out(COUNT);
  kernel_of<<<1, COUNT>>>(data, out);
  return verdict(out, [](int i) { return i + 4; });
}
