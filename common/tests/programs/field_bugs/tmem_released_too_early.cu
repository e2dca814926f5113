// flashinfer-ai/flashinfer issue 5334: a tcgen05.ld is in flight when its warp gives the columns back, and the next
// tile overwrites them. tcgen05.wait::ld comes after the arrival. Blackwell.
#include "field_bug.cuh"

constexpr int THREADS = 128, TILES = 3;
constexpr uint32_t COLUMNS = 32;

template <bool GOOD>
__global__ void kernel(uint32_t* out) {
  __shared__ alignas(128) uint32_t tiles[TILES][THREADS][4];
  __shared__ alignas(8) uint64_t full, empty;
  __shared__ uint32_t address;
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    init(at(&full), 1);
    init(at(&empty), THREADS);
    fence_init();
  }
  __syncwarp();
  if (warp == 0) tmem_alloc<1>(at(&address), COLUMNS);
  for (int i = 0; i < TILES; ++i)
    if (threadIdx.x < THREADS) tiles[i][threadIdx.x][0] = i * THREADS + threadIdx.x;
  fence_async();
  before_sync();
  __syncthreads();
  after_sync();
  if (warp == 4) {
    for (int i = 0; threadIdx.x == THREADS && i < TILES; ++i) {
      wait(at(&empty), (i + 1) % 2);
      after_sync();
      tmem_copy(address, at(tiles[i]), at(&full));
    }
  } else {
    for (int i = 0; i < TILES; ++i) {
      wait(at(&full), i % 2);
      __syncwarp();
      after_sync();
      uint32_t value = tmem_load(address + (warp << 21));
      if (GOOD) tmem_wait_load(value);
      before_sync();
      arrive(at(&empty));
      __syncwarp();
      if (!GOOD) tmem_wait_load(value);
      out[i * THREADS + threadIdx.x] = value;
    }
  }
  before_sync();
  __syncthreads();
  after_sync();
  if (warp == 0) tmem_dealloc<1>(address, COLUMNS);
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<uint32_t> out(TILES * THREADS, 0);
  kernel_of<<<1, THREADS + 32>>>(out);
  return verdict(out, [](int i) { return i; });
}
