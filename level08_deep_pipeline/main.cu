// Level 08: the program around the kernel. -DLADDER_ARCH chooses which kernel.
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level08_deep_pipeline/kernel_sm100.cuh"
#elif LADDER_ARCH == 90
#include "level08_deep_pipeline/kernel_sm90.cuh"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

#if LADDER_ARCH == 90
/// A kernel for every tile.
template <size_t... I>
static constexpr std::array<harness::Config, sizeof...(I)> configs_of(std::index_sequence<I...>) {
  return {{{level08::TILES[I].name, level08::launch<level08::TILES[I].shape>,
            level08::describe<level08::TILES[I].shape>}...}};
}
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
  static constexpr auto configs = configs_of(std::make_index_sequence<std::size(level08::TILES)>());
  const auto select = [](const harness::Problem& problem) { return &configs[level08::choose_tile(problem)]; };
  const auto idea = "large tiles, D in the ring of A and B, a shape for each size";
#endif
  return harness::run(
      argc, argv,
      {.name = "level08_deep_pipeline", .arch = LADDER_ARCH, .idea = idea, .configs = configs, .select = select});
}
