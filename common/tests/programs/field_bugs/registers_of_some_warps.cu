// tile-ai/tilelang PR 2406: one warp of a warpgroup executes setmaxnreg, and its neighbours do not. The ISA leaves
// undefined what happens then.
#include "field_bug.cuh"

constexpr int COUNT = 256, THREADS = 256;

template <bool GOOD>
__global__ void __launch_bounds__(THREADS, 1) kernel(const float* data, float* out) {
  __shared__ alignas(128) float tile[COUNT];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    if (GOOD || threadIdx.x < 32) asm volatile("setmaxnreg.dec.sync.aligned.u32 48;");
    if (threadIdx.x == 0) {
      arrive_expect(at(&full), sizeof tile);
      bulk_load(at(tile), data, sizeof tile, at(&full));
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    wait(at(&full), 0);
    for (int i = threadIdx.x - 128; i < COUNT; i += 128) out[i] = tile[i];
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(COUNT, 0, 1), out(COUNT);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
