// NVIDIA/cutlass issue 2162: a tensor map is changed in place while TMA stores by it are in flight.
#include "field_bug.cuh"

constexpr int GROUPS = 6, ROWS = 8, COLUMNS = 32, TILE = ROWS * COLUMNS;

template <bool GOOD>
__global__ void kernel(CUtensorMap* map, float* out) {
  __shared__ alignas(128) float tile[GROUPS][TILE];
  for (int i = threadIdx.x; i < GROUPS * TILE; i += blockDim.x) tile[i / TILE][i % TILE] = i;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int group = 0; group < GROUPS; ++group) {
      if (GOOD) bulk_wait();
      set_address(map, out + group * TILE);
      tma_store(map, 0, 0, at(tile[group]));
      bulk_commit();
    }
    bulk_wait();
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> out(GROUPS * TILE);
  const CUtensorMap map = matrix_map(out, COLUMNS, ROWS, COLUMNS, ROWS);
  CUtensorMap* on_device;
  check(cudaMalloc(&on_device, sizeof map));
  check(cudaMemcpy(on_device, &map, sizeof map, cudaMemcpyHostToDevice));
  kernel_of<<<1, 64>>>(on_device, out);
  return verdict(out, [](int i) { return i; });
}
