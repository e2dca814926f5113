// Level 01: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level01_baseline/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level01_baseline/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {{"128x128x64", level01::launch, level01::describe}};
  return harness::run(argc, argv,
                      {.name = "level01_baseline",
                       .arch = LADDER_ARCH,
                       .idea = "everything works once, nothing overlaps",
                       .configs = configs});
}
