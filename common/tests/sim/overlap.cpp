// Launches of one stream that may overlap: programmatic dependent launch.
#include "support.h"

namespace sim::test {
namespace {

constexpr uint32_t kThreads = 32;

/// Lets the next launch start, or does not; after a while each CTA stores 1 into its place.
Source first_kernel(bool lets_dependents_start) {
  Source source;
  source.parameters = ".param .u64 data";
  source.body = std::string(lets_dependents_start ? "griddepcontrol.launch_dependents;\n" : "") + R"(
    ld.param.u64 %rd1, [data]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
    nanosleep.u32 2000; mov.u32 %r2, 1; st.global.u32 [%rd1], %r2;)";
  return source;
}

/// Each CTA adds up what is in all places, before it waits for the launch before, and after.
Source second_kernel() {
  Source source;
  source.parameters = ".param .u64 data, .param .u64 sums, .param .u32 count";
  source.body = R"(
    ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [sums]; ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 8; add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u64 %rd4, %rd1;
    before: ld.global.u32 %r5, [%rd4]; add.u32 %r3, %r3, %r5; add.s64 %rd4, %rd4, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1; @%p1 bra before;
    griddepcontrol.launch_dependents; griddepcontrol.wait;
    mov.u32 %r6, 0; mov.u32 %r4, 0; mov.u64 %rd4, %rd1;
    after: ld.global.u32 %r5, [%rd4]; add.u32 %r6, %r6, %r5; add.s64 %rd4, %rd4, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1; @%p1 bra after;
    st.global.v2.u32 [%rd2], {%r3, %r6};)";
  return source;
}

struct Case {
  uint32_t first_ctas = 4, second_ctas = 4;
  bool lets_start = true, overlaps = true;
  int sms = 0;  ///< each has room for one CTA
};
struct Sums {
  std::vector<uint32_t> before, after;  ///< by CTA of the second launch
};

LaunchConfig config_of(uint32_t ctas, bool overlaps) {
  return {.grid = {ctas, 1, 1}, .block = {kThreads, 1, 1}, .dynamic_smem = 120 * 1024, .overlaps = overlaps};
}

Sums run(const Case& c, Options options = {}) {
  options.sms = c.sms;
  Bench bench(options);
  auto* data = bench.upload(std::vector<uint32_t>(c.first_ctas));
  auto* sums = bench.upload(std::vector<uint32_t>(2 * c.second_ctas));
  expect_success(bench.launch(first_kernel(c.lets_start), config_of(c.first_ctas, false), data));
  expect_success(bench.launch(second_kernel(), config_of(c.second_ctas, c.overlaps), data, sums, c.first_ctas));
  expect_success(bench.device().settle());
  Sums result;
  for (uint32_t i = 0; i < c.second_ctas; ++i) {
    result.before.push_back(sums[2 * i]);
    result.after.push_back(sums[2 * i + 1]);
  }
  return result;
}

TEST(Overlap, WhatIsNotWaitedForIsReadTooEarly) {
  const Sums sums = run({});
  EXPECT_EQ(sums.before, std::vector<uint32_t>(4, 0));
  EXPECT_EQ(sums.after, std::vector<uint32_t>(4, 4));
}

TEST(Overlap, WhoeverWaitsSeesEverythingInEverySchedule) {
  bool any_early = false;
  for (const Options& options : all_schedules()) {
    const Sums sums = run({.first_ctas = 11, .second_ctas = 7, .sms = 4}, options);
    EXPECT_EQ(sums.after, std::vector<uint32_t>(7, 11));
    if (options.schedule != SchedulePolicy::Default)
      any_early |= std::any_of(sums.before.begin(), sums.before.end(), [](uint32_t sum) { return sum < 11; });
  }
  EXPECT_TRUE(any_early) << "no seed and no latest schedule overlaps";
}

TEST(Overlap, LaunchesWhoseClustersTakeTurns) {
  // An atomic operation on global memory is what makes them.
  Source first = first_kernel(true);
  first.body += "mov.u32 %r3, 0; atom.global.add.u32 %r4, [%rd1], %r3;";
  for (const Options& schedule : all_schedules()) {
    Options options = schedule;
    options.sms = 8;
    Bench bench(options);
    auto* data = bench.upload(std::vector<uint32_t>(4));
    auto* sums = bench.upload(std::vector<uint32_t>(2));
    expect_success(bench.launch(first, config_of(4, false), data));
    expect_success(bench.launch(second_kernel(), config_of(1, true), data, sums, 4u));
    expect_success(bench.device().settle());
    EXPECT_EQ(sums[1], 4u);
    if (options.schedule == SchedulePolicy::Default) { EXPECT_LT(sums[0], 4u); }
  }
}

TEST(Overlap, NeedsTheAttributeAndTheInstruction) {
  EXPECT_EQ(run({.overlaps = false}).before, std::vector<uint32_t>(4, 4));
  EXPECT_EQ(run({.lets_start = false}).before, std::vector<uint32_t>(4, 4));
}

TEST(Overlap, NotBeforeAllCtasHaveStartedAndOnlyWhereThereIsRoom) {
  // Two of eleven CTAs leave, of the four that run last: the next launch's find room for two, and the others come
  // later.
  const Sums sums = run({.first_ctas = 11, .second_ctas = 3, .sms = 4});
  EXPECT_EQ(sums.before, (std::vector<uint32_t>{9, 9, 11}));
  // Six SMs have room for all.
  EXPECT_EQ(run({.first_ctas = 4, .second_ctas = 2, .sms = 6}).before, (std::vector<uint32_t>{0, 0}));
}

TEST(Overlap, TheSameOnAnyNumberOfHostThreads) {
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(run({.first_ctas = 40, .second_ctas = 30, .sms = 8}, {.threads = threads}).before,
              run({.first_ctas = 40, .second_ctas = 30, .sms = 8}).before);
  }
}

TEST(Overlap, ThreeInARow) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    auto* data = bench.upload(std::vector<uint32_t>(4));
    auto* sums = bench.upload(std::vector<uint32_t>(2 * 4));
    auto* more = bench.upload(std::vector<uint32_t>(2 * 2));
    expect_success(bench.launch(first_kernel(true), config_of(4, false), data));
    expect_success(bench.launch(second_kernel(), config_of(4, true), data, sums, 4u));
    expect_success(bench.launch(second_kernel(), config_of(2, true), sums, more, 8u));
    EXPECT_EQ(sums[1], 0u) << "it waits for the host to ask";
    expect_success(bench.device().settle());
    EXPECT_EQ(more[1], more[3]);
    EXPECT_EQ(more[1], sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7]);
  }
}

TEST(Overlap, ALaunchThatDoesNotWaitEndsNothingEarly) {
  const std::string lets = "griddepcontrol.launch_dependents; ",
                    some_wait = "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 griddepcontrol.wait; ";
  const struct {
    const char* name;
    std::string second, third;
    uint32_t ctas;
  } forms[] = {{"ends at once", "", "", 1},
               {"ends at once, in more CTAs than fit", "", "", 20},
               {"one of its CTAs ends at once", some_wait, "", 4},
               {"lets a third start, which ends at once", lets, " ", 2},
               {"waits, and a third ends at once", lets + "griddepcontrol.wait; ", " ", 2},
               {"ends at once, and a third waits", lets, "griddepcontrol.wait; ", 2}};
  for (const auto& form : forms) {
    SCOPED_TRACE(form.name);
    for (Options options : all_schedules()) {
      options.sms = 8;
      Bench bench(options);
      auto* data = bench.upload(std::vector<uint32_t>(4));
      Source next;
      next.body = form.second;
      expect_success(bench.launch(first_kernel(true), config_of(4, false), data));
      expect_success(bench.launch(next, config_of(form.ctas, true)));
      next.body = form.third;
      if (!form.third.empty()) expect_success(bench.launch(next, config_of(form.ctas, true)));
      expect_success(bench.device().settle());
      EXPECT_EQ(std::vector<uint32_t>(data, data + 4), std::vector<uint32_t>(4, 1));
    }
  }
}

TEST(Overlap, AnotherStreamOrAnOrdinaryLaunchFollowsTheEnd) {
  Bench bench;
  auto* data = bench.upload(std::vector<uint32_t>(4));
  auto* sums = bench.upload(std::vector<uint32_t>(2));
  expect_success(bench.launch(first_kernel(true), config_of(4, false), data));
  LaunchConfig other = config_of(1, true);
  other.stream = 17;
  expect_success(bench.launch(second_kernel(), other, data, sums, 4u));
  expect_success(bench.device().settle());
  EXPECT_EQ(sums[0], 4u);
}

TEST(Overlap, AFailureEndsAllOfThem) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    auto* data = bench.upload(std::vector<uint32_t>(4));
    auto* sums = bench.upload(std::vector<uint32_t>(2 * 4));
    expect_success(bench.launch(first_kernel(true), config_of(8, false), data));  // four CTAs too many
    expect_success(bench.launch(second_kernel(), config_of(4, true), data, sums, 4u));
    expect_fault(bench.device().settle(), faults::access_outside);
    expect_success(bench.device().settle());  // and that is all
  }
}

}  // namespace
}  // namespace sim::test
