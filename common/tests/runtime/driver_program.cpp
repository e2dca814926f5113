// A program that uses only the driver: linked with libcuda, or looking its functions up in it.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  char name[64] = "";
  if (argc > 1 && std::strcmp(argv[1], "dlopen") == 0) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return 1;
    const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"));
    const auto get_name = reinterpret_cast<decltype(&cuDeviceGetName)>(dlsym(library, "cuDeviceGetName"));
    if (init == nullptr || get_name == nullptr || init(0) != CUDA_SUCCESS) return 2;
    if (get_name(name, sizeof name, 0) != CUDA_SUCCESS) return 3;
  } else {
#ifdef LINKED_WITH_LIBCUDA
    CUdeviceptr memory = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetName(name, sizeof name, 0) != CUDA_SUCCESS) return 4;
    if (cuMemAlloc(&memory, 16) != CUDA_SUCCESS || cuMemFree(memory) != CUDA_SUCCESS) return 5;
    if (argc > 1) cuGraphConditionalHandleCreate(nullptr, nullptr, nullptr, 0, 0);
#endif
  }
  std::printf("%s\n", name);
  return 0;
}
