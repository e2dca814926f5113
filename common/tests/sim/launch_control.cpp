// Cluster launch control: which cluster gets which work, and what a program may not count on.
#include <algorithm>
#include <numeric>

#include "support.h"

namespace sim::test {
namespace {

constexpr uint32_t kCtas = 24;

/// A kernel for clusters of two. Each of its CTAs adds 1 to seen[the x index of its work]. As long as its cluster is
/// granted work of a cluster that has not started, it goes on with that; seen[kCtas] counts the grants.
/// After a refusal it goes on at `refused`. `answered` stands between the wait for the answer and its use.
Source stealing(const std::string& refused, const std::string& answered = "") {
  Source source;
  source.prologue = ".shared .align 16 .b8 answer[16];\n.shared .align 8 .b64 bar;\n";
  source.parameters = ".param .u64 seen";
  source.directives = ".maxntid 1024\n.minnctapersm 2";
  source.body = R"(
      ld.param.u64 %rd1, [seen]; mov.u32 %r1, answer; mov.u32 %r9, bar; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %cluster_ctarank; mov.u32 %r8, 0; setp.ne.u32 %p5, %r3, 0;
      mbarrier.init.shared::cta.b64 [%r9], 1; fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;
      work: mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; red.global.add.u32 [%rd3], 1;
      ask: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 16; barrier.cluster.arrive; barrier.cluster.wait;
      @!%p5 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r1], [%r9];
      )" + answered +
                R"(
      wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r9], %r8; @!%p1 bra wait; xor.b32 %r8, %r8, 1;
      ld.shared.b128 %q1, [%r1]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q1; @!%p2 bra refused; clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r5, %r6, _}, %q1; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r7, %q1;
      setp.ne.u32 %p3, %r4, %r7; @%p3 trap; add.u32 %r2, %r4, %r3; red.global.add.u32 [%rd1+96], 1; barrier.cluster.arrive; barrier.cluster.wait; bra work;
      refused: )" +
                refused + R"(
      done: barrier.cluster.arrive; barrier.cluster.wait;)";
  return source;
}

/// A CTA per SM: two clusters fit at once.
const LaunchConfig kConfig{.grid = {kCtas, 1, 1}, .cluster = {2, 1, 1}, .dynamic_smem = 160 * 1024};
Options small(Options options = {}) {
  options.sms = 4;
  return options;
}

TEST(LaunchControl, CancelledClustersAreWorkedOnByOthers) {
  for (const Options& schedule : all_schedules()) {
    Bench bench(small(schedule));
    auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
    expect_success(bench.launch(stealing(""), kConfig, seen));
    for (uint32_t i = 0; i < kCtas; ++i) EXPECT_EQ(seen[i], 1u) << i;
    // Where no request is refused before all work is taken, those that start do all the work.
    if (schedule.schedule != Options::Schedule::Seeded)
      EXPECT_EQ(seen[kCtas], kCtas - 4);
    else
      EXPECT_GT(seen[kCtas], 0u);
  }
}

TEST(LaunchControl, AWholeGpuHasNothingToGive) {
  Bench bench;
  auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
  expect_success(bench.launch(stealing(""), kConfig, seen));
  EXPECT_EQ(std::accumulate(seen, seen + kCtas, 0u), kCtas);
  EXPECT_EQ(seen[kCtas], 0u);
}

// Seeded schedules refuse now and then although clusters are left; these start by themselves then.
TEST(LaunchControl, ARefusalNeedNotMeanTheEnd) {
  uint32_t fewest = kCtas;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Options options = small();
    options.schedule = Options::Schedule::Seeded, options.seed = seed;
    Bench bench(options);
    auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
    expect_success(bench.launch(stealing(""), kConfig, seen));
    EXPECT_EQ(std::accumulate(seen, seen + kCtas, 0u), kCtas);
    fewest = std::min(fewest, seen[kCtas]);
  }
  EXPECT_LT(fewest, kCtas - 4);
}

TEST(LaunchControl, NobodyAsksAgainAfterARefusal) {
  Bench bench(small());
  auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
  expect_fault(bench.launch(stealing("bra ask;"), kConfig, seen), faults::cancel_after_refusal);
}

TEST(LaunchControl, AnAnswerIsNotThereBeforeItsBarrierSaysSo) {
  for (const Options& schedule : all_schedules()) {
    Bench bench(small(schedule));
    auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
    expect_fault(bench.launch(stealing("",
                                       "ld.shared.b128 %q1, [%r1]; "
                                       "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q1;"),
                              kConfig, seen),
                 faults::query_of_no_response);
  }
}

TEST(LaunchControl, ARefusalNamesNoCluster) {
  Bench bench(small());
  auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
  expect_fault(
      bench.launch(stealing("clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r7, %q1;"), kConfig, seen),
      faults::cta_of_refused_cancel);
}

// The CTA of rank 1 leaves while an answer for it is under way.
TEST(LaunchControl, ACtaMayNotLeaveBeforeItsAnswer) {
  for (const Options& schedule : all_schedules()) {
    Bench bench(small(schedule));
    auto* seen = bench.upload(std::vector<uint32_t>(kCtas + 1, 0));
    EXPECT_EQ(bench.launch(stealing("", "@%p5 exit;"), kConfig, seen).status, Status::LaunchFailure);
  }
}

}  // namespace
}  // namespace sim::test
