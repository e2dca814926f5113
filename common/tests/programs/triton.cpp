// Launches a kernel of Triton's that copies a matrix and adds 1: `triton FILE.ptx`. See the head of the file.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FILE.ptx\n", argv[0]), 2;
  constexpr int ROWS = 40, COLUMNS = 32, ROWS_PER_BLOCK = 16, BLOCKS = 3, THREADS = 128, SHARED = 4096;
  constexpr std::size_t MAPS = 256 * BLOCKS;  // bytes of global memory for two tensor maps of each block
  std::vector<float> in(ROWS * COLUMNS), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const std::size_t bytes = in.size() * sizeof in[0];
  void *a = nullptr, *b = nullptr, *maps = nullptr, *profile = nullptr;
  for (void** each : {&a, &b}) check(cudaMalloc(each, bytes), "cudaMalloc");
  check(cudaMalloc(&maps, MAPS), "cudaMalloc");
  check(cudaMemcpy(a, in.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryLoadFromFile(&library, argv[1], nullptr, nullptr, 0, nullptr, nullptr, 0), "loading");
  check(cudaLibraryGetKernel(&kernel, library, "copy"), "cudaLibraryGetKernel");
  int rows = ROWS;
  void* arguments[] = {&a, &b, &rows, &maps, &profile};
  static_assert((ROWS + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK == BLOCKS);
  check(cudaLaunchKernel(kernel, dim3(BLOCKS), dim3(THREADS), arguments, SHARED, nullptr), "launch");
  check(cudaDeviceSynchronize(), "kernel");
  check(cudaMemcpy(out.data(), b, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] != in[i] + 1) return std::printf("FAILED at element %zu\n", i), 1;
  std::puts("PASSED");
  return 0;
}
