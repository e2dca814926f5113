// The driver's linker, for programs that compile at run time: a single text of PTX is "linked". The result is that
// text, which cuModuleLoadData accepts like machine code.
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/driver.h"

using namespace sim;
using namespace sim::runtime;

namespace {

struct Link {
  std::string image;  ///< ends with a 0
  bool is_given = false;
};

// Never destroyed, like Process.
std::unordered_map<CUlinkState, std::unique_ptr<Link>>& live() {
  static auto& all = *new std::unordered_map<CUlinkState, std::unique_ptr<Link>>;
  return all;
}
Link& find_link(CUlinkState state) {
  const auto found = live().find(state);
  if (found == live().end())
    refuse(cudaErrorInvalidValue, "%p is not a link, or it has been destroyed.", static_cast<void*>(state));
  return *found->second;
}

}  // namespace

CUresult cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* state) {
  return driver("cuLinkCreate", [&](Process&) {
    auto link = std::make_unique<Link>();
    const auto handle = reinterpret_cast<CUlinkState>(link.get());
    result(state, "stateOut") = handle;
    live()[handle] = std::move(link);
  });
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*, unsigned,
                       CUjit_option*, void**) {
  return driver("cuLinkAddData", [&](Process&) {
    Link& link = find_link(state);
    require_pointer(data, "data");
    if (type != CU_JIT_INPUT_PTX)
      refuse(cudaErrorNotSupported, "only PTX is linked at run time on the simulated device.");
    if (link.is_given)
      refuse(cudaErrorNotSupported,
             "only one text of PTX is linked at run time; let nvcc link several (-rdc=true), or put them into one.");
    link.image.assign(static_cast<const char*>(data), bytes);
    link.is_given = true;
  });
}

CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  return driver("cuLinkComplete", [&](Process&) {
    Link& link = find_link(state);
    if (!link.is_given) refuse(cudaErrorInvalidValue, "nothing has been added to the link.");
    result(image, "cubinOut") = link.image.data();
    if (bytes != nullptr) *bytes = link.image.size() + 1;
  });
}

CUresult cuLinkDestroy(CUlinkState state) {
  return driver("cuLinkDestroy", [&](Process&) {
    find_link(state);
    live().erase(state);
  });
}
