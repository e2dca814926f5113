// The account of tensor cores, on traces in which the cause is obvious.
#include <gtest/gtest.h>

#include <functional>

#include "machine/gpu.h"
#include "timing/account.h"
#include "timing/constants.h"
#include "timing/contention.h"

namespace sim::timing {
namespace {

using What = DemandStep::What;

/// CTAs of three warps: one loads boxes into a ring, one multiplies, one is the epilogue.
struct Made {
  uint32_t ctas = 1, tiles = 1, blocks = 64, stages = 4, clusters = 1;
  bool pair = false;                                       ///< of CTAs, whose first one multiplies for both
  std::function<void(WarpDemands&, uint32_t)> epilogue{};  ///< of a tile: the steps between its two barriers
  std::function<void(WarpDemands&, uint32_t)> loader{};    ///< before each load: its CTA's rank
  std::function<void(Constants&)> machine{};

  static void add(WarpDemands& warp, DemandStep step) { warp.steps.push_back(step); }

  GridDemands grid() const {
    GridDemands grid;
    grid.cluster_size = ctas, grid.resident = 132 / ctas;
    grid.forms.mmas.push_back({pair ? 256 : 128, 256, 16, pair ? 2 : 1, false, false});
    const auto full = [](uint32_t stage) { return static_cast<uint16_t>(stage); };
    const auto empty = [&](uint32_t stage) { return static_cast<uint16_t>(stages + stage); };
    const auto accumulated = static_cast<uint16_t>(2 * stages), handed_back = static_cast<uint16_t>(2 * stages + 1);
    ClusterDemands kind(ctas, std::vector<WarpDemands>(3));
    std::vector<BoxPlace> places;
    for (uint32_t rank = 0; rank < ctas; ++rank) {
      auto& cta = kind[rank];
      const auto here = static_cast<uint8_t>(rank), there = pair ? uint8_t{0} : here;
      const uint32_t users = pair ? 3 : 1u << rank;
      for (uint32_t i = 0; i < stages; ++i) {
        grid.forms.loads.push_back({.tensor = 0x1000,
                                    .rows = 128,
                                    .row_bytes = 128,
                                    .fetch_bytes = 128,
                                    .to = {{here, there}},
                                    .slot = full(i)});
        add(cta[0], {What::Init, here, full(i), pair ? 2u : 1u, 1});
        add(cta[0], {What::Init, here, empty(i), 1, 1});
      }
      add(cta[0], {What::Init, here, accumulated, 1, 1});
      add(cta[0], {What::Init, here, handed_back, ctas, 1});
      for (auto& warp : cta) {
        add(warp, {What::ClusterArrive, 0, 0, 32, 1});
        add(warp, {What::ClusterWait, 0, 0, 0, 0});
      }
      for (uint32_t i = 0; i < tiles * blocks; ++i) {
        const uint32_t stage = i % stages, parity = i / stages & 1;
        add(cta[0], {What::Wait, here, empty(stage), parity ^ 1, 1});
        if (loader) loader(cta[0], rank);
        add(cta[0], {What::Expect, there, full(stage), 16'384, 1});
        add(cta[0], {What::Arrive, there, full(stage), 1, 0});
        add(cta[0], {What::Load, 0, 0, rank * stages + stage, 1});
        cta[0].places.push_back({rank * stages + stage, static_cast<int32_t>(128 * i), 0});
        const bool is_last = i % blocks == blocks - 1;
        if (here == there) {
          if (i % blocks == 0) add(cta[1], {What::Wait, here, handed_back, (i / blocks + 1) & 1, 1});
          add(cta[1], {What::Wait, here, full(stage), parity, 1});
          for (int k = 0; k < 4; ++k) add(cta[1], {What::Mma, here, 0, 0, 1});
          add(cta[1], {What::MmaArrive, 0, empty(stage), users, 1});
          if (is_last) add(cta[1], {What::MmaArrive, 0, accumulated, users, 1});
        }
        if (!is_last) continue;
        add(cta[2], {What::Wait, here, accumulated, i / blocks & 1, 1});
        if (epilogue) epilogue(cta[2], rank);
        for (uint32_t other = 0; other < ctas; ++other)
          add(cta[2], {What::Arrive, static_cast<uint8_t>(other), handed_back, 1, 1});
      }
      for (auto& warp : cta) {
        if (ctas > 1) add(warp, {What::ClusterArrive, 0, 0, 32, 1});
        if (ctas > 1) add(warp, {What::ClusterWait, 0, 0, 0, 0});
        add(warp, {What::Exit, 0, 0, 0, 1});
      }
      places.insert(places.end(), cta[0].places.begin(), cta[0].places.end());
    }
    for (uint32_t i = 0; i < clusters; ++i) {
      grid.kind_of.push_back(0);
      grid.places.push_back(places);
      for (BoxPlace& place : grid.places.back()) place.y = static_cast<int32_t>(128 * i);
    }
    grid.kinds.push_back(std::move(kind));
    return grid;
  }

  /// On as many SMs as it has CTAs, so that others are not idle.
  Shares account() const {
    Gpu gpu = *find_gpu("b200");
    gpu.sm_count = static_cast<int>(std::min(ctas * clusters, 132u));
    Constants c = built_in_constants("b200");
    c.spread = 0, c.dram_latency = 0;
    if (machine) machine(c);
    const GridDemands demands = grid();
    const PredictedTimes times = contend(std::span(&demands, 1), gpu, c, {1.5});
    const Tick all = times.activity.cycles * kCycle * gpu.sm_count;
    EXPECT_LE(times.account.total(), all);
    EXPECT_GT(times.account.total(), all - kCycle * gpu.sm_count) << "every cycle has one cause";
    EXPECT_EQ(times.account[Part::Unexplained], 0);
    return times.account;
  }
};

/// The largest part of the time in which the tensor core does nothing useful, but for the beginning and the end.
Part largest(const Shares& shares) {
  Part most = Part::Unexplained;
  for (size_t i = 1; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (part != Part::Begin && part != Part::End && part != Part::Idle && shares[part] > shares[most]) most = part;
  }
  return most;
}
std::string name(Part part) { return std::string(kPartNames[static_cast<size_t>(part)].key); }

struct Obvious {
  const char* what;
  Made made;
  Part expected;
  double at_least;  ///< share of the time
};

TEST(Account, NamesTheObviousCause) {
  const auto steps = [](DemandStep step, int count) {
    return [=](WarpDemands& warp, uint32_t) {
      for (int i = 0; i < count; ++i) Made::add(warp, step);
    };
  };
  const DemandStep long_run{What::Fence, 0, 0, 0, 500};
  const auto peer_runs = [=](WarpDemands& warp, uint32_t rank) {
    if (rank == 1) Made::add(warp, long_run);
  };
  const std::vector<Obvious> all = {
      {"a ring deep enough", {.stages = 8}, Part::Useful, 0.8},
      {"a ring too shallow", {.stages = 1}, Part::Latency, 0.4},
      {"a loader that is late", {.stages = 8, .loader = steps(long_run, 1)}, Part::NotAsked, 0.4},
      {"an L2 too slow",
       {.stages = 8, .clusters = 132, .machine = [](Constants& c) { c.l2_bytes_per_second /= 16; }},
       Part::L2,
       0.5},
      {"a DRAM too slow",
       {.stages = 8, .clusters = 132, .machine = [](Constants& c) { c.dram_bytes_per_second /= 8; }},
       Part::Dram,
       0.5},
      {"a port too slow",
       {.stages = 8, .clusters = 132, .machine = [](Constants& c) { c.gpc_bytes_per_second /= 16; }},
       Part::Port,
       0.4},
      {"a TMA too slow", {.stages = 8, .machine = [](Constants& c) { c.tma_row = 16; }}, Part::Tma, 0.4},
      {"an epilogue that computes",
       {.tiles = 8, .blocks = 8, .stages = 8, .epilogue = steps(long_run, 8)},
       Part::Registers,
       0.5},
      {"an epilogue that reads tensor memory",
       {.tiles = 8,
        .blocks = 8,
        .stages = 8,
        .epilogue =
            [](WarpDemands& warp, uint32_t) {
              Made::add(warp, {What::TmemLoad, 0, 0, 1'000'000, 1});
              Made::add(warp, {What::TmemWait, 0, 0, 0, 1});
            }},
       Part::Registers,
       0.5},
      {"an epilogue with bank conflicts",
       {.tiles = 8, .blocks = 8, .stages = 8, .epilogue = steps({What::Shared, 0, 0, 3200, 1, 3100}, 4)},
       Part::Conflicts,
       0.5},
      {"an epilogue without",
       {.tiles = 8, .blocks = 8, .stages = 8, .epilogue = steps({What::Shared, 0, 0, 3200, 1, 0}, 4)},
       Part::Shared,
       0.5},
      {"an epilogue that stores",
       {.tiles = 8, .blocks = 8, .stages = 8, .epilogue = steps({What::GlobalStore, 0, 128, 1000, 1}, 4)},
       Part::Stores,
       0.4},
      {"a peer whose epilogue is longer",
       {.ctas = 2,
        .tiles = 8,
        .blocks = 8,
        .stages = 8,
        .pair = true,
        .epilogue =
            [=](WarpDemands& warp, uint32_t rank) {
              for (uint32_t i = 0; i < 8 * rank; ++i) Made::add(warp, long_run);
            }},
       Part::Peer,
       0.2},
      {"a peer whose loads are late", {.ctas = 2, .stages = 8, .pair = true, .loader = peer_runs}, Part::Peer, 0.4},
  };
  for (const Obvious& each : all) {
    const Shares shares = each.made.account();
    std::string found;
    for (size_t i = 0; i < kParts; ++i)
      found += name(static_cast<Part>(i)) + " " + std::to_string(shares.share(static_cast<Part>(i))) + "\n";
    const Part most = each.expected == Part::Useful ? Part::Useful : largest(shares);
    EXPECT_EQ(name(most), name(each.expected)) << each.what << "\n" << found;
    EXPECT_GE(shares.share(each.expected), each.at_least) << each.what << "\n" << found;
  }
}

}  // namespace
}  // namespace sim::timing
