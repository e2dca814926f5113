// A GPU that is none: the functions of the CUDA runtime that the harness calls, on host memory, with properties and
// failures to order. Linked into the tests in place of libcudart, it takes `harness::run` through its paths for real
// GPUs on any machine. Kernels are host functions that run when they are launched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace harness::test {

struct FakeGpu {
  std::string name = "Fake GPU";
  int count = 1, major = 9, minor = 0;
  int sms = 132;
  int l2_bytes = 1 << 20;
  std::size_t free_bytes = std::size_t{1} << 30;
  cudaError_t on_count = cudaSuccess;        ///< what cudaGetDeviceCount returns
  cudaError_t on_synchronize = cudaSuccess;  ///< what waiting for a stream returns
};

extern FakeGpu fake_gpu;

}  // namespace harness::test
