// NVIDIA/cutlass PR 2835: one warp allocates tensor memory, and another reads the address from shared memory without a
// barrier between. Blackwell.
#include "field_bug.cuh"

constexpr uint32_t COLUMNS = 32;

template <bool GOOD>
__global__ void kernel(uint32_t* out) {
  __shared__ volatile uint32_t address;
  const uint32_t warp = threadIdx.x / 32;
  if (warp == 0) tmem_alloc<1>(at(const_cast<uint32_t*>(&address)), COLUMNS);
  if (GOOD) {
    before_sync();
    __syncthreads();
    after_sync();
  }
  const uint32_t tmem = address, lanes = tmem + (warp << 21);
  tmem_store(lanes, 7 * threadIdx.x);
  uint32_t value = tmem_load(lanes);
  tmem_wait_load(value);
  out[threadIdx.x] = value;
  before_sync();
  __syncthreads();
  after_sync();
  if (warp == 0) tmem_dealloc<1>(tmem, COLUMNS);
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<uint32_t> out(128, 0);
  kernel_of<<<1, 128>>>(out);
  return verdict(out, [](int i) { return 7 * i; });
}
