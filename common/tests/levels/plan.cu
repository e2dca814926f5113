// How the production kernel on Hopper shares D out to clusters of four or eight and to pairs. Host code only: the
// functions are constexpr.
#include <gtest/gtest.h>

#include <string_view>

#include "level08_deep_pipeline/production/plan_sm90.h"

namespace {

using production::BROAD;
using production::CUT_ODD;
using production::CUT_TINY;
using production::FLAT;
using production::HIGH;
using production::make_plan;
using production::MIDDLE;
using production::NARROW;
using production::ODD;
using production::Plan;
using production::Schedule;
using production::SLIM;
using production::SMALL;
using production::SQUARE;
using production::TALL;
using production::TileShape;
using production::TINY;
using production::WIDE;

constexpr int H200_SMS = 132;

int ctas(const TileShape& shape, const Schedule& schedule) {
  return schedule.places * schedule.patch_n * shape.cluster_m;
}

/// Whether the items of `schedule` are all of m x n in whole patches, some of them cut in two.
void expect_covered(const TileShape& shape, const Schedule& schedule, int m, int n) {
  const int patch_rows = shape.cluster_m * shape.block_m, patch_cols = schedule.patch_n * shape.block_n;
  EXPECT_GE(schedule.m_blocks * patch_rows, m);
  EXPECT_GE(schedule.n_blocks * patch_cols, n);
  EXPECT_LT((schedule.m_blocks - 1) * patch_rows, m);
  EXPECT_LT((schedule.n_blocks - 1) * patch_cols, n);
  const int halves = schedule.items - schedule.whole;
  EXPECT_EQ(halves % 2, 0);
  EXPECT_EQ(schedule.whole + halves / 2, schedule.m_blocks * schedule.n_blocks);
  EXPECT_GE(schedule.places, 1);
  EXPECT_LE(schedule.places, schedule.items);  // no CTA is launched without work
}

/// Whether no other division of the SMs between patches and strip needs fewer waves.
void expect_fewest_waves(const TileShape& shape, const Plan& plan, int m, int n, int sms) {
  for (int places = 1; places * shape.cluster() + shape.cluster_m <= sms; ++places) {
    const Schedule main = production::make_schedule(shape, m, plan.main_n, shape.cluster_n, places);
    const int left = (sms - places * shape.cluster()) / shape.cluster_m;
    const Schedule strip = production::make_schedule(shape, m, n - plan.main_n, 1, left);
    EXPECT_LE(plan.waves, std::max(main.waves(), strip.waves())) << places << " places";
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
        if (plan.main_n < n) expect_covered(shape, plan.strip, m, n - plan.main_n);
        EXPECT_EQ(plan.main.places > 0, plan.main_n > 0);
        EXPECT_EQ(plan.strip.places > 0, plan.main_n < n);
        // Everybody has an SM, unless the strip has to wait until the others are done.
        if (sms < shape.cluster()) continue;
        EXPECT_LE(ctas(shape, plan.main), sms);
        EXPECT_LE(ctas(shape, plan.strip), sms);
        const bool together = ctas(shape, plan.main) + ctas(shape, plan.strip) <= sms;
        EXPECT_EQ(plan.waves,
                  together ? std::max(plan.main.waves(), plan.strip.waves()) : plan.main.waves() + plan.strip.waves());
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
    if (tile.shape.cut_k) continue;
    SCOPED_TRACE(tile.name);
    expect_sound(tile.shape, 64);
    expect_sound(tile.shape, 5000);
    expect_sound(tile.shape, 8192);
  }
}

TEST(Plan, OfTheHeadlineSizes) {
  // 43 columns of tiles: the last one is too narrow for a patch and goes to two pairs, which are done before the
  // others.
  const Plan tall = make_plan(TALL, 8192, 8192, 8192, H200_SMS);
  EXPECT_EQ(tall.main_n, 42 * 192);
  EXPECT_EQ(tall.main.places, 32);
  EXPECT_EQ(tall.strip.places, 2);
  EXPECT_EQ(tall.strip.waves(), 8);
  EXPECT_EQ(tall.waves, 10.5);
  // 64 columns of them are patches of four at 16 places, in as many waves as pairs alone would take on all SMs.
  const Plan broad = make_plan(BROAD, 12288, 12288, 12288, H200_SMS);
  EXPECT_EQ(broad.main.places, 16);
  EXPECT_EQ(broad.strip.places, 0);
  EXPECT_EQ(broad.waves, 24);
  // 32 columns of tiles are eight patches of four: 128 of them, eight at each of sixteen places.
  const Plan wide = make_plan(WIDE, 4096, 4096, 4096, H200_SMS);
  EXPECT_EQ(wide.main.places, 16);
  EXPECT_EQ(wide.strip.places, 0);
  EXPECT_EQ(wide.waves, 4);
  const Plan middle = make_plan(MIDDLE, 5120, 5120, 5120, H200_SMS);
  EXPECT_EQ(middle.main.places, 16);
  EXPECT_EQ(middle.waves, 5);
  // 23 columns of tiles: patches four wide and a strip of three need a wave more than pairs alone.
  const Plan odd = make_plan(ODD, 5120, 5120, 5120, H200_SMS);
  EXPECT_EQ(odd.main_n, 0);
  EXPECT_EQ(odd.waves, 7);
}

TEST(Plan, SmallProblemsAreLaunchedOnce) {
  for (const int size : {256, 1024, 2048}) {
    for (const TileShape& shape : {TALL, BROAD, MIDDLE, SLIM, HIGH, WIDE, ODD})
      EXPECT_EQ(make_plan(shape, size, size, size, H200_SMS).main_n, 0);
  }
  for (const TileShape& shape : {SQUARE, SMALL, NARROW, FLAT, TINY}) {  // pairs find room everywhere
    const Plan plan = make_plan(shape, 8192, 8192, 8192, H200_SMS);
    EXPECT_TRUE(plan.main.places == 0 || plan.strip.places == 0);
  }
}

TEST(Plan, SlicesOfKFillTheSms) {
  for (const production::Tile& tile : production::TILES) {
    const TileShape& shape = tile.shape;
    if (!shape.cut_k) continue;
    for (const int sms : {2, 8, 114, 132}) {
      for (const int m : {1, 100, 700, 5000}) {
        for (const int n : {8, 304, 1000, 8192}) {
          for (const int k : {8, 64, 136, 1000, 8192, 100'000}) {
            SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << " on " << sms << " SMs");
            const Plan plan = make_plan(shape, m, n, k, sms);
            EXPECT_EQ(plan.main_n, n);
            expect_covered(shape, plan.main, m, n);
            EXPECT_EQ(plan.main.places, plan.main.items);  // each has one
            ASSERT_GE(plan.slices, 1);
            EXPECT_LE(plan.slices, (k + 63) / 64);  // none is empty
            if (plan.slices > 1) EXPECT_LE(plan.main.items * plan.slices * shape.cluster(), sms);
            if (sms >= shape.cluster())
              EXPECT_GE(plan.waves * sms, 1.0 * plan.main.items * plan.slices * shape.cluster());
          }
        }
      }
    }
  }
  EXPECT_EQ(make_plan(CUT_TINY, 64, 1024, 8192, H200_SMS).slices, 4);  // sixteen pairs of tiles
  EXPECT_EQ(make_plan(CUT_TINY, 64, 512, 8192, H200_SMS).slices, 8);   // eight, and more slices would be too short
  EXPECT_EQ(make_plan(CUT_ODD, 776, 1232, 5888, H200_SMS).slices, 2);  // 7 x 8 tiles
  EXPECT_EQ(make_plan(CUT_ODD, 2048, 2048, 2048, H200_SMS).slices, 1);
}

TEST(Plan, PairsShareAWhereItIsWorthTheirStart) {
  EXPECT_EQ(make_plan(NARROW, 1000, 1000, 8192, H200_SMS).main.places, 64);
  EXPECT_EQ(make_plan(NARROW, 1000, 1000, 1000, H200_SMS).strip.places, 128);
  EXPECT_EQ(make_plan(NARROW, 128, 8192, 8192, H200_SMS).strip.places, 128);  // one row of tiles: L2 merges
}

/// The tile that an H200 gives a product.
std::string_view choice(int m, int n, int k) { return production::TILES[production::choose_tile(m, n, k, H200_SMS)].name; }

// By hand: the waves that each shape needs, times its tile.
TEST(Choice, FitsTheLastWave) {
  const auto cube = [](int edge) { return choice(edge, edge, edge); };
  for (const int edge : {8192, 10240}) EXPECT_EQ(cube(edge), "256x192") << edge;
  for (const int edge : {6144, 12288, 16384}) EXPECT_EQ(cube(edge), "256x192-eights") << edge;
  EXPECT_EQ(cube(5120), "256x160");
  EXPECT_EQ(cube(1536), "128x160-turns");
  for (const int edge : {3072, 5760}) EXPECT_EQ(cube(edge), "192x192") << edge;
  for (const int edge : {2048, 3584, 4096}) EXPECT_EQ(cube(edge), "128x256") << edge;
  EXPECT_EQ(cube(7168), "128x224");
  EXPECT_EQ(cube(1024), "128x64");
  for (const int edge : {8, 64, 512}) EXPECT_EQ(cube(edge), "64x64") << edge;
  EXPECT_EQ(choice(4096, 14336, 4096), "256x160");
  EXPECT_EQ(choice(256, 8192, 8192), "128x128");
  for (const int m : {1, 16, 64}) EXPECT_EQ(choice(m, 8192, 8192), "64x64") << m;
  for (const int m : {72, 128}) EXPECT_EQ(choice(m, 8192, 8192), "64x128") << m;
  EXPECT_EQ(choice(384, 8192, 8192), "192x128-turns-swapped") << "two columns of them, one wave";
  EXPECT_EQ(choice(150, 3856, 2496), "64x128");
  EXPECT_EQ(choice(1000, 1000, 8192), "128x64");
  // A short K: D leaves while the other consumer multiplies.
  EXPECT_EQ(cube(4608), "128x160-turns");
  EXPECT_EQ(choice(4096, 32768, 512), "128x160-turns");
  EXPECT_EQ(choice(4096, 2112, 7168), "128x176-turns");
  EXPECT_EQ(choice(11496, 3064, 64), "128x64") << "next to nothing but D: small tiles end at different times";
  // Rows of K that lie across lines of L2: clusters of eight load the fewest.
  EXPECT_EQ(choice(2000, 7000, 5000), "256x144");
  EXPECT_GT(make_plan(SLIM, 2000, 7000, 5000, H200_SMS).main.places, 0);
  // Few tiles and a long K, but not where the sums of the slices would take as long as the K blocks that they save.
  EXPECT_EQ(choice(264, 208, 16000), "96x64-2x4-slices-swapped");
  EXPECT_EQ(choice(400, 400, 8192), "160x64-1x4-slices-swapped");
  EXPECT_EQ(choice(493, 1672, 32448), "128x160-slices");
  EXPECT_EQ(choice(712, 512, 13440), "160x64-1x4-slices-swapped");
  EXPECT_EQ(choice(1056, 384, 15488), "128x96-2x4-slices");
  EXPECT_EQ(choice(256, 256, 1024), "64x64");
  // One wave of whole tiles: eight CTAs load the fewest rows.
  EXPECT_EQ(choice(1467, 296, 5824), "128x80-2x4-slices");
  EXPECT_EQ(choice(5417, 176, 13576), "96x128-4x2-slices-swapped");
  EXPECT_EQ(choice(408, 2912, 6304), "128x112-2x4");
  // Rows that tiles fit only as columns.
  EXPECT_EQ(choice(300, 14336, 4096), "160x256-swapped");
  EXPECT_EQ(choice(576, 8192, 8192), "192x192-swapped");
  EXPECT_EQ(choice(448, 8192, 8192), "224x128-swapped");
  EXPECT_EQ(choice(2053, 7880, 1544), "208x128-swapped");
  EXPECT_EQ(choice(144, 8192, 8192), "80x128-swapped");
  EXPECT_EQ(choice(320, 4096, 14336), "80x128-swapped");
  // As many columns as there are SMs: L2 merges the rows of B that all of them ask for, unless these lie across lines.
  EXPECT_EQ(choice(10461, 128, 4224), "80x128-swapped");
  EXPECT_EQ(choice(6877, 128, 1640), "128x96-4x2-slices");
  // Where memory decides, one wave that all SMs share in.
  EXPECT_EQ(choice(64, 10432, 6080), "128x80");
  // Widths between the others', of which the SMs have one each, or two.
  EXPECT_EQ(choice(531, 6944, 8128), "192x160");
  EXPECT_EQ(choice(4111, 1288, 13696), "192x112");
  EXPECT_EQ(choice(334, 3480, 2176), "128x80");
  for (const int n : {8, 64, 248}) EXPECT_EQ(choice(585, n, 8).find("swapped"), std::string_view::npos) << n;
}

}  // namespace
