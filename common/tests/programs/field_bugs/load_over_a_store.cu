// uccl-project/mKernel PR 18: a stage holds an input first and the output later. The load of the next input does not
// wait until the TMA store of the output has read it.
#include "field_bug.cuh"

constexpr int COUNT = 256, TILES = 4;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(128) float stage[COUNT];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x != 0) return;
  init(at(&full), 1);
  fence_init();
  for (int i = 0; i < TILES; ++i) {
    if (GOOD) bulk_wait_read();
    arrive_expect(at(&full), sizeof stage);
    bulk_load(at(stage), data + i * COUNT, sizeof stage, at(&full));
    wait(at(&full), i % 2);
    bulk_store(out + i * COUNT, at(stage), sizeof stage);
    bulk_commit();
  }
  bulk_wait();
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(TILES * COUNT, 0, 1), out(TILES * COUNT);
  kernel_of<<<1, 32>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
