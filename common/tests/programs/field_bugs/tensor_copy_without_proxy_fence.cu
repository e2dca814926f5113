// sgl-project/sglang PR 39124: shared memory is written by ordinary stores and read by the tensor core's side of the SM
// (here tcgen05.cp), with a barrier and without the proxy fence. Blackwell.
#include "field_bug.cuh"

constexpr int THREADS = 128;
constexpr uint32_t COLUMNS = 32;

template <bool GOOD>
__global__ void kernel(uint32_t* out) {
  __shared__ alignas(128) uint32_t tile[THREADS][4];
  __shared__ alignas(8) uint64_t full;
  __shared__ uint32_t address;
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    fence_init();
  }
  __syncwarp();
  if (warp == 0) tmem_alloc<1>(at(&address), COLUMNS);
  tile[threadIdx.x][0] = threadIdx.x;
  if (GOOD) fence_async();
  before_sync();
  __syncthreads();
  after_sync();
  if (threadIdx.x == 0) tmem_copy(address, at(tile), at(&full));
  wait(at(&full), 0);
  __syncwarp();
  after_sync();
  uint32_t value = tmem_load(address + (warp << 21));
  tmem_wait_load(value);
  out[threadIdx.x] = value;
  before_sync();
  __syncthreads();
  after_sync();
  if (warp == 0) tmem_dealloc<1>(address, COLUMNS);
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<uint32_t> out(THREADS, 0);
  kernel_of<<<1, THREADS>>>(out);
  return verdict(out, [](int i) { return i; });
}
