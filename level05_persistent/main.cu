// Level 05: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level05_persistent/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level05_persistent/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {{"128x128x64", level05::launch, level05::describe}};
  return harness::run(argc, argv,
                      {.name = "level05_persistent",
                       .arch = LADDER_ARCH,
                       .idea = "CTAs stay and loop over tiles in an order that the L2 cache likes; TMA stores D",
                       .configs = configs});
}
