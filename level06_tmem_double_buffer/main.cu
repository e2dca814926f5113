// Level 06: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level06_tmem_double_buffer/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level06_tmem_double_buffer/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {
      {LADDER_ARCH == 100 ? "256x128x64" : "128x128x64", level06::launch, level06::describe}};
  return harness::run(argc, argv,
                      {.name = "level06_tmem_double_buffer",
                       .arch = LADDER_ARCH,
                       .idea = "two accumulators: the epilogue of one tile overlaps the MMAs of the next",
                       .configs = configs});
}
