// How the production kernel on Hopper shares out D to clusters and fallback clusters, and which tile it chooses. Host
// code only: the functions are constexpr.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "level08_deep_pipeline/production/sm90/choice.h"

namespace {

using production::make_plan;
using production::Plan;
using production::Schedule;
using production::TileShape;

constexpr int H200_SMS = 132;

TileShape shape_of(std::string_view name) {
  const auto found = std::ranges::find(production::TILES, name, &production::Tile::name);
  if (found == std::end(production::TILES)) throw std::invalid_argument("there is no tile " + std::string(name));
  return found->shape;
}

int ctas(const TileShape& shape, const Schedule& schedule) {
  return schedule.workers * schedule.width * shape.cluster_m;
}

/// Whether the work tiles of `schedule` are all of m x n in whole cluster tiles, some of them cut in two.
void expect_covered(const TileShape& shape, const Schedule& schedule, int m, int n) {
  const int rows = shape.cluster_m * shape.block_m, columns = schedule.width * shape.block_n;
  EXPECT_GE(schedule.m_tiles * rows, m);
  EXPECT_GE(schedule.n_tiles * columns, n);
  EXPECT_LT((schedule.m_tiles - 1) * rows, m);
  EXPECT_LT((schedule.n_tiles - 1) * columns, n);
  const int halves = schedule.work_tiles - schedule.whole;
  EXPECT_EQ(halves % 2, 0);
  EXPECT_EQ(schedule.whole + halves / 2, schedule.m_tiles * schedule.n_tiles);
  EXPECT_GE(schedule.workers, 1);
  EXPECT_LE(schedule.workers, schedule.work_tiles);  // no worker is launched without work
}

/// Whether no other division of the SMs between main part and remainder needs fewer waves.
void expect_fewest_waves(const TileShape& shape, const Plan& plan, int m, int n, int sms) {
  for (int workers = 1; workers * shape.cluster() + shape.cluster_m <= sms; ++workers) {
    const Schedule main = production::make_schedule(shape, m, plan.main_n, shape.cluster_n, workers);
    const int left = (sms - workers * shape.cluster()) / shape.cluster_m;
    const Schedule remainder = production::make_schedule(shape, m, n - plan.main_n, 1, left);
    EXPECT_LE(plan.waves, std::max(main.waves(), remainder.waves())) << workers << " workers";
  }
}

void expect_sound(const TileShape& shape, int k) {
  for (const int sms : {2, 4, 5, 8, 20, 22, 114, 132}) {
    for (int m = 1; m <= 6000; m += 397) {
      for (int n = 8; n <= 9000; n += 424) {
        const Plan plan = make_plan(shape, m, n, k, sms);
        SCOPED_TRACE(testing::Message() << m << " x " << n << " on " << sms << " SMs");
        ASSERT_GE(plan.main_n, 0);
        ASSERT_LE(plan.main_n, n);
        if (plan.main_n > 0) expect_covered(shape, plan.main, m, plan.main_n);
        if (plan.main_n < n) expect_covered(shape, plan.remainder, m, n - plan.main_n);
        EXPECT_EQ(plan.main.workers > 0, plan.main_n > 0);
        EXPECT_EQ(plan.remainder.workers > 0, plan.main_n < n);
        // All CTAs have an SM, unless the remainder has to wait until the others are done.
        if (sms < shape.cluster()) continue;
        EXPECT_LE(ctas(shape, plan.main), sms);
        EXPECT_LE(ctas(shape, plan.remainder), sms);
        const bool together = ctas(shape, plan.main) + ctas(shape, plan.remainder) <= sms;
        EXPECT_EQ(plan.waves, together ? std::max(plan.main.waves(), plan.remainder.waves())
                                       : plan.main.waves() + plan.remainder.waves());
        // No plan is faster than all SMs at work all the time.
        const double tiles =
            double{1} * ((m + shape.block_m - 1) / shape.block_m) * ((n + shape.block_n - 1) / shape.block_n);
        EXPECT_GE(plan.waves * sms, tiles);
        if (plan.main_n > 0 && plan.main_n < n) expect_fewest_waves(shape, plan, m, n, sms);
      }
    }
  }
}
TEST(Plan, CoversDAndFitsTheGpu) {
  for (const production::Tile& tile : production::TILES) {
    if (tile.shape.split_k) continue;
    SCOPED_TRACE(tile.name);
    expect_sound(tile.shape, 64);
    expect_sound(tile.shape, 5000);
    expect_sound(tile.shape, 8192);
  }
}

TEST(Plan, OfTheHeadlineSizes) {
  // 43 columns of tiles: the last one is too narrow for a cluster tile. Two pairs take it and end before the others.
  const Plan tall = make_plan(shape_of("256x192"), 8192, 8192, 8192, H200_SMS);
  EXPECT_EQ(tall.main_n, 42 * 192);
  EXPECT_EQ(tall.main.workers, 32);
  EXPECT_EQ(tall.remainder.workers, 2);
  EXPECT_EQ(tall.remainder.waves(), 8);
  EXPECT_EQ(tall.waves, 10.5);
  // 64 columns of them are cluster tiles of four for 16 workers, in as many waves as pairs alone would take on all SMs.
  const Plan broad = make_plan(shape_of("256x192-eights"), 12288, 12288, 12288, H200_SMS);
  EXPECT_EQ(broad.main.workers, 16);
  EXPECT_EQ(broad.remainder.workers, 0);
  EXPECT_EQ(broad.waves, 24);
  // 32 columns of tiles are eight cluster tiles of four: 128 of them, eight for each of sixteen workers.
  const Plan wide = make_plan(shape_of("128x256"), 4096, 4096, 4096, H200_SMS);
  EXPECT_EQ(wide.main.workers, 16);
  EXPECT_EQ(wide.remainder.workers, 0);
  EXPECT_EQ(wide.waves, 4);
  const Plan middle = make_plan(shape_of("256x160"), 5120, 5120, 5120, H200_SMS);
  EXPECT_EQ(middle.main.workers, 16);
  EXPECT_EQ(middle.waves, 5);
  // 23 columns of tiles: cluster tiles four wide and a remainder of three need a wave more than pairs alone.
  const Plan odd = make_plan(shape_of("128x224"), 5120, 5120, 5120, H200_SMS);
  EXPECT_EQ(odd.main_n, 0);
  EXPECT_EQ(odd.waves, 7);
}

TEST(Plan, SmallProblemsAreLaunchedOnce) {
  for (const int size : {256, 1024, 2048}) {
    for (const TileShape& shape : {shape_of("256x192"), shape_of("256x192-eights"), shape_of("256x160"),
                                   shape_of("256x144"), shape_of("192x128"), shape_of("128x256"), shape_of("128x224")})
      EXPECT_EQ(make_plan(shape, size, size, size, H200_SMS).main_n, 0);
  }
  for (const TileShape& shape : {shape_of("192x192"), shape_of("128x128"), shape_of("128x64"), shape_of("64x128"),
                                 shape_of("64x64")}) {  // pairs are resident on all SMs
    const Plan plan = make_plan(shape, 8192, 8192, 8192, H200_SMS);
    EXPECT_TRUE(plan.main.workers == 0 || plan.remainder.workers == 0);
  }
}

TEST(Plan, SlicesOfKFillTheSms) {
  for (const production::Tile& tile : production::TILES) {
    const TileShape& shape = tile.shape;
    if (!shape.split_k) continue;
    for (const int sms : {2, 8, 114, 132}) {
      for (const int m : {1, 100, 700, 5000}) {
        for (const int n : {8, 304, 1000, 8192}) {
          for (const int k : {8, 64, 136, 1000, 8192, 100'000}) {
            SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << " on " << sms << " SMs");
            const Plan plan = make_plan(shape, m, n, k, sms);
            EXPECT_EQ(plan.main_n, n);
            expect_covered(shape, plan.main, m, n);
            EXPECT_EQ(plan.main.workers, plan.main.work_tiles);
            ASSERT_GE(plan.split_k, 1);
            EXPECT_LE(plan.split_k, (k + 63) / 64);  // none is empty
            if (plan.split_k > 1) EXPECT_LE(plan.main.work_tiles * plan.split_k * shape.cluster(), sms);
            if (sms >= shape.cluster())
              EXPECT_GE(plan.waves * sms, 1.0 * plan.main.work_tiles * plan.split_k * shape.cluster());
          }
        }
      }
    }
  }
  EXPECT_EQ(make_plan(shape_of("64x64-slices"), 64, 1024, 8192, H200_SMS).split_k, 4);  // sixteen pairs of tiles
  EXPECT_EQ(make_plan(shape_of("64x64-slices"), 64, 512, 8192, H200_SMS).split_k,
            8);  // eight, and more slices would be too short
  EXPECT_EQ(make_plan(shape_of("128x96-2x4-slices"), 2048, 2048, 2048, H200_SMS).split_k, 1);
}

TEST(Plan, PairsShareAWhereItIsWorthTheirStart) {
  EXPECT_EQ(make_plan(shape_of("128x64"), 1000, 1000, 8192, H200_SMS).main.workers, 64);
  EXPECT_EQ(make_plan(shape_of("128x64"), 1000, 1000, 1000, H200_SMS).remainder.workers, 128);
  EXPECT_EQ(make_plan(shape_of("128x64"), 128, 8192, 8192, H200_SMS).remainder.workers,
            128);  // one row of tiles: L2 merges
}

/// The tile that an H200 gives a product.
std::string_view choice(int m, int n, int k) {
  return production::TILES[production::choose_tile(m, n, k, H200_SMS)].name;
}

// The shapes of docs/results/h200_shapes.csv, on which the choice is fitted to agree with the tiles measured there.
TEST(Choice, OfTheListedShapes) {
  const auto cube = [](int edge) { return choice(edge, edge, edge); };
  for (const int edge : {8192, 10240}) EXPECT_EQ(cube(edge), "256x192") << edge;
  for (const int edge : {6144, 12288, 16384}) EXPECT_EQ(cube(edge), "256x192-eights") << edge;
  for (const int edge : {2048, 4096}) EXPECT_EQ(cube(edge), "128x256") << edge;
  EXPECT_EQ(cube(1024), "128x64");
  EXPECT_EQ(cube(3072), "192x192");
  EXPECT_EQ(cube(5120), "256x160");
  EXPECT_EQ(cube(7168), "128x224");
  EXPECT_EQ(choice(2000, 7000, 5000), "256x144")
      << "rows of K lie across lines of L2: clusters of eight load the fewest";
  EXPECT_EQ(choice(16, 8192, 8192), "64x64");
  EXPECT_EQ(choice(128, 8192, 8192), "64x128");
}
// Few tiles and a long K: other CTAs would be idle.
TEST(Choice, SplitsALongK) {
  for (const auto& [m, n, k] :
       {std::tuple(264, 208, 16'000), {400, 400, 8192}, {1056, 384, 15'488}, {712, 512, 13'440}})
    EXPECT_TRUE(production::TILES[production::choose_tile(m, n, k, H200_SMS)].shape.split_k) << m;
  for (const int edge : {2048, 4096, 8192})
    EXPECT_FALSE(production::TILES[production::choose_tile(edge, edge, edge, H200_SMS)].shape.split_k) << edge;
}
// A tile that no product gets would be compiled for nothing.
TEST(Choice, TakesEveryTileSomewhere) {
  std::set<int> taken;
  for (int m = 8; m <= 16'384; m = m * 3 / 2)
    for (int n = 64; n <= 16'384; n = n * 3 / 2 / 8 * 8)
      for (const int k : {512, 1000, 2048, 5000, 8192, 13'568, 30'000})
        taken.insert(production::choose_tile(m, n, k, H200_SMS));
  for (int i = 0; i < static_cast<int>(std::size(production::TILES)); ++i)
    EXPECT_TRUE(taken.contains(i)) << production::TILES[i].name;
}

}  // namespace
