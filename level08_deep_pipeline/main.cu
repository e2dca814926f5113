// Level 08: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include <string>

#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level08_deep_pipeline/kernel_sm100.cuh"
#elif LADDER_ARCH == 90
#include "level08_deep_pipeline/kernel_sm90.cuh"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
#if LADDER_ARCH == 100
  static const std::string config = level08::name<level08::LEVEL>();
  static const harness::Config configs[] = {
      {config, level08::launch<level08::LEVEL>, level08::describe<level08::LEVEL>}};
  const auto idea = "small tiles, 8 stages, a swizzled tile on its way out, an early tmem_empty";
#else
  constexpr level08::TileShape TILE = level08::WIDE.column();  // in pairs
  static constexpr harness::Config configs[] = {
      {"128x256x64", level08::launch<TILE>, level08::describe<TILE>}};
  const auto idea = "one large tile that two consumers share, pairs, a store warp for each consumer";
#endif
  return harness::run(argc, argv,
                      {.name = "level08_deep_pipeline", .arch = LADDER_ARCH, .idea = idea, .configs = configs});
}
