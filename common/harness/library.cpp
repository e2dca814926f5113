#include "library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace harness {
namespace {

/// The folder of the loaded libcudart, with a slash at the end, or nothing. The toolkit's other libraries live there
/// even when the loader's path does not name it.
std::string runtime_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

// Never unloaded: cuBLAS and NVML leave exit handlers and threads behind.
constexpr int MODE = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

}  // namespace

Library::Library(std::initializer_list<const char*> names) {
  const std::string folder = runtime_folder();
  for (const char* name : names) {
    if ((handle_ = dlopen(name, MODE)) != nullptr) return;
    if (!folder.empty() && (handle_ = dlopen((folder + name).c_str(), MODE)) != nullptr) return;
  }
}

void* Library::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

}  // namespace harness
