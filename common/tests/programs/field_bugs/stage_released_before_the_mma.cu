// NVIDIA/Fuser issue 3561: a stage is given back while the wgmma that reads it is in flight, and the next load fills
// it.
#include "field_bug.cuh"

constexpr int STEPS = 4, BYTES = 64 * 16 * 2 + 8 * 16 * 2;  // A, then B, in core matrices

template <bool GOOD>
__global__ void kernel(const uint8_t* data, float* d) {
  __shared__ alignas(128) uint8_t stage[BYTES];
  __shared__ alignas(8) uint64_t full, empty;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    init(at(&empty), 128);
    fence_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    for (int i = 0; threadIdx.x == 128 && i < STEPS; ++i) {
      wait(at(&empty), (i + 1) % 2);
      arrive_expect(at(&full), BYTES);
      bulk_load(at(stage), data + i * BYTES, BYTES, at(&full));
    }
    return;
  }
  float sum[4] = {};
#define SUMS "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
  for (int i = 0; i < STEPS; ++i) {
    wait(at(&full), i % 2);
    __syncwarp();
    asm volatile("wgmma.fence.sync.aligned;" : SUMS::"memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : SUMS
                 : "l"(descriptor(at(stage), 128, 256)), "l"(descriptor(at(stage + 2048), 128, 256))
                 : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (GOOD) asm volatile("wgmma.wait_group.sync.aligned 0;" : SUMS::"memory");
    arrive(at(&empty));
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" : SUMS::"memory");
  for (int i = 0; i < 4; ++i) d[threadIdx.x * 4 + i] = sum[i];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  std::vector<__nv_bfloat16> values(STEPS * BYTES / 2);  // all elements of step i are i + 1
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / (BYTES / 2) + 1);
  Buffer<uint8_t> data(STEPS * BYTES);
  check(cudaMemcpy(data, values.data(), STEPS * BYTES, cudaMemcpyHostToDevice));
  Buffer<float> d(64 * 8);
  kernel_of<<<1, 160>>>(data, d);
  return verdict(d, [](int) { return 16 * (1 + 4 + 9 + 16); });
}
