// sgl-project/sglang issue 32907: a CTA of a cluster ends while its peer still reads its shared memory. The cluster
// barrier at the end is missing.
#include "field_bug.cuh"

constexpr int COUNT = 128;

template <bool GOOD>
__global__ void __cluster_dims__(2) kernel(int* out) {
  __shared__ int box[COUNT];
  const uint32_t rank = cta_rank();
  box[threadIdx.x] = threadIdx.x;
  cluster_sync();
  if (rank == 1) {
    int value;
    for (int i = 0; i < 4; ++i)  // the peer takes its time
      asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(in_cta(at(&box[threadIdx.x]), 0)) : "memory");
    out[threadIdx.x] = value;
  }
  if (GOOD) cluster_sync();
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> out(COUNT);
  kernel_of<<<2, COUNT>>>(out);
  return verdict(out, [](int i) { return i; });
}
