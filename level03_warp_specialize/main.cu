// Level 03: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level03_warp_specialize/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level03_warp_specialize/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {{"128x128x64", level03::launch, level03::describe}};
  return harness::run(argc, argv,
                      {.name = "level03_warp_specialize",
                       .arch = LADDER_ARCH,
                       .idea = "loads and MMAs run their own loops, in warps of their own",
                       .configs = configs});
}
