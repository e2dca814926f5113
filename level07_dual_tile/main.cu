// Level 07: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level07_dual_tile/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level07_dual_tile/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {
      {LADDER_ARCH == 100 ? "256x128x64" : "128x176x64", level07::launch, level07::describe}};
  const auto idea = LADDER_ARCH == 100 ? "each CTA of the pair owns a tile, so one MMA works on two"
                                       : "the CTAs of a pair share their tile of B, and it grows wider";
  return harness::run(argc, argv, {.name = "level07_dual_tile", .arch = LADDER_ARCH, .idea = idea, .configs = configs});
}
