// A program as people write them. It is compiled in several ways (compression, relocatable code, per-thread streams,
// several architectures, no PTX, the static runtime) and runs against a device that only notes the launches.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

struct Arguments {
  char letter;
  double number;
  int list[3];
};

__device__ int values[4];
__constant__ float factor;
__managed__ int shared_with_host;

namespace program {
__global__ void several(int* pointer, Arguments arguments, short small) {
  if (pointer != nullptr)
    *pointer = arguments.list[0] + small + values[0] + static_cast<int>(factor) + shared_with_host;
}
template <int N>
__global__ void templated(int value) {
  values[N] = value;
}
}  // namespace program

__global__ void __cluster_dims__(2, 1, 1) paired() {}
__global__ void __launch_bounds__(64) bounded() {}
__global__ void with_map(const __grid_constant__ CUtensorMap map) {}
__global__ void faults() {}

static void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::printf("line %d: %s\n", line, cudaGetErrorName(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

static int run() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s\n", properties.name);

  const int numbers[4] = {1, 2, 3, 4};
  int back[4] = {};
  const float two = 2;
  CHECK(cudaMemcpyToSymbol(values, numbers, sizeof numbers));
  CHECK(cudaMemcpyFromSymbol(back, values, sizeof back));
  CHECK(cudaMemcpyToSymbol(factor, &two, sizeof two));
  shared_with_host = 7;
  if (std::memcmp(numbers, back, sizeof back) != 0 || shared_with_host != 7) return 1;

  int* device = nullptr;
  cudaStream_t stream;
  cudaEvent_t start, end;
  CHECK(cudaMalloc(&device, 1024));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(start, stream));

  const Arguments arguments{'a', 2.0, {3, 4, 5}};
  program::several<<<dim3(2, 3), 32, 16, stream>>>(nullptr, arguments, 9);
  CHECK(cudaGetLastError());
  program::templated<3><<<1, 64>>>(0x01020304);
  CHECK(cudaGetLastError());
  paired<<<4, 32>>>();
  CHECK(cudaGetLastError());

  CHECK(cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 4;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 64;
  config.dynamicSmemBytes = 200 * 1024;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  CHECK(cudaLaunchKernelEx(&config, bounded));

  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
  CUtensorMap map;
  const cuuint64_t dim[] = {16, 16}, stride[] = {64};
  const cuuint32_t box[] = {16, 16}, step[] = {1, 1};
  if (reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
          &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, device, dim, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) {
    return 1;
  }
  with_map<<<1, 32, 0, stream>>>(map);
  CHECK(cudaGetLastError());

  int host[256] = {};
  CHECK(cudaMemsetAsync(device, 1, 1024, stream));
  CHECK(cudaMemcpyAsync(host, device, 1024, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaStreamSynchronize(stream));
  float elapsed = -1;
  CHECK(cudaEventElapsedTime(&elapsed, start, end));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device));
  CHECK(cudaDeviceSynchronize());
  if (host[255] != 0x01010101 || elapsed < 0) return 1;
  try {
    throw std::runtime_error("exceptions pass");
  } catch (const std::exception& error) { std::printf("%s\n", error.what()); }
  return 0;
}

// The last words of a program come from static destructors and unflushed buffers.
struct Last {
  ~Last() { std::cout << "static destructor\n"; }
} last;

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::string mode = argc > 1 ? argv[1] : "run";
  std::atexit([] { std::cout << "atexit\n"; });
  std::printf("stdio\n");
  if (mode == "run") return run();
  if (mode == "faults") {
    faults<<<1, 1>>>();
    std::cout << "sync " << cudaDeviceSynchronize() << "\n";
  } else if (mode == "refused") {
    bounded<<<1, 65>>>();
  } else if (mode == "asked") {
    bounded<<<1, 65>>>();
    std::cout << "refused " << cudaGetLastError() << "\n";
  } else if (mode == "graph") {
    cudaGraphNode_t node;
    cudaGraphAddMemFreeNode(&node, nullptr, nullptr, 0, nullptr);
  } else if (mode == "idle") {
    std::cout << "idle\n";
  }
  if (argc > 2) std::exit(std::atoi(argv[2]));
  return 0;
}
