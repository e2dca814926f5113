// A library that uses CUDA's runtime: a program that is linked with it has that runtime, too, whatever it has inside.
#include <cuda_runtime_api.h>

extern "C" int devices_of_the_other_library() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : -1;
}
