// flashinfer-ai/flashinfer PR 4589 (a remark in its review): the bytes are expected after the copy was issued. That is
// allowed while the arrival is still pending, and wrong after it: the phase may complete without the bytes.
#include "field_bug.cuh"

constexpr int COUNT = 512, TILES = 4;

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
      bulk_load(at(tile), data + i * COUNT, sizeof tile, at(&full));
      if (GOOD) {
        arrive_expect(at(&full), sizeof tile);
      } else {
        arrive(at(&full));
        expect(at(&full), sizeof tile);
      }
    }
    wait(at(&full), i % 2);
    for (int j = threadIdx.x; j < COUNT; j += blockDim.x) out[i * COUNT + j] = tile[j];
    fence_async();
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(TILES * COUNT, 0, 1), out(TILES * COUNT);
  kernel_of<<<1, 128>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
