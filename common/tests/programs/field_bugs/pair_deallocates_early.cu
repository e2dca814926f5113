// NVIDIA/cutlass issue 3435: one CTA of a pair frees tensor memory before the allocation of its peer is complete. On a
// B300 the launch fails, every time. Blackwell.
#include "field_bug.cuh"

constexpr uint32_t COLUMNS = 32;

template <bool GOOD>
__global__ void __cluster_dims__(2) kernel(uint32_t* out) {
  __shared__ uint32_t address;
  const uint32_t warp = threadIdx.x / 32;
  cluster_sync();
  if (warp == 0) tmem_alloc<2>(at(&address), COLUMNS);
  before_sync();
  __syncthreads();
  after_sync();
  const uint32_t tmem = address, lanes = tmem + (warp << 21);
  tmem_store(lanes, blockIdx.x * 128 + threadIdx.x);
  uint32_t value = tmem_load(lanes);
  tmem_wait_load(value);
  out[blockIdx.x * 128 + threadIdx.x] = value;
  before_sync();
  if (GOOD) cluster_sync();
  __syncthreads();
  after_sync();
  if (warp == 0) tmem_dealloc<2>(tmem, COLUMNS);
  cluster_sync();
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<uint32_t> out(256, 0);
  kernel_of<<<2, 128>>>(out);
  return verdict(out, [](int i) { return i; });
}
