// triton-lang/triton issue 7385: the innermost coordinate of a TMA load is not a multiple of 16 bytes.
#include "field_bug.cuh"

constexpr int ROWS = 8, COLUMNS = 32, WIDTH = 256;

template <bool GOOD>
__global__ void kernel(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(128) float tile[ROWS * COLUMNS];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
    arrive_expect(at(&full), sizeof tile);
    tma_load(at(tile), &map, GOOD ? 132 : 130, 0, at(&full));
  }
  __syncthreads();
  wait(at(&full), 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(ROWS * WIDTH, 0, 1), out(ROWS * COLUMNS);
  kernel_of<<<1, ROWS * COLUMNS>>>(matrix_map(data, WIDTH, ROWS, COLUMNS, ROWS), out);
  return verdict(out, [](int i) { return i / COLUMNS * WIDTH + 132 + i % COLUMNS; });
}
