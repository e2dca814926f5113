// Level 08: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level08_deep_pipeline/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level08_deep_pipeline/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {
      {LADDER_ARCH == 100 ? "128x128x64" : "128x256x64", level08::launch, level08::describe}};
  const auto idea = LADDER_ARCH == 100
                        ? "small tiles, 8 stages, a swizzled tile on its way out, an early tmem_empty"
                        : "the consumers share a large tile, and store warps wait for TMA in their place";
  return harness::run(argc, argv,
                      {.name = "level08_deep_pipeline", .arch = LADDER_ARCH, .idea = idea, .configs = configs});
}
