// triton-lang/triton PR 10843: a CTA stores into its peer's shared memory, from where TMA reads it. The fence names
// shared::cta, the memory of the storing CTA only.
#include "field_bug.cuh"

constexpr int COUNT = 256;

template <bool GOOD>
__global__ void __cluster_dims__(2) kernel(const float* data, float* out) {
  __shared__ alignas(128) float box[COUNT];
  const uint32_t rank = cta_rank();
  cluster_sync();
  const float value = data[rank * COUNT + threadIdx.x];
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(in_cta(at(&box[threadIdx.x]), rank ^ 1)), "f"(value)
               : "memory");
  if (GOOD)
    asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
  else
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  if (threadIdx.x == 0) {
    bulk_store(out + rank * COUNT, at(box), sizeof box);
    bulk_commit();
    bulk_wait();
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(2 * COUNT, 0, 1), out(2 * COUNT);
  kernel_of<<<2, COUNT>>>(data, out);
  return verdict(out, [](int i) { return (i + COUNT) % (2 * COUNT); });
}
