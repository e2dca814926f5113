// Level 02: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level02_tma_swizzle/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level02_tma_swizzle/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {
      {"swizzle128", level02::launch<mma::Swizzle::B128>, level02::describe<mma::Swizzle::B128>},
      {"swizzle64", level02::launch<mma::Swizzle::B64>, level02::describe<mma::Swizzle::B64>},
      {"swizzle32", level02::launch<mma::Swizzle::B32>, level02::describe<mma::Swizzle::B32>},
      {"swizzle_none", level02::launch<mma::Swizzle::None>, level02::describe<mma::Swizzle::None>}};
  return harness::run(argc, argv,
                      {.name = "level02_tma_swizzle",
                       .arch = LADDER_ARCH,
                       .idea = "TMA done right: loads run ahead through a ring of stages, with any swizzle",
                       .configs = configs});
}
