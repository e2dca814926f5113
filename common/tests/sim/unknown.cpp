// Kernels whose way depends on data are refused by a run without data; those that only compute with it are not.
#include "support.h"

namespace sim::test {
namespace {

constexpr std::string_view LOAD = "ld.param.u64 %rd0, [p0]; ld.global.u32 %r0, [%rd0];\n";

/// Of one CTA of 32 threads, whose argument is the address of some memory.
Outcome predict(const std::string& body, const std::string& prologue = "") {
  Options options;
  options.timing = true;
  options.prediction_file = "/dev/null";
  Bench bench(options, "h200");
  auto* data = bench.upload(std::vector<uint32_t>(64));
  Outcome outcome =
      bench.launch(Source{.body = body, .parameters = ".param .u64 p0", .prologue = prologue, .target = "sm_90a"},
                   {.grid = {1, 1, 1}, .block = {32, 1, 1}}, data);
  if (outcome.status == Status::Success) outcome = bench.device().settle();
  return outcome;
}
void expect_refused(const std::string& body, std::string_view what, const std::string& prologue = "") {
  const Outcome outcome = predict(body, prologue);
  EXPECT_EQ(outcome.status, Status::NotSupported) << body;
  EXPECT_NE(outcome.report.find("depends on data"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find(what), std::string::npos) << outcome.report;
}
void expect_predicted(const std::string& body, const std::string& prologue = "") {
  const Outcome outcome = predict(body, prologue);
  EXPECT_EQ(outcome.status, Status::Success) << body << outcome.report;
}

TEST(Unknown, ABranchOnALoadedValue) {
  expect_refused(std::string(LOAD) + "setp.eq.u32 %p0, %r0, 7; @%p0 bra L; add.u32 %r1, %r1, 1; L: ret;",
                 "which lanes execute");
  // However long the way of the value is.
  expect_refused(std::string(LOAD) +
                     "shl.b32 %r1, %r0, 3; shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff;\n"
                     "vote.sync.any.pred %p1, %p0, 0xffffffff; setp.gt.s32 %p0, %r2, 4;\n"
                     "selp.u32 %r3, 1, 2, %p0; setp.eq.u32 %p1, %r3, 1; @%p1 bra L; L: ret;",
                 "which lanes execute");
  expect_refused(std::string(LOAD) + "setp.eq.u32 %p0, %r0, 7; @%p0 st.global.u32 [%rd0], %r0; ret;",
                 "which lanes execute");
}

TEST(Unknown, AnAddress) {
  expect_refused(
      std::string(LOAD) + "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; ld.global.u32 %r1, [%rd1]; ret;",
      "what is accessed");
}

TEST(Unknown, ThroughSharedMemory) {
  const std::string prologue = ".shared .align 16 .b8 s[256];\n";
  const std::string there = "mov.u32 %r5, %tid.x; shl.b32 %r5, %r5, 2; mov.u32 %r6, s; add.u32 %r5, %r5, %r6;\n";
  const std::string decides = "ld.shared.u32 %r7, [%r5]; setp.eq.u32 %p0, %r7, 1; @%p0 bra L; L: ret;";
  expect_refused(std::string(LOAD) + there + "st.shared.u32 [%r5], %r0; bar.sync 0;\n" + decides, "which lanes execute",
                 prologue);
  expect_predicted(there + "st.shared.u32 [%r5], %r5; bar.sync 0;\n" + decides, prologue);
  expect_predicted(std::string(LOAD) + there + "st.shared.u32 [%r5], %r0; st.shared.u32 [%r5], %r5;\n" + decides,
                   prologue);
}

TEST(Unknown, WhatOnlyComputesIsPredicted) {
  expect_predicted(std::string(LOAD) +
                   "setp.gt.s32 %p0, %r0, 0; selp.u32 %r1, %r0, 0, %p0;\n"
                   "@%p0 add.u32 %r1, %r1, 1; st.global.u32 [%rd0], %r1; ret;");
  // The same register, with another value.
  expect_predicted(std::string(LOAD) + "mov.u32 %r0, 5; setp.eq.u32 %p0, %r0, 5; @%p0 bra L; L: ret;");
  expect_predicted("mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 9; @%p0 bra L; add.u32 %r1, %r1, 1; L: ret;");
}

TEST(Unknown, OnlyInTheLanesThatLoaded) {
  const std::string some =
      "mov.u32 %r4, %tid.x; setp.lt.u32 %p2, %r4, 8; mov.u32 %r0, 3; ld.param.u64 %rd0, [p0];\n"
      "@%p2 ld.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 3;\n";
  expect_predicted(some + "@%p2 bra M; @%p0 bra L; L: ret; M: ret;");
  expect_refused(some + "@!%p2 bra M; @%p0 bra L; L: ret; M: ret;", "which lanes execute");
}

}  // namespace
}  // namespace sim::test
