// What the programs of this folder share: checks of calls and results, and vectors in device memory.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::printf("%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call, __FILE__, __LINE__)

/// Ends the program where a condition does not hold.
inline void expect(bool right, const char* condition, const char* file, int line) {
  if (right) return;
  std::printf("%s:%d: wrong: %s\n", file, line, condition);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition, __FILE__, __LINE__)

/// The result of one of a program's tests; the first that fails ends it.
inline void report(bool right, const char* test) {
  std::printf("%s: %s\n", test, right ? "PASSED" : "FAILED");
  if (!right) std::exit(1);
}

template <class T>
T* allocate(std::size_t count) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, count * sizeof(T)));
  return device;
}
template <class T>
T* upload(const std::vector<T>& host) {
  T* const device = allocate<T>(host.size());
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}
/// Waits for the kernels before it. An error of a launch ends the program.
template <class T>
std::vector<T> download(const T* device, std::size_t count) {
  CHECK(cudaGetLastError());
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}
