// mlc-ai/TIRx-kernels PR 9: an mbarrier is initialised and used by the other CTA of the cluster behind a relaxed
// cluster barrier, without fence.mbarrier_init.
#include "field_bug.cuh"

constexpr int THREADS = 64;

template <bool GOOD>
__global__ void __cluster_dims__(2) kernel(int* out) {
  __shared__ alignas(8) uint64_t ready;
  const uint32_t rank = cta_rank();
  if (threadIdx.x == 0) {
    init(at(&ready), 1);
    if (GOOD) fence_init();
  }
  __syncthreads();
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_cta(at(&ready), rank ^ 1))
                 : "memory");
  }
  wait(at(&ready), 0);
  __syncwarp();
  out[blockIdx.x * THREADS + threadIdx.x] = 1;
  cluster_sync();
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> out(2 * THREADS);
  kernel_of<<<2, THREADS>>>(out);
  return verdict(out, [](int) { return 1; });
}
