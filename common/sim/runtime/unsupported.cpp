// Calls of API functions that the simulated device does not implement.
#include "runtime/unsupported.h"

#include <array>
#include <string_view>
#include <utility>

#include "runtime/process.h"

namespace sim::runtime {
namespace {

const char* advice(std::string_view name) {
  using Advice = std::pair<std::string_view, const char*>;
  constexpr std::array kFamilies = {
      Advice{"Graph",
             "Graphs of kernels, copies, fills, host functions, events, graphs and conditions are simulated, and no "
             "others."},
      Advice{"Array", "Textures and CUDA arrays are not simulated: use linear memory."},
      Advice{"ChannelDesc", "Textures and CUDA arrays are not simulated: use linear memory."},
      Advice{"Texture", "Textures and CUDA arrays are not simulated: use linear memory."},
      Advice{"TexRef", "Textures and CUDA arrays are not simulated: use linear memory."},
      Advice{"Surf", "Textures and CUDA arrays are not simulated: use linear memory."},
      Advice{"Ipc", "Sharing memory between processes is not simulated: run the program in one process."},
      Advice{"External", "Sharing memory with other APIs is not simulated."},
      Advice{"GL", "Graphics interoperation is not simulated: run the program without a window."},
      Advice{"EGL", "Graphics interoperation is not simulated: run the program without a window."},
      Advice{"VDPAU", "Graphics interoperation is not simulated: run the program without a window."},
      Advice{"Graphics", "Graphics interoperation is not simulated: run the program without a window."},
      Advice{"Multicast", "There is only one simulated device: run the program on one GPU."},
  };
  for (const auto& [part, sentence] : kFamilies) {
    if (name.find(part) != std::string_view::npos) return sentence;
  }
  return "Run the program without the feature that needs it, or on a GPU.";
}

}  // namespace

void unsupported(const char* name) {
  Process& process = Process::get();
  process.tell(
      {.kind = Finding::Kind::Refused,
       .what = format("the program calls %s, which the simulated device does not have. %s", name, advice(name))});
  process.finish(kExitSimulationFailed);
  stop(process.exit_code(kExitSimulationFailed));
}

}  // namespace sim::runtime
