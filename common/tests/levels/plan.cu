// How level 08 on Hopper shares D out to clusters of four and to pairs. Host code only: the functions are constexpr.
#include <gtest/gtest.h>

#include "level08_deep_pipeline/kernel_sm90.cuh"

namespace {

using level08::make_plan;
using level08::Plan;
using level08::Schedule;
using level08::Small;
using level08::Tall;
using level08::Wide;

constexpr int H200_SMS = 132;

int ctas(const Schedule& schedule) { return schedule.places * schedule.patch_n * Tall::CLUSTER_M; }

/// Whether the items of `schedule` are all of m x n in whole patches, some of them cut in two.
template <class Config>
void expect_covered(const Schedule& schedule, int m, int n) {
  const int patch_rows = Config::CLUSTER_M * Config::BLOCK_M, patch_cols = schedule.patch_n * Config::BLOCK_N;
  EXPECT_GE(schedule.m_blocks * patch_rows, m);
  EXPECT_GE(schedule.n_blocks * patch_cols, n);
  EXPECT_LT((schedule.m_blocks - 1) * patch_rows, m);
  EXPECT_LT((schedule.n_blocks - 1) * patch_cols, n);
  const int halves = schedule.items - schedule.whole;
  EXPECT_EQ(halves % 2, 0);
  EXPECT_EQ(schedule.whole + halves / 2, schedule.m_blocks * schedule.n_blocks);
  EXPECT_GE(schedule.places, 1);
  EXPECT_LE(schedule.places, schedule.items);  // nobody is launched for nothing
}

/// Whether no other division of the SMs between patches and strip needs fewer waves.
template <class Config>
void expect_fewest_waves(const Plan& plan, int m, int n, int sms) {
  for (int places = 1; places * Config::CLUSTER_SIZE + Config::CLUSTER_M <= sms; ++places) {
    const Schedule main = level08::make_schedule<Config>(m, plan.main_n, Config::CLUSTER_N, places);
    const int left = (sms - places * Config::CLUSTER_SIZE) / Config::CLUSTER_M;
    const Schedule strip = level08::make_schedule<Config>(m, n - plan.main_n, 1, left);
    EXPECT_LE(plan.waves, std::max(main.waves(), strip.waves())) << places << " places";
  }
}

template <class Config>
void expect_sound() {
  for (const int sms : {2, 4, 5, 8, 20, 22, 114, 132}) {
    for (int m = 1; m <= 6000; m += 397) {
      for (int n = 8; n <= 9000; n += 424) {
        const Plan plan = make_plan<Config>(m, n, sms);
        SCOPED_TRACE(testing::Message() << m << " x " << n << " on " << sms << " SMs");
        ASSERT_GE(plan.main_n, 0);
        ASSERT_LE(plan.main_n, n);
        if (plan.main_n > 0) expect_covered<Config>(plan.main, m, plan.main_n);
        if (plan.main_n < n) expect_covered<Config>(plan.strip, m, n - plan.main_n);
        EXPECT_EQ(plan.main.places > 0, plan.main_n > 0);
        EXPECT_EQ(plan.strip.places > 0, plan.main_n < n);
        // Everybody has an SM, unless the strip has to wait until the others are done.
        if (sms < Config::CLUSTER_SIZE) continue;
        EXPECT_LE(ctas(plan.main), sms);
        EXPECT_LE(ctas(plan.strip), sms);
        const bool together = ctas(plan.main) + ctas(plan.strip) <= sms;
        EXPECT_EQ(plan.waves,
                  together ? std::max(plan.main.waves(), plan.strip.waves()) : plan.main.waves() + plan.strip.waves());
        // No plan is faster than all SMs at work all the time.
        const double tiles =
            double{1} * ((m + Config::BLOCK_M - 1) / Config::BLOCK_M) * ((n + Config::BLOCK_N - 1) / Config::BLOCK_N);
        EXPECT_GE(plan.waves * sms, tiles);
        if (plan.main_n > 0 && plan.main_n < n) expect_fewest_waves<Config>(plan, m, n, sms);
      }
    }
  }
}
TEST(Plan, CoversDAndFitsTheGpu) {
  expect_sound<Tall>();
  expect_sound<Wide>();
  expect_sound<Small>();
}

TEST(Plan, OfTheHeadlineSizes) {
  // 43 columns of tiles: the last one is too narrow for a patch and goes to two pairs, which are done before the others.
  const Plan tall = make_plan<Tall>(8192, 8192, H200_SMS);
  EXPECT_EQ(tall.main_n, 42 * 192);
  EXPECT_EQ(tall.main.places, 32);
  EXPECT_EQ(tall.strip.places, 2);
  EXPECT_EQ(tall.strip.waves(), 8);
  EXPECT_EQ(tall.waves, 10.5);
  // 16 x 8 patches: four waves of 32 do, so the last place of 33 stays dark.
  const Plan wide = make_plan<Wide>(4096, 4096, H200_SMS);
  EXPECT_EQ(wide.main_n, 4096);
  EXPECT_EQ(wide.main.places, 32);
  EXPECT_EQ(wide.strip.places, 0);
  EXPECT_EQ(wide.waves, 4);
}

TEST(Plan, SmallProblemsAreLaunchedOnce) {
  for (const int size : {256, 1024, 2048}) {
    EXPECT_EQ(make_plan<Tall>(size, size, H200_SMS).main_n, 0);
    EXPECT_EQ(make_plan<Wide>(size, size, H200_SMS).main_n, 0);
  }
  EXPECT_EQ(make_plan<Small>(8192, 8192, H200_SMS).main_n, 0);  // no clusters of four at all
}

}  // namespace
