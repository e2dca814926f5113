// Two translation units (nvcc -rdc=true) that use one another's functions, variables and kernels; units_other.cu is the
// other one. What each keeps to itself has the same names in both. Nothing in it knows of the simulated device.
#include "units.h"

#include <cstdio>

extern __device__ int visits;
extern __constant__ float factors[4];
__device__ float scaled(float x, int which);  // of the other one
__device__ int (*operation())(int, int);
__global__ void other_kernel(int* out);

static __device__ int kept = 10;
static __device__ int private_value() { return kept; }
__device__ const char* const names[2] = {"here", "this unit"};

__global__ void kernel(int* out) {
  extern __shared__ int exchange[];
  exchange[threadIdx.x] = static_cast<int>(scaled(static_cast<float>(threadIdx.x), 1));
  __syncthreads();
  int value = exchange[blockDim.x - 1 - threadIdx.x];
  value += 1000 * private_value() + 100'000 * twice(3);
  value = operation()(value, 5);
  atomicAdd(&visits, 1);
  out[threadIdx.x] = value;
  if (threadIdx.x == 0) printf("%s\n", names[1]);
}

template <class T>
T fetch(const T* from) {
  T value{};
  if (cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost) != cudaSuccess) std::printf("no copy\n");
  return value;
}

int main() {
  const float values[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(factors, values, sizeof values);
  int* out = nullptr;
  cudaMalloc(&out, 32 * sizeof(int));
  kernel<<<1, 32, 32 * sizeof(int)>>>(out);
  const int first = fetch(out), last = fetch(out + 31);
  other_kernel<<<1, 32>>>(out);
  const int other = fetch(out);
  add_one<int><<<1, 1>>>(out);
  int counted = 0;
  cudaMemcpyFromSymbol(&counted, visits, sizeof counted);
  const bool right =
      first == 610'062 - 5 && last == 610'000 - 5 && other == 20 + 6 && fetch(out) == 27 && counted == 132;
  std::printf("%d %d %d %d %s\n", first, last, other, counted, right ? "PASSED" : "FAILED");
}
