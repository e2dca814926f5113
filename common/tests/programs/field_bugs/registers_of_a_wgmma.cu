// deepseek-ai/DeepGEMM issue 449: the next fragment of A is loaded into registers that a wgmma in flight still reads.
// The registers have names of PTX, because nvcc would give the next fragment other ones.
#include "field_bug.cuh"

constexpr int STEPS = 6, K = 16, ROWS = 64, COLUMNS = 8;

template <bool GOOD>
__global__ void kernel(const uint4* a, const uint4* b, float* d) {
  __shared__ alignas(128) uint4 shared_b[STEPS][16];
  for (int i = threadIdx.x; i < STEPS * 16; i += blockDim.x) shared_b[i / 16][i % 16] = b[i];
  fence_async();
  __syncthreads();
  float sum[4] = {};
#define SUMS "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" : SUMS::"memory")
  asm volatile(".reg .b32 a0, a1, a2, a3;");
#pragma unroll 1
  for (int i = 0; i < STEPS; ++i) {
    if (GOOD) WAIT;
    asm volatile("ld.global.v4.b32 {a0, a1, a2, a3}, [%0];" ::"l"(a + i * 128 + threadIdx.x) : "memory");
    if (!GOOD) WAIT;
    asm volatile("wgmma.fence.sync.aligned;" : SUMS::"memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {a0, a1, a2, a3}, %4, 1, 1, 1, 0;"
        : SUMS
        : "l"(descriptor(at(shared_b[i]), 128, 256))
        : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  WAIT;
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * COLUMNS + column + i % 2] = sum[i];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  // Step i multiplies a matrix whose elements are all i + 1 by one of ones: where an element lies makes no difference.
  Buffer<__nv_bfloat16> a(STEPS * ROWS * K), b(STEPS * K * COLUMNS, 1);
  std::vector<__nv_bfloat16> values(STEPS * ROWS * K);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / (ROWS * K) + 1);
  check(cudaMemcpy(a, values.data(), values.size() * sizeof values[0], cudaMemcpyHostToDevice));
  Buffer<float> d(ROWS * COLUMNS);
  kernel_of<<<1, 128>>>(reinterpret_cast<uint4*>(+a), reinterpret_cast<uint4*>(+b), d);
  return verdict(d, [](int) { return K * STEPS * (STEPS + 1) / 2; });
}
