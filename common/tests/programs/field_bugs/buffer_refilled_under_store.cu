// tile-ai/TileOPs PR 1550: an epilogue buffer is filled again while the TMA store of its last content still reads it.
// The thread that issued the store waits for it; the other threads do not know.
#include "field_bug.cuh"

constexpr int THREADS = 128, TILES = 4;

template <bool GOOD>
__global__ void kernel(float* out) {
  __shared__ alignas(128) float tile[THREADS];
  for (int i = 0; i < TILES; ++i) {
    if (GOOD) __syncthreads();  // behind the wait of thread 0
    tile[threadIdx.x] = i * THREADS + threadIdx.x;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(out + i * THREADS, at(tile), sizeof tile);
      bulk_commit();
      bulk_wait_read();
    }
  }
  if (threadIdx.x == 0) bulk_wait();
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> out(TILES * THREADS);
  kernel_of<<<1, THREADS>>>(out);
  return verdict(out, [](int i) { return i; });
}
