// What the programs of this folder share: buffers of the device, and a verdict. Each program is a bug
// as it was reported in public, written anew, and its fix: kernel<false> is the bug, kernel<true> the fix.
// docs/field_bugs.md has the reports, and what the simulated device and a GPU say.
//
// usage: PROGRAM good|bad. Exit code: 0 right, 1 wrong, 2 an error of CUDA or a bad argument.
#pragma once
#include <cuda_bf16.h>

#include <cstring>
#include <vector>

#include "../ptx.cuh"

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("error: %s\n", cudaGetErrorName(error));
  std::exit(2);
}

inline bool is_good(int argc, char** argv) {
  const bool good = argc == 2 && std::strcmp(argv[1], "good") == 0;
  if (good || (argc == 2 && std::strcmp(argv[1], "bad") == 0)) return good;
  std::fprintf(stderr, "usage: %s good|bad\n", argv[0]);
  std::exit(2);
}

/// Elements in device memory: `first`, `first` + `step`, ...
template <class T>
class Buffer {
 public:
  explicit Buffer(int count, double first = -1, double step = 0) : host_(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) host_[static_cast<std::size_t>(i)] = static_cast<T>(first + step * i);
    check(cudaMalloc(&device_, count * sizeof(T)));
    check(cudaMemcpy(device_, host_.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  operator T*() const { return device_; }
  std::vector<T> values() const {
    std::vector<T> copy(host_.size());
    check(cudaMemcpy(copy.data(), device_, copy.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
  }

 private:
  std::vector<T> host_;
  T* device_ = nullptr;
};

/// Waits for the kernel and compares: element i must be expected(i).
template <class T, class Expected>
int verdict(const Buffer<T>& buffer, Expected expected) {
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  const std::vector<T> values = buffer.values();
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != static_cast<T>(expected(static_cast<int>(i)));
  if (wrong == 0) return std::puts("right"), 0;
  std::printf("wrong: %d of %zu\n", wrong, values.size());
  return 1;
}

/// The tensor map of a row-major matrix of `rows` x `columns` floats, and a box of it.
inline CUtensorMap matrix_map(float* data, uint64_t columns, uint64_t rows, uint32_t box_columns, uint32_t box_rows) {
  return tensor_map(data, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, columns, rows, columns * sizeof(float), box_columns,
                    box_rows);
}
