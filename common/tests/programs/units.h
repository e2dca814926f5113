// What both translation units of units.cu have: a function and a kernel that each compiles for itself.
#pragma once

inline __device__ __noinline__ int twice(int x) { return 2 * x; }

template <class T>
__global__ void add_one(T* value) {
  *value += 1;
}
