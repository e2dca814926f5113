// A level without a kernel, linked with the real CUDA runtime. run.cpp runs it with all GPUs hidden.
#include "common/harness/level.h"

int main(int argc, char** argv) {
  const harness::Config config{"only", [](const harness::Problem&, cudaStream_t) { return cudaErrorNotSupported; },
                               [] { return harness::Description{}; }};
  return harness::run(argc, argv, {.name = "level00_nothing", .arch = 90, .idea = "Nothing.", .configs = {&config, 1}});
}
