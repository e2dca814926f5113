// The last error of a thread. An error stays until cudaGetLastError resets it; a fault of a kernel is returned again by
// every later call that needs the context.
#include "runtime/errors.h"
#include "runtime/process.h"

using namespace sim;
using namespace sim::runtime;

namespace {

cudaError_t show_last_error() {
  const cudaError_t error = last_error();
  if (error != cudaSuccess) {
    Process& process = Process::get();
    std::lock_guard lock(process.mutex);
    process.see_errors();
  }
  return error;
}

}  // namespace

cudaError_t cudaPeekAtLastError() { return show_last_error(); }

cudaError_t cudaGetLastError() {
  const cudaError_t error = show_last_error();
  last_error() = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* name = error_name(error);
  return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* text = error_text(error);
  return text == nullptr ? "unrecognized error code" : text;
}
