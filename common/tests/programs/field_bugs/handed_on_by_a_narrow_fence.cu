// NVIDIA/Fuser PR 4804: a fence for too small a state space. Global data is handed to the other CTA of the cluster
// behind a fence that is restricted to shared memory.
#include "field_bug.cuh"

constexpr int COUNT = 128;

template <bool GOOD>
__global__ void __cluster_dims__(2) kernel(int* values, int* out) {
  __shared__ alignas(8) uint64_t told;
  const uint32_t rank = cta_rank();
  if (threadIdx.x == 0) {
    init(at(&told), COUNT);
    fence_init();
  }
  __syncthreads();
  cluster_sync();
  values[rank * COUNT + threadIdx.x] = threadIdx.x;
  if (GOOD)
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
  else
    asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_cta(at(&told), rank ^ 1))
               : "memory");
  uint32_t done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, "
        "0, p; }"
        : "=r"(done)
        : "r"(at(&told))
        : "memory");
  __syncwarp();
  out[rank * COUNT + threadIdx.x] = *const_cast<volatile int*>(values + (rank ^ 1) * COUNT + COUNT - 1 - threadIdx.x);
  cluster_sync();
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> values(2 * COUNT), out(2 * COUNT);
  kernel_of<<<2, COUNT>>>(values, out);
  return verdict(out, [](int i) { return COUNT - 1 - i % COUNT; });
}
