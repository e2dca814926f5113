// deepseek-ai/DeepEP issue 136: data that another CTA writes during the launch is read with ld.global.nc (__ldg). Its
// cache is not coherent: it may hold what was there before.
#include "field_bug.cuh"

constexpr int COUNT = 128, ROUNDS = 4;

__device__ void meet(int* arrived, int round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    int seen;
    do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    while (seen < 2 * (round + 1));
  }
  __syncthreads();
}

/// Each of two CTAs adds the other one's last value to its own, round after round.
template <bool GOOD>
__global__ void kernel(int* values, int* arrived) {
  const int mine = blockIdx.x * COUNT + threadIdx.x, other = (blockIdx.x ^ 1) * COUNT + threadIdx.x;
  for (int round = 0; round < ROUNDS; ++round) {
    const int theirs = GOOD ? *const_cast<volatile int*>(values + other) : __ldg(values + other);
    meet(arrived, 2 * round);
    values[mine] += theirs;
    meet(arrived, 2 * round + 1);
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> values(2 * COUNT, 1), arrived(1, 0);
  kernel_of<<<2, COUNT>>>(values, arrived);
  return verdict(values, [](int) { return 1 << ROUNDS; });
}
