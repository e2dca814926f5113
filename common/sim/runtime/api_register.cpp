// What nvcc's generated code calls: registration before main, and the two halves of kernel<<<...>>>(...).
#include <vector>

#include "runtime/capture.h"
#include "runtime/streams.h"

using namespace sim;
using namespace sim::runtime;

namespace {

/// The launch configuration from <<< and >>>, until the stub of the kernel pops it.
struct Configuration {
  dim3 grid, block;
  size_t dynamic_smem;
  cudaStream_t stream;
};

std::vector<Configuration>& pushed() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

/// Registration must not fail: an error here could only end the program. It is reported at first use instead.
template <typename Body>
void registering(Body&& body) {
  Process& process = Process::get();
  std::lock_guard lock(process.mutex);
  body(process.registry);
}

}  // namespace

SIM_API void** __cudaRegisterFatBinary(void* wrapper) {
  void** handle = nullptr;
  registering([&](Registry& registry) { handle = reinterpret_cast<void**>(registry.add_binary(wrapper)); });
  return handle;
}

SIM_API void __cudaRegisterFatBinaryEnd(void**) {}

SIM_API void __cudaUnregisterFatBinary(void** handle) {
  registering([&](Registry& registry) { registry.remove_binary(binary_of(handle)); });
}

SIM_API void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                                    uint3*, dim3*, dim3*, int*) {
  registering([&](Registry& registry) { registry.add_kernel(binary_of(handle), host_function, name); });
}

SIM_API void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int,
                               int) {
  registering(
      [&](Registry& registry) { registry.add_variable(binary_of(handle), host_variable, name, bytes, nullptr); });
}

SIM_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, size_t bytes,
                                      int, int) {
  registering(
      [&](Registry& registry) { registry.add_variable(binary_of(handle), host_pointer, name, bytes, host_pointer); });
}

/// Called before the host first accesses a __managed__ variable of the module. The program dereferences the variable's
/// pointer whatever the result is, so it cannot continue without code that defines the variable.
SIM_API char __cudaInitModule(void** handle) {
  const cudaError_t error = call("__managed__ variable", [&](Process& process) {
    binary_of(handle)->module(process);
    process.registry.place_managed(binary_of(handle), process, true);
  });
  if (error != cudaSuccess) stop(kExitSimulationFailed);
  return 1;
}

SIM_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_smem, cudaStream_t stream) {
  pushed().push_back({grid, block, dynamic_smem, stream});
  return 0;  // 0: call the stub
}

SIM_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_smem, void* stream) {
  if (pushed().empty()) return last_error() = cudaErrorMissingConfiguration;
  const Configuration configuration = pushed().back();
  pushed().pop_back();
  *grid = configuration.grid;
  *block = configuration.block;
  *dynamic_smem = configuration.dynamic_smem;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}

/// Runs once for each kernel. A function that is not registered becomes an error when it is launched.
SIM_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  Process& process = Process::get();
  std::lock_guard lock(process.mutex);
  *kernel = reinterpret_cast<cudaKernel_t>(process.registry.find_kernel(host_function));
  return *kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

/// The launch of kernel<<<...>>>. The generated code ignores its result: a program only gets it by cudaGetLastError.
SIM_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                       size_t dynamic_smem, cudaStream_t stream) {
  return prepare("kernel launch", [&](Process& process) {
    try {
      launch_in_order(process, stream, find_kernel(process, kernel),
                      {.grid = grid, .block = block, .dynamic_smem = dynamic_smem, .arguments = arguments});
    } catch (...) {
      process.refuse_unseen();
      throw;
    }
  });
}
SIM_PER_THREAD(__cudaLaunchKernel, _ptsz)
