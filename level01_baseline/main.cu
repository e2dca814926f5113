// Level 01: a first correct GEMM. -DLADDER_ARCH chooses the kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level01_baseline/kernel_sm100.cuh"
#elif LADDER_ARCH == 90
#include "level01_baseline/kernel_sm90.cuh"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
#if LADDER_ARCH == 100
  static constexpr harness::Config configs[] = {
      {"128x128x64", "one 128x128 tile per CTA pair, 1 stage, 25,600 bytes of shared memory", level01::launch_sm100}};
#else
  static constexpr harness::Config configs[] = {
      {"128x128x64", "one 128x128 tile per CTA, 1 stage, 33,792 bytes of shared memory", level01::launch_sm90}};
#endif
  return harness::run(argc, argv,
                      {.name = "level01_baseline",
                       .arch = LADDER_ARCH,
                       .idea = "everything works once, nothing overlaps",
                       .configs = configs,
                       .explain = ""});
}
