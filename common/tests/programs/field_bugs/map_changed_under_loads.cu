// deepseek-ai/DeepGEMM PR 343: a tensor map is changed in place while TMA loads by it are in flight.
#include "field_bug.cuh"

constexpr int GROUPS = 6, ROWS = 8, COLUMNS = 32, TILE = ROWS * COLUMNS;

template <bool GOOD>
__global__ void kernel(CUtensorMap* map, const float* data, float* out) {
  __shared__ alignas(128) float tile[GROUPS][TILE];
  __shared__ alignas(8) uint64_t full[GROUPS];
  if (threadIdx.x == 0) {
    for (int group = 0; group < GROUPS; ++group) init(at(&full[group]), 1);
    fence_init();
    for (int group = 0; group < GROUPS; ++group) {
      if (GOOD && group > 0) wait(at(&full[group - 1]), 0);  // the map is free once what it was used for is complete
      set_address(map, data + group * TILE);
      arrive_expect(at(&full[group]), sizeof tile[0]);
      tma_load(at(tile[group]), map, 0, 0, at(&full[group]));
    }
  }
  __syncthreads();
  for (int group = 0; group < GROUPS; ++group) {
    wait(at(&full[group]), 0);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) out[group * TILE + i] = tile[group][i];
  }
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<float> data(GROUPS * TILE, 0, 1), out(GROUPS * TILE);
  const CUtensorMap map = matrix_map(data, COLUMNS, ROWS, COLUMNS, ROWS);
  CUtensorMap* on_device;
  check(cudaMalloc(&on_device, sizeof map));
  check(cudaMemcpy(on_device, &map, sizeof map, cudaMemcpyHostToDevice));
  kernel_of<<<1, 64>>>(on_device, data, out);
  return verdict(out, [](int i) { return i; });
}
