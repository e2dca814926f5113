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
  static const std::string names[] = {level08::name<level08::LEVEL>(), level08::name<level08::CHOSEN>()};
  static const harness::Config configs[] = {
      {names[0], level08::launch<level08::LEVEL>, level08::describe<level08::LEVEL>},
      {names[1], level08::launch<level08::CHOSEN>, level08::describe<level08::CHOSEN>}};
  const auto select = nullptr;
  const auto idea = "small tiles, 8 stages, a swizzled tile on its way out, an early tmem_empty";
#else
  static constexpr harness::Config configs[] = {
      {"256x192", level08::launch<level08::TALL>, level08::describe<level08::TALL>},
      {"256x192-eights", level08::launch<level08::BROAD>, level08::describe<level08::BROAD>},
      {"256x160", level08::launch<level08::MIDDLE>, level08::describe<level08::MIDDLE>},
      {"256x144", level08::launch<level08::SLIM>, level08::describe<level08::SLIM>},
      {"192x192", level08::launch<level08::SQUARE>, level08::describe<level08::SQUARE>},
      {"192x128", level08::launch<level08::HIGH>, level08::describe<level08::HIGH>},
      {"192x64", level08::launch<level08::TOWER>, level08::describe<level08::TOWER>},
      {"128x256", level08::launch<level08::WIDE>, level08::describe<level08::WIDE>},
      {"128x224", level08::launch<level08::ODD>, level08::describe<level08::ODD>},
      {"128x128", level08::launch<level08::SMALL>, level08::describe<level08::SMALL>},
      {"128x64", level08::launch<level08::NARROW>, level08::describe<level08::NARROW>},
      {"64x128", level08::launch<level08::FLAT>, level08::describe<level08::FLAT>},
      {"64x64", level08::launch<level08::TINY>, level08::describe<level08::TINY>},
      {"160x256-swapped", level08::launch<level08::MIDDLE_SWAPPED>, level08::describe<level08::MIDDLE_SWAPPED>},
      {"192x192-swapped", level08::launch<level08::SQUARE_SWAPPED>, level08::describe<level08::SQUARE_SWAPPED>},
      {"224x128-swapped", level08::launch<level08::ODD_SWAPPED>, level08::describe<level08::ODD_SWAPPED>},
      {"64x128-slices", level08::launch<level08::CUT_FLAT>, level08::describe<level08::CUT_FLAT>},
      {"128x128-slices", level08::launch<level08::CUT_SMALL>, level08::describe<level08::CUT_SMALL>},
      {"128x160-slices", level08::launch<level08::CUT_ODD>, level08::describe<level08::CUT_ODD>},
      {"160x128-slices-swapped", level08::launch<level08::CUT_ODD_SWAPPED>,
       level08::describe<level08::CUT_ODD_SWAPPED>}};
  const auto select = [](const harness::Problem& problem) { return &configs[level08::choose_shape(problem)]; };
  const auto idea = "large tiles, D in the ring of A and B, a shape for each size";
#endif
  return harness::run(
      argc, argv,
      {.name = "level08_deep_pipeline", .arch = LADDER_ARCH, .idea = idea, .configs = configs, .select = select});
}
