// tile-ai/tilelang PR 3087: the parity is that of a ring of three stages, but the mbarrier is a single one and its
// phase ends in every iteration. A wait for a phase that is long over returns at once.
#include "field_bug.cuh"

constexpr int COUNT = 128, TILES = 6, STAGES = 3;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(128) float tile[COUNT];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
  }
  __syncthreads();
  for (int i = 0; i < TILES; ++i) {
    if (threadIdx.x == 0) {
      arrive_expect(at(&full), sizeof tile);
      bulk_load(at(tile), data + i * COUNT, sizeof tile, at(&full));
    }
    wait(at(&full), GOOD ? i % 2 : i / STAGES % 2);
    out[i * COUNT + threadIdx.x] = tile[threadIdx.x];
    fence_async();
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(TILES * COUNT, 0, 1), out(TILES * COUNT);
  kernel_of<<<1, COUNT>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
