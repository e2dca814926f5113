// A library as cuBLAS is one: linked with the static runtime, stripped, with kernels of its own.
#include <cuda_runtime.h>

__global__ void hidden_kernel(int* value) { *value = 7; }

extern "C" __attribute__((visibility("default"))) int hidden_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : -1;
}

extern "C" __attribute__((visibility("default"))) void hidden_launch(int* value) { hidden_kernel<<<1, 1>>>(value); }
