// mbarriers: the rules and traps that were measured on an H200, and the words that it shows.
#include "support.h"

namespace sim::test {
namespace {

/// One thread runs `body` on the barrier `bar` (its address is in %r9) and stores %r2 and %rd9.
struct Result {
  Outcome outcome;
  uint32_t r2 = 0;
  uint64_t rd9 = 0;
};
Result run(const std::string& body, const Options& options = {}, uint32_t threads = 1) {
  Bench bench(options);
  auto* out = bench.allocate<uint64_t>(2);
  Source source;
  source.prologue = ".shared .align 8 .b64 bar;\n.shared .align 8 .b64 second;\n";
  source.parameters = ".param .u64 out";
  source.body = "ld.param.u64 %rd2, [out]; mov.u32 %r9, bar; mov.u32 %r0, %tid.x; mov.u32 %r2, 0; mov.u64 %rd9, 0;\n" +
                body + "\nsetp.eq.u32 %p9, %r0, 0; @%p9 st.global.u32 [%rd2], %r2; @%p9 st.global.u64 [%rd2+8], %rd9;";
  Result result;
  result.outcome = bench.launch(source, {.block = {threads, 1, 1}}, out);
  result.r2 = static_cast<uint32_t>(out[0]);
  result.rd9 = out[1];
  return result;
}

/// Tests both parities; %r2 = bit 0: parity 0 is complete, bit 1: parity 1 is.
const std::string kParities =
    "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r9], 0; mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r9], 1; "
    "selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; or.b32 %r2, %r3, %r4;";
/// The word as mbarrier.inval leaves it.
const std::string kWord = "mbarrier.inval.shared::cta.b64 [%r9]; ld.shared.u64 %rd9, [%r9];";

std::string init(int count) { return "mbarrier.init.shared::cta.b64 [%r9], " + std::to_string(count) + ";"; }
std::string repeat(int times, const std::string& text) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}
const std::string kArrive = "mbarrier.arrive.shared::cta.b64 _, [%r9];";

constexpr uint32_t kPhase0 = 2, kPhase1 = 1;  // in phase 0 parity 1 counts as complete, in phase 1 parity 0

TEST(Mbarrier, FreshBarrierIsInPhaseZero) {
  for (const int count : {1, 2, 3, 5, 100, (1 << 20) - 1}) EXPECT_EQ(run(init(count) + kParities).r2, kPhase0) << count;
}

TEST(Mbarrier, PhasesAlternate) {
  for (const int count : {1, 2, 3, 5}) {
    for (int phases = 0; phases <= 4; ++phases) {
      EXPECT_EQ(run(init(count) + repeat(phases * count, kArrive) + kParities).r2, phases % 2 ? kPhase1 : kPhase0)
          << count << " " << phases;
      if (count == 1) continue;
      EXPECT_EQ(run(init(count) + repeat(phases * count + count - 1, kArrive) + kParities).r2,
                phases % 2 ? kPhase1 : kPhase0);
    }
  }
  EXPECT_EQ(run(init(100) + "mbarrier.arrive.shared::cta.b64 _, [%r9], 100;" + kParities).r2, kPhase1);
  EXPECT_EQ(
      run(init((1 << 20) - 1) + "mbarrier.arrive.release.cta.shared::cta.b64 %rd5, [%r9], 1048575;" + kParities).r2,
      kPhase1);
}

TEST(Mbarrier, BytesAndArrivalsCompleteAPhaseTogether) {
  const std::string expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 64;",
                    complete = "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r9], 64;";
  EXPECT_EQ(run(init(1) + expect + kParities).r2, kPhase0);
  EXPECT_EQ(run(init(1) + expect + complete + kParities).r2, kPhase1);
  EXPECT_EQ(run(init(2) + expect + complete + kParities).r2, kPhase0);
  EXPECT_EQ(run(init(2) + expect + complete + kArrive + kParities).r2, kPhase1);
  // Bytes may come before they are expected, while an arrival is open.
  EXPECT_EQ(run(init(1) + complete + expect + kParities).r2, kPhase1);
  EXPECT_EQ(run(init(1) + complete + kArrive + kParities).r2, kPhase0);  // bytes are still owed an expectation
  // A plain expect_tx that brings the count to zero completes the phase at once.
  EXPECT_EQ(
      run(init(1) + complete + kArrive + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 64;" + kParities).r2,
      kPhase1);
  EXPECT_EQ(run(init(1) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 0;" + kParities).r2, kPhase1);
  EXPECT_EQ(run(init(1) + "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r9], 64;" + kArrive + kParities).r2,
            kPhase0);
}

TEST(Mbarrier, DropTakesAwayFromThisAndLaterPhases) {
  const std::string drop = "mbarrier.arrive_drop.shared::cta.b64 _, [%r9];";
  EXPECT_EQ(run(init(4) + drop + repeat(3, kArrive) + kParities).r2, kPhase1);
  EXPECT_EQ(run(init(4) + drop + repeat(6, kArrive) + kParities).r2, kPhase0);
  EXPECT_EQ(run(init(4) + "mbarrier.arrive_drop.shared::cta.b64 _, [%r9], 2;" + repeat(2, kArrive) + kParities).r2,
            kPhase1);
}

TEST(Mbarrier, TokensCompareTheParityAlone) {
  const std::string token = "mbarrier.arrive.shared::cta.b64 %rd5, [%r9];",
                    test = "mbarrier.test_wait.shared::cta.b64 %p1, [%r9], %rd5; selp.u32 %r2, 1, 0, %p1;";
  EXPECT_EQ(run(init(2) + token + test).r2, 0u);
  EXPECT_EQ(run(init(2) + token + kArrive + test).r2, 1u);
  EXPECT_EQ(run(init(1) + token + kArrive + test).r2, 0u);             // two phases on: the same parity again
  EXPECT_EQ(run(init(1) + token + repeat(2, kArrive) + test).r2, 1u);  // three phases on
  EXPECT_EQ(run(init(1) + token + "mbarrier.try_wait.shared::cta.b64 %p1, [%r9], %rd5; selp.u32 %r2, 1, 0, %p1;").r2,
            1u);
}

TEST(Mbarrier, TokensHoldTheCountBeforeTheArrival) {
  for (int arrivals = 0; arrivals < 4; ++arrivals) {
    EXPECT_EQ(run(init(5) + repeat(arrivals, kArrive) +
                  "mbarrier.arrive.shared::cta.b64 %rd5, [%r9]; mbarrier.pending_count.b64 %r2, %rd5;")
                  .r2,
              5u - static_cast<uint32_t>(arrivals));
  }
  EXPECT_EQ(
      run(init(5) + "mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r9], 2; "
                    "mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r9], 2; mbarrier.pending_count.b64 %r2, %rd5;")
          .r2,
      3u);
}

TEST(Mbarrier, TheWordThatHardwareShows) {
  const std::string arrive3 = "mbarrier.arrive.shared::cta.b64 _, [%r9], 3;";
  EXPECT_EQ(run(init(1) + kWord).rd9, 0x7FFF'F800'001F'FFFEu);
  EXPECT_EQ(run(init(5) + arrive3 + kWord).rd9, 0x7FFF'F000'001F'FFF6u);
  EXPECT_EQ(run(init(2) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 49152;" + kWord).rd9,
            0x7FFF'FBE8'001F'FFFCu);
  EXPECT_EQ(run(init(5) + repeat(5, kArrive) + kWord).rd9, 0xFFFF'D800'001F'FFF6u);
  EXPECT_EQ(run(init(2) + "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r9], 64;" + kWord).rd9,
            0x7FFF'F000'081F'FFFCu);
}

TEST(Mbarrier, ReinitialisingTakesEffect) {
  EXPECT_EQ(run(init(1) + kArrive + init(2) + kArrive + kParities).r2, kPhase0);
  EXPECT_EQ(run(init(1) + kWord + "st.shared.u64 [%r9], 17; ld.shared.u64 %rd9, [%r9];").rd9, 17u);
}

TEST(Mbarrier, TrapsStopTheKernel) {
  // On hardware each of these is an unspecified launch failure.
  const auto expect_trap = [](const std::string& body, const FaultText& fault) {
    expect_fault(run(body).outcome, fault);
  };
  expect_trap(init(2) + "mbarrier.arrive.shared::cta.b64 _, [%r9], 3;", faults::too_many_arrivals);
  expect_trap(init(1) + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 64;" + kArrive, faults::too_many_arrivals);
  expect_trap(init(1) + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 1048576;",
              faults::too_many_bytes_expected);
  expect_trap(
      init(1) + "mbarrier.expect_tx.shared::cta.b64 [%r9], 1048575; mbarrier.expect_tx.shared::cta.b64 [%r9], 1;",
      faults::too_many_bytes_expected);
  expect_trap(init(1) +
                  "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r9], 1048575; "
                  "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r9], 1;",
              faults::too_many_bytes_delivered);
  expect_trap(init(0), faults::mbarrier_count);
  expect_trap(init(1 << 20), faults::mbarrier_count);
  expect_trap(init(2) + "mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r9], 2;", faults::no_complete_completes);
  expect_trap(kArrive, faults::no_mbarrier);
  expect_trap("mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r9], 0;", faults::no_mbarrier);
  expect_fault(run("add.u32 %r9, %r9, 4;" + init(1)).outcome, faults::shared_misaligned, {8});
  EXPECT_EQ(run(init(1) +
                "mbarrier.expect_tx.shared::cta.b64 [%r9], 1048575; "
                "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r9], 1048575;" +
                kArrive + kParities)
                .r2,
            kPhase1);
}

TEST(Mbarrier, WaitersWakeWhenTheirPhaseCompletes) {
  // Warp 0 waits for phases one after the other; warp 1 completes them, as fast as it may: one phase ahead at most.
  for (const Options& options : all_schedules()) {
    for (const char* const wait : {"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r9], %r4;",
                                   "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r9], %r4, 10000;",
                                   "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r9], %r4;"}) {
      const Result result =
          run("setp.eq.u32 %p8, %r0, 0; @%p8 mbarrier.init.shared::cta.b64 [%r9], 1; mov.u32 %r11, second; @%p8 "
              "mbarrier.init.shared::cta.b64 [%r11], 32; bar.sync 0; mov.u32 %r3, 0; setp.ge.u32 %p3, %r0, 32; @%p3 "
              "bra other;\n"
              "top: and.b32 %r4, %r3, 1; again: " +
                  std::string(wait) +
                  " @!%p1 bra again; add.u32 %r2, %r2, 1; mbarrier.arrive.shared::cta.b64 _, [%r11]; add.u32 %r3, %r3, "
                  "1; setp.lt.u32 %p2, %r3, 50; @%p2 bra top; bra done;\n"
                  "other: setp.ne.u32 %p4, %r0, 32; @%p4 bra done; loop: mbarrier.arrive.shared::cta.b64 _, [%r9]; "
                  "and.b32 %r4, %r3, 1; wait2: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r11], %r4; @!%p1 bra "
                  "wait2; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 50; @%p2 bra loop; done:",
              options, 64);
      expect_success(result.outcome);
      EXPECT_EQ(result.r2, 50u);
    }
  }
}

TEST(Mbarrier, AGuardedWaitLeavesTheOthersAlone) {
  // Lane 0 waits for what lane 1 of the same warp does.
  const Result result =
      run("setp.eq.u32 %p8, %r0, 0; @%p8 mbarrier.init.shared::cta.b64 [%r9], 1; bar.warp.sync -1; mov.u32 %r4, 0; "
          "setp.eq.u32 %p1, %r0, 1; @%p8 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0;"
          "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9]; @%p8 selp.u32 %r2, 1, 5, %p2;",
          {}, 32);
  expect_success(result.outcome);
  EXPECT_EQ(result.r2, 1u);
}

TEST(Mbarrier, RemoteArrivalsOfACluster) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    auto* out = bench.allocate<uint32_t>(4);
    Source source;
    source.prologue = ".shared .align 8 .b64 bar;\n.shared .align 8 .b64 second;\n";
    source.parameters = ".param .u64 out";
    // Everybody arrives at rank 0's barrier, some with bytes; rank 0's even/odd peer mask reaches the even CTA of a
    // pair.
    source.body = R"(
      ld.param.u64 %rd2, [out]; mov.u32 %r9, bar; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r63, 0; setp.eq.u32 %p2, %r1, 0;
      @%p1 mbarrier.init.shared::cta.b64 [bar], 4; @%p1 mbarrier.init.shared::cta.b64 [second], 2; fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;
      @!%p1 bra end;
      mapa.shared::cluster.u32 %r3, %r9, 0; mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r3], 256; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r3], 256;
      mov.u32 %r4, second; and.b32 %r4, %r4, -16777217; mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r4];
      and.b32 %r5, %r1, 1; setp.eq.u32 %p3, %r5, 0; mov.u32 %r6, second; @%p3 bra even; bra joined;
      even: wait1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r6], 0; @!%p4 bra wait1;
      joined: @!%p2 bra end;
      wait2: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra wait2; mov.u32 %r7, 1; st.global.u32 [%rd2], %r7;
      end: barrier.cluster.arrive; barrier.cluster.wait;)";
    expect_success(bench.launch(source, {.grid = {4, 1, 1}, .block = {32, 1, 1}, .cluster = {4, 1, 1}}, out));
    EXPECT_EQ(out[0], 1u);
  }
}

TEST(Mbarrier, OnlyTheOwnCtaWaits) {
  Bench bench;
  Source source;
  source.prologue = ".shared .align 8 .b64 bar;\n";
  source.body =
      "mbarrier.init.shared::cta.b64 [bar], 1; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r9, bar; xor.b32 "
      "%r9, %r9, 16777216; mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r9], 0; barrier.cluster.arrive; "
      "barrier.cluster.wait;";
  expect_fault(bench.launch(source, {.grid = {2, 1, 1}, .cluster = {2, 1, 1}}), faults::mbarrier_of_other_cta);
}

}  // namespace
}  // namespace sim::test
