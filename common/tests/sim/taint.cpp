// A run without data leaves out kernels whose way depends on data; those that only compute with it are predicted.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support.h"

namespace sim::test {
namespace {

constexpr std::string_view LOAD = "ld.param.u64 %rd0, [p0]; ld.global.u32 %r0, [%rd0];\n";

/// Of one CTA of 32 threads, whose argument is the address of some memory.
Outcome predict(const std::string& body, const std::string& prologue = "", const std::string& file = "/dev/null") {
  Bench bench({.timing = true, .prediction_file = file}, "h200");
  auto* data = bench.upload(std::vector<uint32_t>(64));
  Outcome outcome =
      bench.launch(Source{.body = body, .parameters = ".param .u64 p0", .prologue = prologue, .target = "sm_90a"},
                   {.grid = {1, 1, 1}, .block = {32, 1, 1}}, data);
  if (outcome.status == Status::Success && outcome.findings.empty()) outcome = bench.device().settle();
  return outcome;
}
void expect_refused(const std::string& body, std::string_view what, const std::string& prologue = "") {
  const Outcome outcome = predict(body, prologue);
  EXPECT_EQ(outcome.status, Status::Success) << body;
  EXPECT_NE(outcome.report.find("--timing leaves out "), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find(what), std::string::npos) << outcome.report;
}
void expect_predicted(const std::string& body, const std::string& prologue = "") {
  const Outcome outcome = predict(body, prologue);
  EXPECT_TRUE(outcome.status == Status::Success && outcome.findings.empty()) << body << outcome.report;
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

// Each cluster is predicted as the last that is counted. What else others do cannot be told.
TEST(Unknown, WhoComesLastIsKnown) {
  const std::string address = "ld.param.u64 %rd0, [p0];\n";
  const std::string last = "setp.eq.u32 %p0, %r1, 3; @%p0 bra L; trap; L: ret;";
  expect_predicted(address + "atom.global.inc.u32 %r1, [%rd0], 3;" + last);
  expect_refused(std::string(LOAD) + "atom.global.inc.u32 %r1, [%rd0], 3; add.u32 %r1, %r1, %r0;" + last,
                 "which lanes execute");
  // Within a CTA there is nothing to assume.
  expect_predicted(
      "mov.u32 %r2, s; mov.u32 %r3, 0; st.shared.u32 [%r2], %r3; bar.sync 0;\n"
      "atom.shared.inc.u32 %r1, [%r2], 63; setp.lt.u32 %p0, %r1, 32; @%p0 bra L; trap; L: ret;",
      ".shared .align 16 .b8 s[16];\n");
  expect_refused(address + "atom.global.add.u32 %r1, [%rd0], 3;" + last, "which lanes execute");
}

TEST(Unknown, SumsThatNobodyGoesByAreNoMatterButWaitingForOthersIs) {
  const std::string address = "ld.param.u64 %rd0, [p0];\n";
  expect_predicted(address + "red.global.add.u32 [%rd0], 3; ret;");
  expect_predicted(address + "atom.global.add.u32 %r1, [%rd0], 3; st.global.u32 [%rd0+4], %r1; ret;");
  const Outcome outcome =
      predict(address + "red.global.add.u32 [%rd0], 3; ld.acquire.gpu.global.u32 %r1, [%rd0]; ret;");
  EXPECT_NE(outcome.report.find("affect one another"), std::string::npos) << outcome.report;
}

TEST(Prediction, LoadsInARowAreOnTheirWayTogetherThoseOfALoopsTurnsAreNot) {
  const auto cycles = [](const std::string& body) {
    const std::string file = ::testing::TempDir() + "predicted_loads";
    std::filesystem::remove(file);
    EXPECT_EQ(predict("ld.param.u64 %rd0, [p0];\n" + body, "", file).status, Status::Success);
    std::ostringstream read;
    read << std::ifstream(file).rdbuf();
    const std::string text = read.str();
    return std::stol(text.substr(text.find("\"cycles\":") + 9));
  };
  const std::string load = "ld.global.u32 %r0, [%rd0]; add.u32 %r1, %r1, %r0;\n";
  const std::string end = "st.global.u32 [%rd0], %r1; ret;";
  std::string row;
  for (int i = 0; i < 8; ++i) row += load;
  const auto loop = [&](int step) {
    return "mov.u32 %r5, 0;\nL: " + load + "add.u64 %rd0, %rd0, " + std::to_string(step) +
           "; add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 7; @%p0 bra L;\n";
  };
  const long one = cycles(load + end), eight = cycles(row + end);
  EXPECT_LT(eight, one + 300);
  EXPECT_GT(cycles(loop(32) + end), one + 6 * 600) << "each iteration another sector";
  EXPECT_LT(cycles(loop(0) + end), one + 7 * 100) << "from L1";
}

TEST(Prediction, WhatIsNotInItIsSaid) {
  const auto said = [](const std::string& body) {
    const std::string file = ::testing::TempDir() + "predicted_remarks";
    std::filesystem::remove(file);
    EXPECT_EQ(predict("ld.param.u64 %rd0, [p0];\n" + body, "", file).status, Status::Success);
    std::ostringstream read;
    read << std::ifstream(file).rdbuf();
    return read.str();
  };
  EXPECT_NE(said("red.global.add.u32 [%rd0], 3; ret;").find("atomic operations"), std::string::npos);
  EXPECT_NE(said("add.f64 %fd0, %fd1, %fd2; ret;").find("FP64"), std::string::npos);
  EXPECT_NE(said("st.global.u32 [%rd0], %r1; ret;").find("\"not_counted\": \"\""), std::string::npos);
}

}  // namespace
}  // namespace sim::test
