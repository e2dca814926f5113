// IST-DASLab/marlin issue 42: data comes by cp.async, and a barrier that knows nothing of it follows.
// cp.async.wait_group must come before the barrier.
#include "field_bug.cuh"

constexpr int THREADS = 64;

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(16) float scales[4 * THREADS];
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&scales[4 * threadIdx.x])),
               "l"(data + 4 * threadIdx.x)
               : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (GOOD) asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int j = 0; j < 4; ++j) out[4 * threadIdx.x + j] = scales[4 * (THREADS - 1 - threadIdx.x) + j];
  if (!GOOD) asm volatile("cp.async.wait_group 0;" ::: "memory");
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(4 * THREADS, 0, 1), out(4 * THREADS);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int i) { return 4 * (THREADS - 1 - i / 4) + i % 4; });
}
