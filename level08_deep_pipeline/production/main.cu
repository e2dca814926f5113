// The production kernel: the program around it. -DLADDER_ARCH chooses which kernel.
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "common/harness/level.h"

#if LADDER_ARCH == 100
#include "level08_deep_pipeline/production/kernel_sm100.cuh"
#elif LADDER_ARCH == 90
#include "level08_deep_pipeline/production/kernel_sm90.cuh"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

#if LADDER_ARCH == 90
/// A kernel for every tile.
template <size_t... I>
static constexpr std::array<harness::Config, sizeof...(I)> configs_of(std::index_sequence<I...>) {
  return {{{production::TILES[I].name, production::launch<production::TILES[I].shape>,
            production::describe<production::TILES[I].shape>}...}};
}
#endif

int main(int argc, char** argv) {
#if LADDER_ARCH == 100
  static const std::string config = production::name<production::CHOSEN>();
  static const harness::Config configs[] = {
      {config, production::launch<production::CHOSEN>, production::describe<production::CHOSEN>}};
  const auto select = nullptr;
  const auto idea = "tiles of 256 columns, taken by cluster launch control";
#else
  static constexpr auto configs = configs_of(std::make_index_sequence<std::size(production::TILES)>());
  const auto select = [](const harness::Problem& problem) { return &configs[production::choose_tile(problem)]; };
  const auto idea = "large tiles, D in the ring of A and B, a shape for each size";
#endif
  return harness::run(argc, argv,
                      {.name = "production", .arch = LADDER_ARCH, .idea = idea, .configs = configs, .select = select});
}
