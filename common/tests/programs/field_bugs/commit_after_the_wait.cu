// csarofeen/pytorch PR 2457: the group of a cp.async is committed behind the wait that was meant for it, so that the
// wait is for one group too few.
#include "field_bug.cuh"

constexpr int THREADS = 64, TILES = 6, STAGES = 2;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(16) float tile[STAGES][4 * THREADS];
  const auto copy = [&](int i) {
    if (i < TILES) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&tile[i % STAGES][4 * threadIdx.x])),
                   "l"(data + 4 * (i * THREADS + threadIdx.x))
                   : "memory");
    }
    if (GOOD) asm volatile("cp.async.commit_group;" ::: "memory");
  };
  copy(0);
  for (int i = 0; i < TILES; ++i) {
    copy(i + 1);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    if (!GOOD) asm volatile("cp.async.commit_group;" ::: "memory");
    for (int j = 0; j < 4; ++j) out[4 * (i * THREADS + threadIdx.x) + j] = tile[i % STAGES][4 * threadIdx.x + j];
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(4 * TILES * THREADS, 0, 1), out(4 * TILES * THREADS);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int i) { return i; });
}
