// Uses the runtime itself, and, with an argument, the library that has one inside.
#include <cuda_runtime.h>

#include <cstdio>

extern "C" int hidden_devices();

int main(int argc, char**) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  std::printf("own: %d, %d\n", static_cast<int>(error), count);
  if (argc > 1) std::printf("hidden: %d\n", hidden_devices());
  return 0;
}
