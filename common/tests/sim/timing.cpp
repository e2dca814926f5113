// The timing model: its constants, its memory and power, and contention for what warps demand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "machine/gpu.h"
#include "timing/constants.h"
#include "timing/contention.h"
#include "timing/memory_model.h"
#include "timing/ordinary_loads.h"
#include "timing/prediction.h"

namespace sim::timing {
namespace {

using What = DemandStep::What;

std::vector<GpuFact> facts_of(std::string_view gpu) {
  for (const auto& [key, text] : gpu_files()) {
    if (key == gpu) return read_gpu_file(text);
  }
  return {};
}

TEST(GpuFiles, EachDescribesAGpuWithAllConstantsAndSaysWhereTheyAreFrom) {
  std::map<int, int> defaults;
  for (const auto& [key, text] : gpu_files()) {
    const std::vector<GpuFact> facts = read_gpu_file(text);
    EXPECT_NO_THROW(constants(facts));
    const Gpu gpu = describe(key, facts);
    defaults[gpu.major] += gpu.is_default;
    for (const GpuFact& each : facts) {
      EXPECT_FALSE(each.source.empty()) << each.name;
      EXPECT_TRUE(each.kind == "measured" || each.kind == "reported" || each.kind == "fitted" || each.kind == "assumed")
          << each.name << ": " << each.kind;
    }
  }
  for (const auto& [major, count] : defaults) EXPECT_EQ(count, 1) << "of compute capability " << major;
}

TEST(GpuFiles, WhatIsMissingUnknownOrThereTwiceIsAnError) {
  for (const char* name : {"gpu_sm_count", "spread"}) {
    const auto read = [&](const std::vector<GpuFact>& facts) {
      describe("h200", facts);
      constants(facts);
    };
    std::vector<GpuFact> facts = facts_of("h200");
    EXPECT_NO_THROW(read(facts));
    const auto at = std::find_if(facts.begin(), facts.end(), [&](const GpuFact& each) { return each.name == name; });
    const GpuFact whole = *at;
    facts.push_back(whole);
    EXPECT_THROW(read(facts), std::runtime_error) << name;
    facts.pop_back();
    at->value = "many";
    EXPECT_THROW(read(facts), std::runtime_error) << name;
    *at = whole;
    at->name += "s";
    EXPECT_THROW(read(facts), std::runtime_error) << name;
    facts.erase(at);
    EXPECT_THROW(read(facts), std::runtime_error) << name;
  }
  EXPECT_THROW(read_gpu_file("name,value,unit,kind,source\nspread,100,cycles,assumed\n"), std::runtime_error);
}

TEST(Constants, AnOrdinaryRunIsOrderedByTheSameTable) {
  const Constants c = built_in_constants("b200");
  const Costs before = order_costs(c);
  EXPECT_EQ(before.mma_flops_per_cycle, c.mma_flops_per_cycle);
#define SIM_TIMING_FIELD(field)                                             \
  {                                                                         \
    Constants other = c;                                                    \
    other.field = c.field + 10;                                             \
    EXPECT_FALSE(order_costs(other) == before) << #field " orders nothing"; \
  }
  SIM_ORDER_CONSTANTS(SIM_TIMING_FIELD)
#undef SIM_TIMING_FIELD
}

TEST(Memory, TheSecondReadIsAHitAndTheOldestLeaves) {
  Constants c = built_in_constants("h200");
  c.l2_useful_bytes = 3 * 16'384, c.spread = 0, c.l2_merge = 0;
  std::vector<MemoryModel::Chunk> chunks;
  for (uint32_t i = 0; i < 4; ++i) chunks.push_back({16'384, i, 128});
  MemoryModel memory(c, chunks, {0}, 1.5);
  const auto latency = [&](uint32_t chunk, Tick now) { return memory.read(chunk, 0, 0, {now, now}) - now; };
  const Tick miss = latency(0, 0), hit = latency(0, 1'000 * kCycle);
  EXPECT_GT(miss, hit);
  EXPECT_EQ(memory.dram_read(), 16'384);
  for (uint32_t i = 1; i < 4; ++i) latency(i, (10'000 + i) * kCycle);
  EXPECT_EQ(memory.dram_read(), 4 * 16'384);
  latency(3, 20'000 * kCycle);
  EXPECT_EQ(memory.dram_read(), 4 * 16'384) << "the newest is still there";
  latency(0, 30'000 * kCycle);
  EXPECT_EQ(memory.dram_read(), 5 * 16'384) << "the oldest had to leave";
}

TEST(Memory, ReadsOfAGpcMergeAndThoseOfATpcAreOneForL2) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 100;
  MemoryModel memory(c, {{16'384, 0, 128}}, {0, 0}, 1.5);
  const Tick first = memory.read(0, 0, 0, {0, 0});
  EXPECT_EQ(memory.read(0, 0, 0, {kCycle, kCycle}), first) << "the other SM of the TPC";
  EXPECT_EQ(memory.l2_bytes(), 16'384);
  EXPECT_EQ(memory.read(0, 0, 1, {kCycle, kCycle}), first) << "another TPC of the GPC";
  EXPECT_EQ(memory.l2_bytes(), 2 * 16'384);
  EXPECT_GE(memory.read(0, 1, 0, {kCycle, kCycle}), first) << "another GPC";
  EXPECT_EQ(memory.l2_bytes(), 3 * 16'384);
  EXPECT_EQ(memory.dram_read(), 16'384);
}

TEST(Memory, HalvesOfL2HelpOneAnotherWithDram) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0;
  MemoryModel memory(c, {{16'384, 0, 128}}, {0, 1}, 1.5);
  const auto latency = [&](uint32_t gpc, Tick now) { return memory.read(0, gpc, 0, {now, now}) - now; };
  const Tick from_dram = latency(0, 0);
  EXPECT_EQ(memory.dram_read(), 16'384);
  const Tick from_the_other = latency(1, 100'000 * kCycle), near = latency(1, 200'000 * kCycle);
  EXPECT_EQ(memory.dram_read(), 16'384) << "the other half had asked for it";
  EXPECT_GT(from_dram, from_the_other);
  EXPECT_GT(from_the_other, near) << "now both halves hold all of it";
}

TEST(Memory, EachHalfOfL2IsFilledAtARateOfItsOwn) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0;
  std::vector<MemoryModel::Chunk> chunks;
  for (uint32_t i = 0; i < 200; ++i) chunks.push_back({16'384, i, 128});
  const auto last = [&](std::vector<uint32_t> half_of_gpc) {  // of what four GPCs read, each its own part
    MemoryModel memory(c, chunks, std::move(half_of_gpc), 1.5);
    Tick end = 0;
    for (uint32_t i = 0; i < 200; ++i) end = std::max(end, memory.read(i, i % 4, 0, {0, 0}));
    return end;
  };
  EXPECT_GT(last({1, 1, 1, 1}), last({0, 0, 1, 1}));
}

TEST(Memory, ALineFromTheOtherHalfCostsTheLink) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0;
  MemoryModel memory(c, {{16'384, 0, 128}}, {0, 1}, 1.5);
  memory.read(0, 0, 0, {0, 0});
  EXPECT_EQ(memory.link_bytes(), 8'192) << "half of the lines are at home in the other half";
  const Tick once = memory.link_busy();
  EXPECT_GT(once, 0);
  memory.read(0, 0, 0, {100'000 * kCycle, 100'000 * kCycle});
  EXPECT_EQ(memory.link_busy(), once) << "a copy has been kept";
  MemoryModel undivided(c, {{16'384, 0, 128}}, {0, 0}, 1.5);
  undivided.read(0, 0, 0, {0, 0});
  EXPECT_EQ(undivided.link_bytes(), 0);
}

TEST(Memory, UntilALineHasComeEachGpcAsksForItOverTheLink) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0;
  MemoryModel memory(c, {{16'384, 0, 128}}, {0, 0, 1}, 1.5);
  const Tick first = memory.read(0, 0, 0, {0, 0});
  EXPECT_EQ(memory.link_bytes(), 8'192);
  const Tick again = memory.read(0, 0, 1, {kCycle, kCycle});
  EXPECT_EQ(memory.link_bytes(), 8'192) << "it is on its way to this GPC";
  EXPECT_GE(again, first);
  memory.read(0, 1, 0, {kCycle, kCycle});
  EXPECT_EQ(memory.link_bytes(), 2 * 8'192) << "another GPC of the half";
  memory.read(0, 2, 0, {kCycle, kCycle});
  EXPECT_EQ(memory.link_bytes(), 3 * 8'192) << "the other half, which lacks the other lines";
  EXPECT_EQ(memory.dram_read(), 16'384) << "DRAM is asked once";
  memory.read(0, 1, 0, {100'000 * kCycle, 100'000 * kCycle});
  EXPECT_EQ(memory.link_bytes(), 3 * 8'192) << "it is there";
}

TEST(Memory, DramServesTheHalvesInTurn) {
  SharedQueue alone(1024), shared(1024);
  EXPECT_EQ(alone.serve(0, 4096, 0), 4 * kCycle);
  EXPECT_EQ(shared.serve(0, 40'960, 1), 40 * kCycle);
  EXPECT_EQ(shared.serve(0, 4096, 0), 8 * kCycle) << "not behind what the other client has asked for before";
  EXPECT_EQ(shared.serve(8 * kCycle, 4096, 0), 16 * kCycle);
  EXPECT_EQ(shared.serve(100 * kCycle, 4096, 1), 104 * kCycle) << "all of the earlier work is done";
  EXPECT_EQ(shared.busy(), 52 * kCycle);
}

TEST(Memory, AHalfOfL2KeepsWhatItsSmsReadAndTheHomesOfWhatOthersRead) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0, c.l2_useful_bytes = 3 * 16'384;
  std::vector<MemoryModel::Chunk> chunks;
  for (uint32_t i = 0; i < 5; ++i) chunks.push_back({16'384, i, 128});
  MemoryModel memory(c, chunks, {0, 1}, 1.5);
  Tick now = 0;
  const auto read = [&](uint32_t chunk, uint32_t gpc) { memory.read(chunk, gpc, 0, {now += 100'000 * kCycle, now}); };
  for (uint32_t i = 0; i < 5; ++i) read(i, 0);
  EXPECT_EQ(memory.dram_read(), 5 * 16'384);
  read(2, 0), read(3, 0), read(4, 0);
  EXPECT_EQ(memory.dram_read(), 5 * 16'384) << "the three newest";
  read(0, 0);
  EXPECT_EQ(memory.dram_read(), 5 * 16'384 + 8'192) << "gone from this half, but the other is the home of half of it";
}

TEST(Memory, L2IsSlowerAtALowerClockButByLessThanTheClock) {
  Constants c = built_in_constants("h200");
  c.spread = 0;
  const auto nanoseconds = [&](double ghz) {
    MemoryModel memory(c, {{128, 0, 128}}, {0}, ghz);
    memory.read(0, 0, 0, {0, 0});
    const Tick later = 100'000 * kCycle;
    return static_cast<double>(memory.read(0, 0, 0, {later, later}) - later) / kCycle / ghz;
  };
  EXPECT_GT(nanoseconds(1.0), 1.1 * nanoseconds(c.clock_max));
  EXPECT_LT(nanoseconds(1.0), c.clock_max * nanoseconds(c.clock_max));
}

TEST(Memory, WhatIsOnTheWayIsServedWhileTheRestIsAskedFor) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0;
  const auto last_of_two = [&](Tick rows) {
    MemoryModel memory(c, {{16'384, 0, 128}, {16'384, 1, 128}}, {0}, 1.5);
    memory.read(0, 0, 0, {0, 0});
    memory.read(1, 0, 0, {0, 0});
    const Tick later = 100'000 * kCycle;
    memory.read(0, 0, 0, {later, later + rows});
    return memory.read(1, 0, 1, {later, later + rows}) - later;
  };
  EXPECT_EQ(last_of_two(kCycle), last_of_two(0)) << "both wait for the path that they share";
  EXPECT_GT(last_of_two(1'000 * kCycle), last_of_two(0)) << "no request is served before it is issued";
}

TEST(Memory, NarrowRowsTakeLongerThanTheirBytes) {
  Constants c = built_in_constants("h200");
  c.spread = 0, c.l2_merge = 0;
  const auto latency = [&](uint32_t row_bytes) {
    MemoryModel memory(c, {{16'384, 0, row_bytes}}, {0}, 1.5);
    memory.read(0, 0, 0, {0, 0});
    const Tick later = 100'000 * kCycle;
    return memory.read(0, 0, 0, {later, later}) - later;
  };
  EXPECT_GT(latency(32), latency(64));
  EXPECT_GT(latency(64), latency(128));
  EXPECT_EQ(latency(256), latency(128)) << "requests of lines";
}

/// Two warps of a CTA: one loads `blocks` boxes into a ring of `stages`, the other multiplies.
GridDemands ring(uint32_t clusters, int blocks, int stages) {
  GridDemands grid;
  grid.resident = 132;
  grid.forms.loads.push_back(
      {.tensor = 0x1000, .rows = 128, .row_bytes = 128, .fetch_bytes = 128, .to = {{0, 0}}, .slot = 0});
  for (int i = 1; i < stages; ++i) {
    grid.forms.loads.push_back(grid.forms.loads.front());
    grid.forms.loads.back().slot = static_cast<uint16_t>(i);
  }
  grid.forms.mmas.push_back({64, 128, 16, 1, false, true});
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
    for (BoxPlace& place : grid.places.back()) place.y = static_cast<int32_t>(128 * i);
  }
  grid.kinds.push_back(std::move(kind));
  return grid;
}

PredictedTimes run(const GridDemands& grid) {
  const Constants c = built_in_constants("h200");
  return contend(std::span(&grid, 1), *find_gpu("h200"), c, {1.5});
}

TEST(Contention, DeeperRingsHideLatencyUntilTensorCoresLimit) {
  const int64_t one = run(ring(1, 64, 1)).activity.cycles, two = run(ring(1, 64, 2)).activity.cycles,
                eight = run(ring(1, 64, 8)).activity.cycles;
  EXPECT_GT(one, two);
  EXPECT_GT(two, eight);
  EXPECT_GE(eight, 64 * 4 * 64) << "an m64n128k16 takes 64 cycles";
}

TEST(Contention, CountsWhatIsDemanded) {
  const PredictedTimes result = run(ring(10, 8, 4));
  EXPECT_DOUBLE_EQ(result.activity.flops, 10 * 8 * 4 * 2.0 * 64 * 128 * 16);
  EXPECT_EQ(result.activity.sm_bytes, 10 * 8 * 16'384);
  EXPECT_EQ(result.dram_read, 10 * 8 * 16'384) << "every box once";
}

TEST(Contention, RowsThatDoNotBeginWithALineTakeTwoRequests) {
  const auto cycles = [](uint64_t row_step) {
    GridDemands grid = ring(132, 64, 8);
    for (LoadForm& form : grid.forms.loads) form.row_step = row_step;
    Constants c = built_in_constants("h200");
    c.gpc_bytes_per_second /= 8, c.l2_bytes_per_second /= 8;
    return static_cast<double>(contend(std::span(&grid, 1), *find_gpu("h200"), c, {1.5}).activity.cycles);
  };
  const Constants c = built_in_constants("h200");
  const double request = c.l2_request_bytes / (128 + c.l2_request_bytes);  // of what a row takes
  EXPECT_EQ(cycles(8192), cycles(0));
  EXPECT_NEAR(cycles(8192 + 64) / cycles(8192), 1 + request / 2, 0.05) << "every other row";
  EXPECT_NEAR(cycles(8192 + 16) / cycles(8192), 1 + request * 7 / 8, 0.05) << "seven of eight";
}

TEST(Contention, ClustersBeyondTheGpuTakeASecondTurn) {
  const int64_t whole = run(ring(132, 64, 4)).activity.cycles, more = run(ring(133, 64, 4)).activity.cycles;
  EXPECT_GT(more, whole * 3 / 2);
}

TEST(Contention, IsTheSameEveryTime) {
  const GridDemands grid = ring(200, 32, 4);
  EXPECT_EQ(run(grid).activity.cycles, run(grid).activity.cycles);
}

TEST(Contention, WaitingForEverIsAnError) {
  GridDemands grid = ring(1, 4, 4);
  auto& steps = grid.kinds[0][0][0].steps;
  steps.erase(std::find_if(steps.begin(), steps.end(), [](const DemandStep& step) { return step.what == What::Load; }));
  EXPECT_THROW(run(grid), std::runtime_error);
}

/// CTAs that load a box each, and as long as they are granted it, those of CTAs that have not started; at most `most`.
GridDemands stealing(uint32_t clusters, uint32_t most) {
  GridDemands grid;
  grid.resident = 132;
  grid.forms.loads.push_back(
      {.tensor = 0x1000, .rows = 128, .row_bytes = 128, .fetch_bytes = 128, .to = {{0, 0}}, .slot = 1});
  for (uint32_t grants = 0; grants <= most; ++grants) {
    ClusterDemands kind(1, std::vector<WarpDemands>(1));
    auto& [steps, pcs, places] = kind[0][0];
    for (const uint16_t slot : {0, 1}) steps.push_back({What::Init, 0, slot, 1, 1});
    for (uint32_t work = 0; work <= grants; ++work) {
      steps.push_back({What::Expect, 0, 0, 16, 1});
      steps.push_back({What::Arrive, 0, 0, 1, 0});
      steps.push_back({What::Ask, 0, 0, 1, 1});
      steps.push_back({What::Expect, 0, 1, 16'384, 1});
      steps.push_back({What::Arrive, 0, 1, 1, 0});
      steps.push_back({What::Load, 0, 0, 0, 1});
      for (const uint16_t slot : {1, 0}) steps.push_back({What::Wait, 0, slot, work & 1, 4});
      places.push_back({0, 0, 0});
    }
    steps.push_back({What::Exit, 0, 0, 0, 1});
    grid.kinds.push_back(std::move(kind));
    grid.grants.push_back(grants);
  }
  for (uint32_t i = 0; i < clusters; ++i) {
    grid.kind_of.push_back(0);
    grid.places.push_back({{0, 0, static_cast<int32_t>(128 * i)}});
  }
  return grid;
}

TEST(Contention, WorkThatIsTakenOverIsDoneOnce) {
  for (const uint32_t clusters : {1u, 132u, 133u, 400u}) {
    const PredictedTimes result = run(stealing(clusters, 6));
    EXPECT_EQ(result.activity.sm_bytes, clusters * 16'384);
    EXPECT_EQ(result.dram_read, clusters * 16'384) << "each where its owner would have loaded";
  }
  EXPECT_GT(run(stealing(133, 6)).activity.cycles, run(stealing(132, 6)).activity.cycles);
}

TEST(Contention, MoreWorkForOneClusterThanForeseenIsAnError) {
  EXPECT_THROW(run(stealing(400, 1)), std::runtime_error);
}

TEST(Contention, ATraceOfATakerIsOfTheKindThatItTurnsOutToBe) {
  const GridDemands grid = stealing(400, 6);
  ContentionLog log;
  log.want(0, 0);
  const Constants c = built_in_constants("h200");
  contend(std::span(&grid, 1), *find_gpu("h200"), c, {1.5}, &log);
  const ClusterLog* const first = log.of(0, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_GT(grid.grants.at(first->kind), 0);
  EXPECT_EQ(first->works.size(), grid.grants.at(first->kind) + 1) << "its own box, and one for each grant";
  EXPECT_EQ(first->passed.size(), grid.kinds.at(first->kind)[0][0].steps.size()) << "all of its steps";
}

TEST(Contention, ATraceKnowsOfEveryCtaOnWhichSmItIsWhen) {
  GridDemands grid = ring(400, 8, 4);
  grid.ctas_per_sm = 2, grid.resident = 264;
  ContentionLog log;
  const Constants c = built_in_constants("h200");
  const PredictedTimes result = contend(std::span(&grid, 1), *find_gpu("h200"), c, {1.5}, &log);
  const std::vector<Residence> all = log.residences(0);
  std::set<uint32_t> clusters, sms;
  uint64_t end = 0;
  for (const Residence& each : all) {
    clusters.insert(each.cluster), sms.insert(each.sm);
    end = std::max(end, each.end);
    const auto neighbours = std::ranges::count_if(all, [&](const Residence& other) {
      return other.sm == each.sm && other.begin <= each.begin && each.begin < other.end;
    });
    EXPECT_LE(neighbours, 2) << "on SM " << each.sm << " at " << each.begin;
  }
  EXPECT_EQ(all.size(), 400);
  EXPECT_EQ(clusters.size(), 400);
  EXPECT_EQ(sms.size(), 132);
  EXPECT_NEAR(static_cast<double>(end), static_cast<double>(result.activity.cycles), 1);
  EXPECT_TRUE(log.residences(1).empty());
}

TEST(Contention, GpcsWithClocksOfTheirOwnEndOneAfterTheOther) {
  const Constants c = built_in_constants("h200");
  GridDemands grid = ring(132, 256, 8);
  grid.places.assign(132, grid.places[0]);  // all load the same, so that tensor cores are the limit
  grid.forms.mmas[0].n = 256;
  const auto cycles = [&](double spread) {
    return static_cast<double>(contend(std::span(&grid, 1), *find_gpu("h200"), c, {1.5, spread}).activity.cycles);
  };
  EXPECT_NEAR(cycles(0.1) / cycles(0), 1.05, 0.02) << "the slowest is half of it below the mean";
}

TEST(Contention, CtasOfAnSmShareItsTensorMemory) {
  const auto cycles = [](uint32_t columns) {
    GridDemands grid;
    grid.ctas_per_sm = 2, grid.resident = 264;
    ClusterDemands kind(1, std::vector<WarpDemands>(1));
    auto& steps = kind[0][0].steps;
    steps.push_back({What::TmemAlloc, 0, 0, columns, 1});
    for (int i = 0; i < 100; ++i) steps.push_back({What::GlobalLoad, 0, 0, 1, 1});
    steps.push_back({What::TmemDealloc, 0, 0, columns, 1});
    steps.push_back({What::Exit, 0, 0, 0, 1});
    grid.kind_of.assign(264, 0);
    grid.places.resize(264);
    grid.kinds.push_back(std::move(kind));
    return run(grid).activity.cycles;
  };
  EXPECT_LT(cycles(256), cycles(32) + 10) << "both at once";
  EXPECT_GT(cycles(512), 3 * cycles(256) / 2) << "one after the other";
}

TEST(Contention, OrdinaryLoadsOfAnSmTakeTurnsForTheirLines) {
  const auto cycles = [](uint32_t lines, int warps) {
    GridDemands grid;
    grid.resident = 1;
    ClusterDemands kind(1, std::vector<WarpDemands>(static_cast<size_t>(warps)));
    for (WarpDemands& warp : kind[0]) {
      for (int i = 0; i < 10; ++i) {
        warp.steps.push_back({What::GlobalLoad, 0, 0, lines, 1});
        warp.steps.push_back({What::Fence, 0, 0, 0, 1});
      }
      warp.steps.push_back({What::Exit, 0, 0, 0, 1});
    }
    grid.kind_of = {0};
    grid.places.resize(1);
    grid.kinds.push_back(std::move(kind));
    return static_cast<double>(run(grid).activity.cycles);
  };
  const Constants c = built_in_constants("h200");
  EXPECT_NEAR(cycles(100, 1) - cycles(1, 1), 10 * 99 * c.store_line, 10);
  // While one warp waits for its lines, others' come: all of them but the last iteration's.
  EXPECT_NEAR(cycles(1000, 8), 10 * 8 * 1000 * c.store_line, 2000);
}

/// A CTA of so many warps, each of which issues `instructions` after a load that L1 holds, if `loads`.
GridDemands warps_that_issue(size_t warps, uint32_t instructions, bool loads) {
  GridDemands grid;
  ClusterDemands kind(1, std::vector<WarpDemands>(warps));
  for (WarpDemands& warp : kind[0]) {
    if (loads) warp.steps.push_back({What::CachedLoad, 0, 0, 1, 0});
    warp.steps.push_back({What::Exit, 0, 0, 0, instructions});
  }
  grid.kind_of = {0};
  grid.places.resize(1);
  grid.kinds.push_back(std::move(kind));
  return grid;
}

TEST(Contention, AllWarpsOfAnSmShareItsSchedulers) {
  const Constants c = built_in_constants("h200");
  const auto cycles = [](size_t warps) {
    return static_cast<double>(run(warps_that_issue(warps, 10'000, false)).activity.cycles);
  };
  EXPECT_EQ(cycles(1), 10'000 * c.instruction);
  EXPECT_EQ(cycles(8), cycles(1)) << "two warps of a scheduler at their own pace";
  EXPECT_NEAR(cycles(32), 32 * 10'000 / c.issue_per_cycle, c.issue_window);
}

TEST(Contention, OrdinaryLoadsTakeWhatDramHas) {
  const auto run_with = [](double from_dram) {
    GridDemands grid;
    grid.resident = 132, grid.from_dram = from_dram;
    ClusterDemands kind(1, std::vector<WarpDemands>(32));
    for (WarpDemands& warp : kind[0]) {
      for (int i = 0; i < 20; ++i) {
        warp.steps.push_back({What::GlobalLoad, 0, 128, 16, 1});
        warp.steps.push_back({What::Fence, 0, 0, 0, 1});
      }
      warp.steps.push_back({What::Exit, 0, 0, 0, 1});
    }
    grid.kind_of.assign(132, 0);
    grid.places.resize(132);
    grid.kinds.push_back(std::move(kind));
    return run(grid);
  };
  const double bytes = 132 * 32 * 20 * 16 * 128.0;
  const PredictedTimes all = run_with(1), half = run_with(0.5), none = run_with(0);
  EXPECT_EQ(static_cast<double>(all.dram_read), bytes);
  EXPECT_EQ(static_cast<double>(half.dram_read), bytes / 2);
  EXPECT_EQ(static_cast<double>(none.activity.l2_bytes), bytes);
  EXPECT_EQ(none.dram_read, 0);
  EXPECT_GT(all.dram_share, 0.9);
  EXPECT_LT(none.activity.cycles, all.activity.cycles);
}

TEST(OrdinaryLoads, L1HoldsWhatItsOwnCtaHasLoadedLast) {
  OrdinaryLoads loads(2, 4 * kSectorBytes);
  const std::array<uint64_t, 4> first{0, 1, 2, 4}, more{8, 9, 10, 11};
  const auto missed = [&](uint32_t rank, std::span<const uint64_t> sectors) {
    const OrdinaryLoads::Missed all = loads.load(rank, sectors, 0, 1024);
    return std::array{all.lines, all.sectors};
  };
  EXPECT_EQ(missed(0, first), (std::array{2u, 4u}));
  EXPECT_EQ(missed(0, first), (std::array{0u, 0u}));
  EXPECT_EQ(missed(1, first), (std::array{2u, 4u})) << "another CTA";
  EXPECT_EQ(missed(0, more), (std::array{1u, 4u}));
  EXPECT_EQ(missed(0, first), (std::array{2u, 4u})) << "they had to leave";
  EXPECT_EQ(loads.missed_bytes(), 16 * kSectorBytes);
  EXPECT_EQ(loads.loaded().at(0).bytes, 8 * kSectorBytes) << "different ones";
}

TEST(OrdinaryLoads, DifferentBytesComeFromDramOnceUpToTheAllocation) {
  const auto share = [](uint64_t clusters, uint64_t allocation) {
    const LoadsOfKind kind{clusters, 1'000, {{0x1000, {allocation, 500}}}};
    return share_from_dram({&kind, 1});
  };
  EXPECT_DOUBLE_EQ(share(1, 1'000'000), 0.5);
  EXPECT_DOUBLE_EQ(share(100, 1'000'000), 0.5) << "each its own";
  EXPECT_DOUBLE_EQ(share(100, 10'000), 0.1) << "of 100,000 bytes that are asked for, 10,000 are different";
  EXPECT_EQ(share_from_dram({}), 0);
}

TEST(Prediction, PowerIsAWordOrAClockOrSeveral) {
  using Kind = PowerSetting::Kind;
  std::vector<PowerSetting> powers;
  ASSERT_TRUE(parse_powers("", &powers));
  EXPECT_EQ(powers.at(0).kind, Kind::Sustained);
  ASSERT_TRUE(parse_powers("burst,cap,1.4,none", &powers));
  ASSERT_EQ(powers.size(), 4);
  EXPECT_EQ(powers[0].kind, Kind::Burst);
  EXPECT_EQ(powers[1].kind, Kind::Sustained);
  EXPECT_EQ(powers[2].ghz, 1.4);
  EXPECT_EQ(powers[3].kind, Kind::None);
  for (const char* wrong : {"fast", "1.4GHz", "14", "-1", "nan", "cap,", ",cap"})
    EXPECT_FALSE(parse_powers(wrong, &powers)) << wrong;
}

Prediction predict_at(const GridDemands& grid, PowerSetting power, const Constants& c) {
  return predict(std::span(&grid, 1), *find_gpu("h200"), c, std::span(&power, 1), 0).front();
}

TEST(Prediction, LimitsLowerTheClock) {
  using Kind = PowerSetting::Kind;
  Constants c = built_in_constants("h200");
  const GridDemands grid = ring(132, 256, 6);
  const double most = predict_at(grid, {Kind::None, 0}, c).watts;
  c.power_cap = c.power_idle + 0.5 * (most - c.power_idle),
  c.power_burst_cap = c.power_idle + 0.8 * (most - c.power_idle);
  const Prediction sustained = predict_at(grid, {Kind::Sustained, 0}, c), burst = predict_at(grid, {Kind::Burst, 0}, c),
                   free = predict_at(grid, {Kind::None, 0}, c), chosen = predict_at(grid, {Kind::Clock, 1.2}, c);
  EXPECT_LT(sustained.ghz, burst.ghz);
  EXPECT_LT(burst.ghz, free.ghz);
  EXPECT_DOUBLE_EQ(free.ghz, c.clock_max_mma);
  EXPECT_DOUBLE_EQ(chosen.ghz, 1.2);
  EXPECT_NEAR(sustained.watts, c.power_cap, 0.005 * c.power_cap);
  EXPECT_NEAR(burst.watts, c.power_burst_cap, 0.005 * c.power_burst_cap);
  EXPECT_GT(free.watts, c.power_cap);
}

TEST(Prediction, WhatIsAskedForBesideItChangesNoFigure) {
  using Kind = PowerSetting::Kind;
  const Constants c = built_in_constants("h200");
  const GridDemands grid = ring(132, 64, 6);
  const std::vector<PowerSetting> powers = {{Kind::Clock, 1.3}, {Kind::Burst, 0}, {Kind::Sustained, 0}};
  const std::vector<Prediction> together = predict(std::span(&grid, 1), *find_gpu("h200"), c, powers, 0);
  ASSERT_EQ(together.size(), 3);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(to_json(together[i]), to_json(predict_at(grid, powers[i], c)));
}

/// Two CTAs of a pair that demand everything there is, `blocks` times; the second does so much more at its end, for
/// which the first waits.
GridDemands everything(uint32_t clusters, int blocks, int more) {
  GridDemands grid;
  grid.cluster_size = 2, grid.resident = 66;
  grid.forms.loads.push_back(
      {.tensor = 0x1000, .rows = 128, .row_bytes = 128, .fetch_bytes = 128, .to = {{0, 0}}, .slot = 0});
  grid.forms.loads.push_back(
      {.tensor = 0x2000, .rows = 16, .row_bytes = 64, .fetch_bytes = 64, .to = {{0, 0}}, .slot = 0});
  grid.forms.stores.push_back({64, 128});
  grid.forms.mmas.push_back({64, 32, 16, 1, false, true});    // wgmma, narrower than some can use
  grid.forms.mmas.push_back({128, 16, 16, 1, false, false});  // tcgen05.mma, bound by its operands' bytes
  grid.forms.mmas.push_back({256, 256, 16, 2, false, false});
  ClusterDemands kind(2, std::vector<WarpDemands>(4));
  for (uint8_t rank = 0; rank < 2; ++rank) {
    for (uint32_t warp = 0; warp < 4; ++warp) {
      auto& steps = kind[rank][warp].steps;
      const bool leads = warp == 0;
      if (leads) steps.push_back({What::Init, rank, 0, 1, 1});
      if (leads) steps.push_back({What::Init, rank, 1, 1, 1});
      if (leads) steps.push_back({What::Init, rank, 2, 1, 1});
      steps.push_back({What::ClusterArrive, 0, 0, 32, 1});
      steps.push_back({What::ClusterWait, 0, 0, 0, 1});
      for (int block = 0; block < blocks; ++block) {
        const auto turn = static_cast<uint32_t>(block & 1);
        if (leads && rank == 0) {
          steps.push_back({What::Expect, 0, 0, 16'384 + 8 * 1024, 1});
          steps.push_back({What::Arrive, 0, 0, 1, 1});
          for (int box = 0; box < 9; ++box) {  // many small ones: the issuing warp limits
            const uint32_t form = box == 0 ? 0 : 1;
            steps.push_back({What::Load, 0, 0, form, 1});
            kind[rank][warp].places.push_back({form, 128 * block, 0});
          }
          steps.push_back({What::Wait, 0, 0, turn, 2});
          for (const uint32_t mma : {1u, 2u}) {
            steps.push_back({What::Mma, 0, 0, mma, 1});
            steps.push_back({What::MmaArrive, 0, 1, 1, 1});
            steps.push_back({What::Wait, 0, 1, mma == 1 ? 0u : 1u, 1});
            steps.push_back({What::TmemLoad, 0, 0, 4096, 1});
            steps.push_back({What::TmemWait, 0, 0, 0, 1});
          }
        }
        for (int i = 0; i < 2; ++i)
          steps.push_back({What::Mma, rank, 0, 0, 1}), steps.push_back({What::Commit, 0, 0, 0, 1});
        steps.push_back({What::GroupWait, 0, 0, 0, 1});
        if (leads) steps.push_back({What::Store, 0, 0, 0, 1});
        if (leads) steps.push_back({What::BulkCommit, 0, 0, 0, 1});
        if (leads) steps.push_back({What::BulkWait, 0, 0, 0, 1});
        steps.push_back({What::Shared, 0, 0, 64, 1});
        steps.push_back({What::GlobalStore, 0, 2, 64, 1});
        steps.push_back({What::GlobalLoad, 0, 0, 1, 1});
        steps.push_back({What::BarrierArrive, 0, 0, 0, 1});
        steps.push_back({What::BarrierWait, 0, 0, 0, 1});
      }
      for (int i = 0; rank == 1 && i < more; ++i) {
        steps.push_back({What::GlobalLoad, 0, 0, 1, 1});
        steps.push_back({What::Fence, 0, 0, 0, 1});
      }
      if (leads && rank == 1) {
        steps.push_back({What::Store, 0, 0, 0, 1});
        steps.push_back({What::BulkCommit, 0, 0, 0, 1});
        steps.push_back({What::BulkWait, 0, 0, 0, 1});
        steps.push_back({What::Arrive, 0, 2, 1, 1});
      }
      if (leads && rank == 0) steps.push_back({What::Wait, 0, 2, 0, 1});
      steps.push_back({What::Exit, 0, 0, 0, 1});
    }
  }
  for (uint32_t i = 0; i < clusters; ++i) {
    grid.kind_of.push_back(0);
    auto& places = grid.places.emplace_back(kind[0][0].places);
    // Neighbours load the same, and the second turn what the first did.
    for (BoxPlace& place : places) place.y = static_cast<int32_t>(128 * (i % 2 != 0 ? i % 70 : i % 8));
  }
  grid.kinds.push_back(std::move(kind));
  return grid;
}

TEST(Constants, EveryOneIsRead) {
  using Kind = PowerSetting::Kind;
  // With the first CTA the last to end, or the second; and boxes that no other cluster loads. Too many for one pass.
  const std::array<GridDemands, 5> grids = {everything(140, 8, 0), everything(70, 2, 50), ring(140, 16, 4),
                                            warps_that_issue(32, 10'000, false), warps_that_issue(1, 10, true)};
  const std::vector<PowerSetting> powers = {
      {Kind::Clock, 1.5}, {Kind::None, 0}, {Kind::Sustained, 0}, {Kind::Burst, 0}};
  const auto figures = [&](const Constants& c) {
    std::string all;
    for (const GridDemands& grid : grids) {
      for (const Prediction& each : predict(std::span(&grid, 1), *find_gpu("h200"), c, powers, 0)) all += to_json(each);
    }
    return all;
  };
  Constants c = built_in_constants("b200");
  c.l2_useful_bytes = 6 << 20, c.mma_min_columns = 64, c.mma_restart = 20, c.mma_group = 10;
  c.power_cap = 1.5 * c.power_idle, c.power_burst_cap = 1.8 * c.power_idle;
  const std::string before = figures(c);
#define SIM_TIMING_FIELD(field)                                                     \
  {                                                                                 \
    Constants other = c;                                                            \
    other.field = 0.6 * c.field;                                                    \
    EXPECT_NE(figures(other), before) << #field " makes no difference to anything"; \
  }
  SIM_TIMING_CONSTANTS(SIM_TIMING_FIELD)
#undef SIM_TIMING_FIELD
}

}  // namespace
}  // namespace sim::timing
