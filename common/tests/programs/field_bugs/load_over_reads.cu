// deepseek-ai/DeepEP PR 642, NVIDIA/TransformerEngine PR 2695: a buffer is read by ordinary loads and then filled by
// the next TMA load, with a barrier and without the proxy fence.
#include "field_bug.cuh"

constexpr int COUNT = 128, TILES = 4;

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
    wait(at(&full), i % 2);
    out[i * COUNT + threadIdx.x] = tile[COUNT - 1 - threadIdx.x];
    if (GOOD) fence_async();  // the read comes before what the async proxy writes next
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(TILES * COUNT, 0, 1), out(TILES * COUNT);
  kernel_of<<<1, COUNT>>>(data, out);
  return verdict(out, [](int i) { return i / COUNT * COUNT + COUNT - 1 - i % COUNT; });
}
