// NVIDIA/cccl issue 5297 (cub::DeviceMergeSort): a dependent launch reads what the launch before it writes, and only
// then executes griddepcontrol.wait.
#include "field_bug.cuh"

constexpr int THREADS = 128;

__global__ void first(int* data) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  data[threadIdx.x] = 5;
}

template <bool GOOD>
__global__ void kernel(const volatile int* data, int* out) {
  if (GOOD) asm volatile("griddepcontrol.wait;" ::: "memory");
  out[threadIdx.x] = data[threadIdx.x] + 1;
  if (!GOOD) asm volatile("griddepcontrol.wait;" ::: "memory");
}

int main(int argc, char** argv) {
  const auto kernel_of = is_good(argc, argv) ? kernel<true> : kernel<false>;
  Buffer<int> data(THREADS), out(THREADS);
  first<<<1, THREADS>>>(data);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = THREADS, config.attrs = &early, config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel_of, static_cast<const volatile int*>(data), static_cast<int*>(out)));
  return verdict(out, [](int) { return 6; });
}
