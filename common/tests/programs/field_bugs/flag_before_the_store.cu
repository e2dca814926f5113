// flashinfer-ai/flashinfer PR 4742 (a remark in its review): a TMA store is waited for with .read, which says no more
// than that shared memory is free, and a flag then announces its data to another block.
#include "field_bug.cuh"

constexpr int COUNT = 256;

template <bool GOOD>
__global__ void kernel(float* data, int* flag, float* out) {
  __shared__ alignas(128) float tile[COUNT];
  if (blockIdx.x == 0) {
    tile[threadIdx.x] = threadIdx.x;
    fence_async();
    __syncthreads();
    if (threadIdx.x > 0) return;
    bulk_store(data, at(tile), sizeof tile);
    bulk_commit();
    GOOD ? bulk_wait() : bulk_wait_read();
    asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
    bulk_wait();
    return;
  }
  if (threadIdx.x == 0) {
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(COUNT), out(COUNT);
  Buffer<int> flag(1, 0);
  kernel_of<<<2, COUNT>>>(data, flag, out);
  return verdict(out, [](int i) { return i; });
}
