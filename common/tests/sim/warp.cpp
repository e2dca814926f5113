// What the lanes of a warp do together, and how they part and meet again. fuzz.values compares the results of shuffles,
// votes, matches and reductions with an exact model.
#include <algorithm>

#include "support.h"

namespace sim::test {
namespace {

/// One warp (or `threads` threads); lane i reads input[i] into %r1 and stores %r2 to output[i].
struct Warped {
  std::string body;
  std::vector<uint32_t> input = {};
  uint32_t threads = 32;
  Options options = {};
  std::string prologue = "";
};

std::vector<uint32_t> run(const Warped& warped, Outcome* outcome = nullptr) {
  Bench bench(warped.options);
  std::vector<uint32_t> input = warped.input;
  if (input.empty()) {
    for (uint32_t i = 0; i < warped.threads; ++i) input.push_back(i);
  }
  const auto* in = bench.upload(input);
  auto* out = bench.allocate<uint32_t>(warped.threads);
  Source source;
  source.prologue = warped.prologue;
  source.parameters = ".param .u64 in, .param .u64 out";
  source.body =
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r60, 4; add.s64 %rd1, %rd1, %rd3; "
      "add.s64 %rd2, %rd2, %rd3; ld.global.u32 %r1, [%rd1]; mov.u32 %r0, %laneid; mov.u32 %r2, 0;\n" +
      warped.body + "\nst.global.u32 [%rd2], %r2;";
  const Outcome result = bench.launch(source, {.block = {warped.threads, 1, 1}}, in, out);
  if (outcome != nullptr)
    *outcome = result;
  else
    EXPECT_EQ(result.status, Status::Success) << result.report;
  return {out, out + warped.threads};
}

uint32_t ballot(const std::function<bool(uint32_t)>& f) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 32; ++i) mask |= static_cast<uint32_t>(f(i)) << i;
  return mask;
}

// ---- shuffles

TEST(Shuffle, HalvesOfAWarpByThemselves) {
  // Each half comes by its own way and names only its own lanes.
  const auto out =
      run({"setp.lt.u32 %p1, %r0, 16; @%p1 bra low; shfl.sync.down.b32 %r2, %r1, 1, 31, 0xFFFF0000; bra both; low: "
           "shfl.sync.up.b32 %r2, %r1, 1, 0, 0x0000FFFF; both:"});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? (i == 0 ? 0 : i - 1) : i == 31 ? 31 : i + 1) << i;
}

TEST(Shuffle, TilesNameDifferentMasksAtOneInstruction) {
  // What cooperative groups do: every tile of 8 lanes passes its own mask to the same instruction.
  const auto out =
      run({"shr.u32 %r3, %r0, 3; shl.b32 %r4, %r3, 3; shl.b32 %r5, 255, %r4; setp.gt.u32 %p1, %r1, 100; "
           "vote.sync.ballot.b32 %r2, %p1, %r5;",
           [] {
             std::vector<uint32_t> input;
             for (uint32_t i = 0; i < 32; ++i) input.push_back(i % 3 == 0 ? 101 : 5);
             return input;
           }()});
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t tile = i / 8 * 8;
    EXPECT_EQ(out[i], ballot([&](uint32_t lane) { return lane >= tile && lane < tile + 8 && lane % 3 == 0; })) << i;
  }
}

// ---- votes and elections

TEST(Vote, LanesThatHaveLeftDoNotCount) {
  Outcome outcome;
  const auto out = run({"setp.ge.u32 %p3, %r0, 20; @%p3 exit; vote.sync.all.pred %p2, %p4, -1; setp.lt.u32 %p4, %r0, "
                        "20; vote.sync.all.pred %p2, %p4, -1; selp.u32 %r2, 1, 0, %p2;"},
                       &outcome);
  expect_success(outcome);
  EXPECT_EQ(out[0], 1u);
}

TEST(Elect, TheLowestLaneOfTheMask) {
  // In every lane the elected lane's number, the predicate in that lane alone (measured on hardware).
  for (const uint32_t mask : {0xFFFF'FFFFu, 0xFFFF'FFFEu, 0x8000'0000u, 0x00F0'0F00u, 0x1234'5678u}) {
    const auto out = run({"mov.u32 %r4, 1; shl.b32 %r4, %r4, %r0; and.b32 %r4, %r4, " + std::to_string(mask) +
                          "; setp.eq.u32 %p1, %r4, 0; @%p1 bra done; elect.sync %r3|%p2, " + std::to_string(mask) +
                          "; selp.u32 %r2, 100, 200, %p2; add.u32 %r2, %r2, %r3; done:"});
    const auto lowest = static_cast<uint32_t>(std::countr_zero(mask));
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(out[i], !(mask >> i & 1) ? 0 : lowest + (i == lowest ? 100 : 200)) << std::hex << mask << " lane " << i;
  }
  EXPECT_EQ(run({"elect.sync _|%p2, -1; selp.u32 %r2, 1, 0, %p2;"})[0], 1u);
}

// ---- parting and meeting

TEST(Divergence, NestedBranchesMeetAgain) {
  const auto out = run({R"(
      and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra even;
      and.b32 %r4, %r1, 2; setp.eq.u32 %p2, %r4, 0; @%p2 bra odd_low;
      mov.u32 %r5, 3; bra odd_done;
      odd_low: mov.u32 %r5, 1;
      odd_done: bra done;
      even: and.b32 %r4, %r1, 2; setp.eq.u32 %p2, %r4, 0; @!%p2 bra even_high; mov.u32 %r5, 0; bra done;
      even_high: mov.u32 %r5, 2;
      done: activemask.b32 %r6; setp.eq.u32 %p3, %r6, -1; selp.u32 %r7, 100, 0, %p3; add.u32 %r2, %r5, %r7;)"});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 100 + i % 4) << i;  // all lanes are together again
}

TEST(Divergence, LoopsOfDifferentLength) {
  const auto out =
      run({"mov.u32 %r3, %r1; mov.u32 %r2, 0; top: setp.eq.u32 %p1, %r3, 0; @%p1 bra done; add.u32 %r2, %r2, %r3; "
           "sub.u32 %r3, %r3, 1; bra top; done: bar.warp.sync -1;"});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i * (i + 1) / 2);
}

TEST(Divergence, NestedLoopsWithEarlyExits) {
  const auto out = run({R"(
      mov.u32 %r3, 0;
      outer: setp.gt.u32 %p1, %r3, %r1; @%p1 bra end;
      mov.u32 %r4, 0;
      inner: setp.ge.u32 %p2, %r4, %r3; @%p2 bra inner_end;
      add.u32 %r2, %r2, 1; and.b32 %r5, %r2, 15; setp.eq.u32 %p3, %r5, 15; @%p3 bra end;
      add.u32 %r4, %r4, 1; bra inner;
      inner_end: add.u32 %r3, %r3, 1; bra outer;
      end:)"});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], std::min(15u, i * (i + 1) / 2)) << i;
}

TEST(Divergence, LanesOfAWarpSpinOnOneAnother) {
  // Lane 0 waits for what lane 1 stores; both are in one warp and part at a branch.
  for (const bool waiting_first : {false, true}) {
    const std::string wait =
        "top: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra top; mov.u32 %r2, %r3;";
    const std::string set = "mov.u32 %r4, 5; st.volatile.shared.u32 [flag], %r4; mov.u32 %r2, 1;";
    Warped warped{std::string("mov.u32 %r4, 0; st.shared.u32 [flag], %r4; bar.warp.sync -1; setp.") +
                  (waiting_first ? "ne" : "eq") + ".u32 %p1, %r0, 0; @%p1 bra other; " + (waiting_first ? wait : set) +
                  " bra done; other: " + (waiting_first ? set : wait) + " done:"};
    warped.prologue = ".shared .align 4 .u32 flag;\n";
    const auto out = run(warped);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i == 0 ? 5u : 1u) << i;
  }
}

TEST(Divergence, SyncwarpFromDifferentPlaces) {
  Warped warped{R"(
      mul.lo.u32 %r5, %r0, 4; mov.u32 %r6, cells; add.u32 %r5, %r6, %r5; setp.lt.u32 %p1, %r0, 8; @%p1 bra few;
      add.u32 %r3, %r1, 100; st.shared.u32 [%r5], %r3; bar.warp.sync -1; bra both;
      few: add.u32 %r3, %r1, 200; st.shared.u32 [%r5], %r3; bar.warp.sync 0xFFFFFFFF; nanosleep.u32 20;
      both: xor.b32 %r7, %r0, 31; mul.lo.u32 %r7, %r7, 4; add.u32 %r7, %r6, %r7; ld.shared.u32 %r2, [%r7];)"};
  warped.prologue = ".shared .align 4 .b8 cells[128];\n";
  const auto out = run(warped);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 31 - i + (31 - i < 8 ? 200 : 100)) << i;
}

TEST(Divergence, IndexedBranch) {
  const auto out = run({R"(
      and.b32 %r3, %r1, 3; setp.lt.u32 %p1, %r1, 30;
      table: .branchtargets first, second, third, first;
      @%p1 brx.idx %r3, table; mov.u32 %r2, 9; bra done;
      first: mov.u32 %r2, 10; bra done; second: mov.u32 %r2, 20; bra done; third: mov.u32 %r2, 30;
      done:)"});
  const uint32_t expected[] = {10, 20, 30, 10};
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 30 ? expected[i % 4] : 9) << i;
}

TEST(Divergence, PartOfAWarp) {
  EXPECT_EQ(run({"vote.sync.ballot.b32 %r2, %p1, -1; setp.lt.u32 %p1, %r0, 40; vote.sync.ballot.b32 %r2, %p1, -1;",
                 {},
                 20})[5],
            0xFFFFFu);
}

TEST(Divergence, GuardedExitAndFallThrough) {
  Outcome outcome;
  const auto out =
      run({"mov.u32 %r2, 8; setp.eq.u32 %p1, %r0, 3; @%p1 st.global.u32 [%rd2], %r2; @%p1 exit; mov.u32 %r2, 9;"},
          &outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i == 3 ? 8u : 9u);
}

TEST(Divergence, CallsReturnFromDifferentPlaces) {
  Warped warped{
      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), half, (x); ld.param.b32 %r2, [y]; }"
      "setp.gt.u32 %p5, %r0, 15; { .param .b32 x2; .param .b32 y2; st.param.b32 [x2], %r2; @%p5 call (y2), half, (x2); "
      "@%p5 ld.param.b32 %r2, [y2]; }"};
  warped.prologue = R"(
      .func (.param .b32 result) half(.param .b32 argument) {
        .reg .b32 %r<4>; .reg .pred %p<2>; .local .align 4 .b8 stack[8]; .reg .b64 %rd<2>;
        ld.param.u32 %r1, [argument]; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra odd;
        shr.u32 %r3, %r1, 1; st.local.u32 [stack+4], %r3; ld.local.u32 %r3, [stack+4]; st.param.b32 [result], %r3; ret;
        odd: st.param.b32 [result], %r1; ret;
      })";
  const auto out = run(warped);
  const auto half = [](uint32_t x) { return x % 2 ? x : x / 2; };
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i > 15 ? half(half(i)) : half(i)) << i;
}

}  // namespace
}  // namespace sim::test
