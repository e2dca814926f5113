// The timing model: its constants, its memory and power, and the replay of what warps demand.
#include <gtest/gtest.h>

#include <stdexcept>

#include "machine/gpu.h"
#include "timing/constants.h"
#include "timing/constants_data.h"
#include "timing/memory_model.h"
#include "timing/prediction.h"
#include "timing/replay.h"

namespace sim::timing {
namespace {

using What = Step::What;

TEST(Constants, EveryGpuHasAllOfThemWithUnitKindAndSource) {
  for (const std::string_view text : {H200_CONSTANTS, B200_CONSTANTS}) {
    const std::vector<Constant> list = read_constants(text);
    EXPECT_NO_THROW(constants(list));
    for (const Constant& each : list) {
      EXPECT_FALSE(each.source.empty()) << each.name;
      EXPECT_TRUE(each.kind == "measured" || each.kind == "reported" || each.kind == "fitted" || each.kind == "assumed")
          << each.name << ": " << each.kind;
    }
  }
}

TEST(Constants, WhatIsMissingUnknownOrThereTwiceIsAnError) {
  std::vector<Constant> list = read_constants(H200_CONSTANTS);
  list.push_back(list.front());
  EXPECT_THROW(constants(list), std::runtime_error);
  list.pop_back();
  list.back().name = "speed";
  EXPECT_THROW(constants(list), std::runtime_error);
  list.pop_back();
  EXPECT_THROW(constants(list), std::runtime_error);
  EXPECT_THROW(read_constants("name,value,unit,kind,source\nspread,many,cycles,assumed,nobody\n"), std::runtime_error);
}

TEST(Memory, TheSecondReadIsAHitAndTheOldestLeaves) {
  Constants c = constants(read_constants(H200_CONSTANTS));
  c.l2_useful_bytes = 3 * 16'384, c.spread = 0, c.l2_merge = 0;
  std::vector<MemoryModel::Chunk> chunks;
  for (uint32_t i = 0; i < 4; ++i) chunks.push_back({16'384, i});
  MemoryModel memory(c, chunks, 1, 1.5);
  const auto latency = [&](uint32_t chunk, Tick now) { return memory.read(chunk, 0, now) - now; };
  const Tick miss = latency(0, 0), hit = latency(0, 1'000 * CYCLE);
  EXPECT_GT(miss, hit);
  EXPECT_EQ(memory.dram_read(), 16'384);
  for (uint32_t i = 1; i < 4; ++i) latency(i, (10'000 + i) * CYCLE);
  EXPECT_EQ(memory.dram_read(), 4 * 16'384);
  latency(3, 20'000 * CYCLE);
  EXPECT_EQ(memory.dram_read(), 4 * 16'384) << "the newest is still there";
  latency(0, 30'000 * CYCLE);
  EXPECT_EQ(memory.dram_read(), 5 * 16'384) << "the oldest had to leave";
}

TEST(Power, TheClockIsTheHighestWithinTheLimit) {
  const Constants c = constants(read_constants(H200_CONSTANTS));
  const Activity activity{.cycles = 2'000'000,
                          .flops = 1e12,
                          .l2_bytes = 10'000'000'000,
                          .sm_bytes = 15'000'000'000,
                          .dram_bytes = 2'000'000'000};
  const double ghz = clock_ghz(c, activity, c.power_cap);
  EXPECT_LE(watts(c, activity, ghz), c.power_cap);
  EXPECT_GT(watts(c, activity, ghz + 0.001), c.power_cap);
  EXPECT_DOUBLE_EQ(clock_ghz(c, {.cycles = 1'000'000}, c.power_cap), c.clock_max);
}

/// Two warps of a CTA: one loads `blocks` boxes into a ring of `stages`, the other multiplies.
GridDemands ring(uint32_t clusters, int blocks, int stages) {
  GridDemands grid;
  grid.resident = 132;
  grid.sites.loads.push_back(
      {.tensor = 0x1000, .rows = 128, .row_bytes = 128, .fetch_bytes = 128, .to = {{0, 0}}, .slot = 0});
  for (int i = 1; i < stages; ++i) {
    grid.sites.loads.push_back(grid.sites.loads.front());
    grid.sites.loads.back().slot = static_cast<uint16_t>(i);
  }
  grid.sites.mmas.push_back({64, 128, 16, 1, false, true});
  ClusterDemands kind(1, std::vector<WarpDemands>(8));
  WarpDemands& producer = kind[0][0];
  for (int stage = 0; stage < 2 * stages; ++stage)
    producer.steps.push_back({What::Init, 0, static_cast<uint16_t>(stage), stage < stages ? 1u : 4u, 1});
  for (auto& warp : kind[0]) {
    warp.steps.push_back({What::BarrierArrive, 0, 0, 0, 1});
    warp.steps.push_back({What::BarrierWait, 0, 0, 0, 0});
  }
  for (int block = 0; block < blocks; ++block) {
    const auto stage = static_cast<uint16_t>(block % stages);
    const auto empty = static_cast<uint16_t>(stages + stage);
    const auto turn = static_cast<uint32_t>(block / stages & 1);
    producer.steps.push_back({What::Wait, 0, empty, turn ^ 1, 4});
    producer.steps.push_back({What::Expect, 0, stage, 16'384, 1});
    producer.steps.push_back({What::Arrive, 0, stage, 1, 0});
    producer.steps.push_back({What::Load, 0, 0, stage, 2});
    producer.places.push_back({stage, 128 * block, 0});
    for (size_t warp = 4; warp < 8; ++warp) {
      auto& steps = kind[0][warp].steps;
      steps.push_back({What::Wait, 0, stage, turn, 4});
      for (int i = 0; i < 4; ++i) steps.push_back({What::Mma, 0, 0, 0, 2});
      steps.push_back({What::Commit, 0, 0, 0, 1});
      steps.push_back({What::GroupWait, 0, 0, 0, 1});
      steps.push_back({What::Arrive, 0, empty, 1, 2});
    }
  }
  for (auto& warp : kind[0]) warp.steps.push_back({What::Exit, 0, 0, 0, 1});
  for (uint32_t i = 0; i < clusters; ++i) {
    grid.kind_of.push_back(0);
    grid.places.push_back(producer.places);
    for (Place& place : grid.places.back()) place.y = static_cast<int32_t>(128 * i);
  }
  grid.kinds.push_back(std::move(kind));
  return grid;
}

Replayed run(const GridDemands& grid) {
  const Constants c = constants(read_constants(H200_CONSTANTS));
  return replay(std::span(&grid, 1), *find_gpu("h200"), c, 1.5);
}

TEST(Replay, DeeperRingsHideLatencyUntilTensorCoresLimit) {
  const int64_t one = run(ring(1, 64, 1)).activity.cycles, two = run(ring(1, 64, 2)).activity.cycles,
                eight = run(ring(1, 64, 8)).activity.cycles;
  EXPECT_GT(one, two);
  EXPECT_GT(two, eight);
  EXPECT_GE(eight, 64 * 4 * 64) << "an m64n128k16 takes 64 cycles";
}

TEST(Replay, CountsWhatIsDemanded) {
  const Replayed result = run(ring(10, 8, 4));
  EXPECT_DOUBLE_EQ(result.activity.flops, 10 * 8 * 4 * 2.0 * 64 * 128 * 16);
  EXPECT_EQ(result.activity.sm_bytes, 10 * 8 * 16'384);
  EXPECT_EQ(result.dram_read, 10 * 8 * 16'384) << "every box once";
}

TEST(Replay, ClustersBeyondTheGpuTakeASecondTurn) {
  const int64_t whole = run(ring(132, 64, 4)).activity.cycles, more = run(ring(133, 64, 4)).activity.cycles;
  EXPECT_GT(more, whole * 3 / 2);
}

TEST(Replay, IsTheSameEveryTime) {
  const GridDemands grid = ring(200, 32, 4);
  EXPECT_EQ(run(grid).activity.cycles, run(grid).activity.cycles);
}

TEST(Replay, WaitingForEverIsAnError) {
  GridDemands grid = ring(1, 4, 4);
  auto& steps = grid.kinds[0][0][0].steps;
  steps.erase(std::find_if(steps.begin(), steps.end(), [](const Step& step) { return step.what == What::Load; }));
  EXPECT_THROW(run(grid), std::runtime_error);
}

TEST(Prediction, PowerIsAWordOrAClock) {
  PowerSetting power;
  EXPECT_TRUE(parse_power("cap", &power) && power.kind == PowerSetting::Kind::Sustained);
  EXPECT_TRUE(parse_power("burst", &power) && power.kind == PowerSetting::Kind::Burst);
  EXPECT_TRUE(parse_power("1.4", &power) && power.ghz == 1.4);
  for (const char* wrong : {"fast", "1.4GHz", "14", "-1", "nan"}) EXPECT_FALSE(parse_power(wrong, &power)) << wrong;
}

TEST(Prediction, LowerLimitsLowerTheClock) {
  const Constants c = constants(read_constants(H200_CONSTANTS));
  const GridDemands grid = ring(132, 256, 6);
  const auto at = [&](PowerSetting::Kind kind) {
    return predict(std::span(&grid, 1), *find_gpu("h200"), c, {kind, 0}, 0);
  };
  const Prediction sustained = at(PowerSetting::Kind::Sustained), free = at(PowerSetting::Kind::None);
  EXPECT_LE(sustained.ghz, free.ghz);
  EXPECT_DOUBLE_EQ(free.ghz, c.clock_max);
  EXPECT_LE(sustained.watts, c.power_cap);
}

}  // namespace
}  // namespace sim::timing
