// NVIDIA/cccl PR 7538: mbarrier.try_wait is executed once, and its result decides nothing. It may return false before
// the phase is complete.
#include "field_bug.cuh"

constexpr int COUNT = 1024, THREADS = 256, STAGES = 2;

__device__ void try_once(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
}

template <bool GOOD>
__global__ void kernel(const float* data, float* out) {
  __shared__ alignas(128) float tile[STAGES][COUNT];
  __shared__ alignas(8) uint64_t full[STAGES];
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) init(at(&full[i]), 1);
    fence_init();
    for (int i = 0; i < STAGES; ++i) {
      arrive_expect(at(&full[i]), sizeof tile[i]);
      bulk_load(at(tile[i]), data + i * COUNT, sizeof tile[i], at(&full[i]));
    }
  }
  __syncthreads();
  for (int i = 0; i < STAGES; ++i) {
    GOOD ? wait(at(&full[i]), 0) : try_once(at(&full[i]), 0);
    for (int k = threadIdx.x; k < COUNT; k += THREADS) out[i * COUNT + k] = tile[i][COUNT - 1 - k];
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(STAGES * COUNT, 0, 1), out(STAGES * COUNT);
  kernel_of<<<1, THREADS>>>(data, out);
  return verdict(out, [](int i) { return i / COUNT * COUNT + COUNT - 1 - i % COUNT; });
}
