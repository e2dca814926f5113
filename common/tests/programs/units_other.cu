// The other translation unit of units.cu.
#include "units.h"

#include <cstdio>

__device__ int visits = 100;
__constant__ float factors[4];
static __device__ int kept = 20;
static __device__ int private_value() { return kept; }
__device__ const char* const other_names[1] = {"other unit"};

__device__ float scaled(float x, int which) { return x * factors[which]; }
static __device__ int minus(int a, int b) { return a - b; }
__device__ int (*operation())(int, int) { return minus; }
__global__ void other_kernel(int* out) {
  out[threadIdx.x] = private_value() + twice(3);
  if (threadIdx.x == 0) printf("%s\n", other_names[0]);
}
void use(int* out) { add_one<int><<<1, 1>>>(out); }
