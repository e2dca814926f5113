// NVIDIA/cutlass PR 3316: a pair of CTAs allocates tensor memory together, before each of them knows that the other has
// been launched. compute-sanitizer of CUDA 13.1 reports it. Blackwell.
#include "field_bug.cuh"

constexpr uint32_t COLUMNS = 32;

template <bool GOOD>
__global__ void __cluster_dims__(2) kernel(uint32_t* out) {
  __shared__ uint32_t address;
  const uint32_t warp = threadIdx.x / 32;
  if (GOOD) cluster_sync();
  if (warp == 0) tmem_alloc<2>(at(&address), COLUMNS);
  before_sync();
  cluster_sync();
  after_sync();
  const uint32_t tmem = address, lanes = tmem + (warp << 21);
  tmem_store(lanes, blockIdx.x * 128 + threadIdx.x);
  uint32_t value = tmem_load(lanes);
  tmem_wait_load(value);
  out[blockIdx.x * 128 + threadIdx.x] = value;
  before_sync();
  cluster_sync();
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
