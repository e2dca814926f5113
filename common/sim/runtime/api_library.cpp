// Code that a program loads at run time, as text or as a fat binary, for example from NVRTC.
#include <fstream>
#include <sstream>

#include "runtime/process.h"

using namespace sim;
using namespace sim::runtime;

namespace {

Binary* library_of(Process& process, cudaLibrary_t handle) {
  auto* const library = reinterpret_cast<Binary*>(handle);
  if (!process.registry.knows(library)) {
    refuse(cudaErrorInvalidResourceHandle, "%p is not a loaded library.", static_cast<void*>(handle));
  }
  return library;
}

/// Parses immediately, since the program may free `code` when the call returns.
cudaLibrary_t load(Process& process, const void* code, const std::string& label) {
  Binary* const library = process.registry.add_library(code, label);
  try {
    library->module(process);
  } catch (...) {
    process.registry.remove_binary(library);
    throw;
  }
  return reinterpret_cast<cudaLibrary_t>(library);
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return call("cudaLibraryLoadData", [&](Process& process) {
    if (code == nullptr) refuse(cudaErrorInvalidValue, "the code is a null pointer.");
    result(library, "library") = load(process, code, "The code");
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption*, void**, unsigned,
                                    cudaLibraryOption*, void**, unsigned) {
  return call("cudaLibraryLoadFromFile", [&](Process& process) {
    std::ifstream stream(&result(file, "fileName"), std::ios::binary);
    std::stringstream content;
    content << stream.rdbuf();
    if (!stream) refuse(cudaErrorFileNotFound, "%s cannot be read.", file);
    result(library, "library") = load(process, content.str().c_str(), file);
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return call("cudaLibraryUnload",
              [&](Process& process) { process.registry.remove_binary(library_of(process, library)); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return call("cudaLibraryGetKernel", [&](Process& process) {
    Kernel* const found = process.registry.library_kernel(library_of(process, library), &result(name, "name"), process);
    if (found == nullptr) refuse(cudaErrorSymbolNotFound, "the library has no kernel %s.", name);
    result(kernel, "pKernel") = reinterpret_cast<cudaKernel_t>(found);
  });
}

cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return call("cudaLibraryGetGlobal", [&](Process& process) {
    require_pointer(name, "name");
    std::size_t placed_bytes = 0;
    void* const variable = library_of(process, library)->module(process).variable(name, &placed_bytes);
    if (variable == nullptr) refuse(cudaErrorSymbolNotFound, "the library has no variable %s.", name);
    if (pointer != nullptr) *pointer = variable;
    if (bytes != nullptr) *bytes = placed_bytes;
  });
}
