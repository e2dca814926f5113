// Level 04: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level04_smem_epilogue/describe_sm100.h"
#elif LADDER_ARCH == 90
#include "level04_smem_epilogue/describe_sm90.h"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

int main(int argc, char** argv) {
  static constexpr harness::Config configs[] = {{"128x128x64", level04::launch, level04::describe}};
  return harness::run(argc, argv,
                      {.name = "level04_smem_epilogue",
                       .arch = LADDER_ARCH,
                       .idea = "D leaves through shared memory, so that global stores are coalesced",
                       .configs = configs});
}
