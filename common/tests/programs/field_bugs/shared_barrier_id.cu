// flashinfer-ai/flashinfer PR 4533: two groups of warps synchronise in themselves by named barriers, and one id belongs
// to both of them.
#include "field_bug.cuh"

constexpr int GROUP = 64, ROUNDS = 8;

template <bool GOOD>
__global__ void kernel(int* out) {
  __shared__ int box[2][2][GROUP];
  const int group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
  int sum = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    const int stage = i % 2;
    box[group][stage][thread] = 100 * i + thread;
    named_sync(1 + stage + (GOOD ? 2 : 1) * group, GROUP);  // bad: ids 1, 2 and 2, 3
    sum += box[group][stage][GROUP - 1 - thread];
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> out(2 * GROUP);
  kernel_of<<<1, 2 * GROUP>>>(out);
  return verdict(out, [](int i) { return 2800 + ROUNDS * (GROUP - 1 - i % GROUP); });
}
