// Each argument is a mistake that a kernel, or its host, can make. The program ignores what the runtime tells it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void store(int* to, int offset) { to[offset + threadIdx.x] = 7; }
__global__ void far(int* to, int offset) {
  if (offset < 0) printf("a string, which lies behind what the host has allocated\n");
  to[offset + threadIdx.x] = 7;
}
__global__ void forever(volatile int* flag) {
  while (*flag == 0) {}
}
__global__ void half_a_barrier() {
  if (threadIdx.x < 64) __syncthreads();
  asm volatile("bar.sync 1, 128;");
}
__global__ void __launch_bounds__(64) small(int* to) { to[threadIdx.x] = 1; }
__global__ void __cluster_dims__(2) early_exit(int* to) {
  __shared__ int value;
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(remote) : "r"((unsigned)__cvta_generic_to_shared(&value)));
  if (blockIdx.x == 0) return;
  __nanosleep(10'000);
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(to[threadIdx.x]) : "r"(remote));
}
__global__ void unknown(int* to) {
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(to), "r"(to[1]));
}

int main(int, char** arguments) {
  const auto is = [&](const char* name) { return std::strcmp(arguments[1], name) == 0; };
  int *device = nullptr, host[64] = {};
  cudaMalloc(&device, 1000);
  cudaMemset(device, 0, 1000);
  if (is("null")) store<<<1, 32>>>(nullptr, 4);
  if (is("host")) store<<<1, 32>>>(host, 0);
  if (is("end")) store<<<2, 32>>>(device, 230);
  if (is("far")) far<<<1, 32>>>(device, 5000);
  if (is("freed")) cudaFree(device), store<<<1, 32>>>(device, 0);
  if (is("misaligned")) store<<<1, 32>>>(reinterpret_cast<int*>(reinterpret_cast<char*>(device) + 2), 0);
  if (is("forever")) forever<<<1, 32>>>(device);
  if (is("barrier")) half_a_barrier<<<1, 128>>>();
  if (is("exit")) early_exit<<<2, 32>>>(device);
  if (is("unknown")) unknown<<<1, 32>>>(device);
  if (is("threads")) small<<<1, 128>>>(device);
  if (is("shared")) store<<<1, 32, 100'000>>>(device, 0);
  if (is("memory")) cudaMalloc(&device, 1ull << 45);
  std::printf("status: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
