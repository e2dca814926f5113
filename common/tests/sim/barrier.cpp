// Barriers of CTAs and clusters, register reallocation.
#include <map>

#include "support.h"

namespace sim::test {
namespace {

const std::string kProlog = ".shared .align 8 .b8 cells[4096];\n";

/// Threads x clusters; each thread stores %r2 to out[its index in the grid].
std::vector<uint32_t> run(const std::string& body, uint32_t threads, Outcome* outcome = nullptr, uint32_t ctas = 1,
                          uint32_t cluster = 1, const std::string& directives = "", Options options = {}) {
  Bench bench(options);
  auto* out = bench.allocate<uint32_t>(threads * ctas);
  Source source;
  source.prologue = kProlog;
  source.directives = directives;
  source.parameters = ".param .u64 out";
  source.body =
      "ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r60, 4; add.s64 %rd2, %rd2, %rd3; mov.u32 %r0, %tid.x; shr.u32 "
      "%r1, %r0, 5; mov.u32 %r9, cells; mul.lo.u32 %r8, %r0, 4; add.u32 %r8, %r9, %r8; mov.u32 %r2, 0;\n" +
      body + "\nst.global.u32 [%rd2], %r2;";
  const Outcome result =
      bench.launch(source, {.grid = {ctas, 1, 1}, .block = {threads, 1, 1}, .cluster = {cluster, 1, 1}}, out);
  if (outcome != nullptr)
    *outcome = result;
  else
    EXPECT_EQ(result.status, Status::Success) << result.report;
  return {out, out + threads * ctas};
}

TEST(Named, StoresBeforeAreSeenAfter) {
  for (const Options& options : all_schedules()) {
    for (const char* const barrier : {"bar.sync 0;", "barrier.sync 0;", "barrier.sync.aligned 3, 256;",
                                      "bar.sync 15, 256;", "barrier.cta.sync.aligned 0;"}) {
      // 20 rounds of: everybody stores, everybody reads another warp's.
      const auto out = run("mov.u32 %r20, 0; top: st.shared.u32 [%r8], %r20; " + std::string(barrier) +
                               " xor.b32 %r10, %r8, 512; ld.shared.u32 %r11, [%r10]; add.u32 %r2, %r2, %r11; " +
                               barrier + " add.u32 %r20, %r20, 1; setp.lt.u32 %p1, %r20, 20; @%p1 bra top;",
                           256, nullptr, 1, 1, "", options);
      for (const uint32_t value : out) EXPECT_EQ(value, 190u);
    }
  }
}

TEST(Named, ProducersArriveConsumersWait) {
  for (const Options& options : all_schedules()) {
    // Warps 0 and 1 produce and only arrive; warps 2 and 3 wait. A second barrier hands the buffer back.
    const auto out = run(R"(
        setp.lt.u32 %p1, %r1, 2; mov.u32 %r20, 0; @!%p1 bra consumer;
        producer: add.u32 %r21, %r20, %r0; st.shared.u32 [%r8], %r21; bar.arrive 1, 128; bar.sync 2, 128; add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 9; @%p2 bra producer; bra done;
        consumer: bar.sync 1, 128; sub.u32 %r10, %r8, 256; ld.shared.u32 %r11, [%r10]; add.u32 %r2, %r2, %r11; bar.arrive 2, 128; add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 9; @%p2 bra consumer;
        done:)",
                         128, nullptr, 1, 1, "", options);
    for (uint32_t i = 64; i < 128; ++i) EXPECT_EQ(out[i], 36 + 9 * (i - 64)) << i;
  }
}

TEST(Named, Reductions) {
  const std::string odd = "and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 1; ";
  EXPECT_EQ(run(odd + "barrier.red.popc.aligned.u32 %r2, 1, %p1;", 96)[0], 48u);
  EXPECT_EQ(run(odd + "bar.red.popc.u32 %r2, 0, 96, !%p1;", 96)[95], 48u);
  EXPECT_EQ(run(odd + "barrier.cta.red.and.aligned.pred %p2, 0, %p1; selp.u32 %r2, 1, 2, %p2;", 96)[0], 2u);
  EXPECT_EQ(run(odd + "bar.red.or.pred %p2, 0, %p1; selp.u32 %r2, 1, 2, %p2;", 96)[64], 1u);
  EXPECT_EQ(run("setp.lt.u32 %p1, %r0, 1000; bar.red.and.pred %p2, 0, %p1; selp.u32 %r2, 1, 2, %p2;", 70)[69], 1u);
  EXPECT_EQ(run("setp.lt.u32 %p1, %r0, 1000; bar.red.popc.u32 %r2, 0, %p1;", 70)[69],
            70u);  // lanes that do not exist do not count
}

TEST(Named, WarpsThatHaveExitedDoNotCount) {
  const auto out = run(
      "setp.eq.u32 %p1, %r1, 2; mov.u32 %r2, 7; @%p1 st.global.u32 [%rd2], %r2; @%p1 exit; bar.sync 0; mov.u32 %r2, 8;",
      128);
  EXPECT_EQ(out[64], 7u);
  EXPECT_EQ(out[0], 8u);
  // Nor if they exit while the others already wait.
  const auto late =
      run("setp.eq.u32 %p1, %r1, 2; @!%p1 bra wait; mov.u32 %r2, 7; nanosleep.u32 5000; st.global.u32 [%rd2], %r2; "
          "exit; wait: bar.sync 0; mov.u32 %r2, 8;",
          128);
  EXPECT_EQ(late[127], 8u);
}

TEST(Named, LanesOfAWarpMeetFromDifferentPlacesUnlessAligned) {
  const auto out =
      run("and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 1; st.shared.u32 [%r8], %r0; @%p1 bra odd; barrier.sync 0; "
          "add.u32 %r10, %r8, 4; bra done; odd: barrier.sync 0; sub.u32 %r10, %r8, 4; done: ld.shared.u32 %r2, [%r10];",
          64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 1) << i;
}

TEST(Named, MisuseIsExplained) {
  Outcome outcome;
  run("mov.u32 %r5, 16; barrier.sync.aligned %r5;", 32, &outcome);
  expect_fault(outcome, faults::barrier_number, {16});
  run("setp.eq.u32 %p1, %r1, 0; @%p1 bra one; bar.sync 1, 128; bra done; one: bar.sync 1, 64; done:", 128, &outcome);
  expect_fault(outcome, faults::barrier_with_two_counts);
  run("bar.sync 1, 256;", 128, &outcome);
  expect_fault(outcome, faults::barrier_of_too_many, {256, 128});
}

TEST(ClusterBarrier, OrdersStoresOfAllCtas) {
  for (const Options& options : all_schedules()) {
    for (const char* const arrive : {"barrier.cluster.arrive;", "barrier.cluster.arrive.release.aligned;"}) {
      const auto out =
          run("mov.u32 %r20, 0; mov.u32 %r21, %cluster_ctarank; add.u32 %r22, %r21, 3; and.b32 %r22, %r22, 7; "
              "mapa.shared::cluster.u32 %r23, %r8, %r22;"
              "top: add.u32 %r24, %r20, %r21; st.shared.u32 [%r8], %r24;" +
                  std::string(arrive) +
                  "barrier.cluster.wait.acquire.aligned; ld.shared::cluster.u32 %r25, [%r23]; add.u32 %r2, %r2, %r25;" +
                  arrive + "barrier.cluster.wait; add.u32 %r20, %r20, 1; setp.lt.u32 %p1, %r20, 5; @%p1 bra top;",
              64, nullptr, 16, 8, "", options);
      for (uint32_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 10 + 5 * ((i / 64 + 3) % 8)) << i;
    }
  }
}

TEST(ClusterBarrier, ThreadsThatHaveExitedCountAsArrived) {
  EXPECT_EQ(run("setp.lt.u32 %p1, %r0, 40; @%p1 exit; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r2, 5;",
                64, nullptr, 2, 2)[50],
            5u);
  // Having arrived and then exited is one arrival, not two: the others still wait for the late warp.
  const auto out = run(R"(
      setp.eq.u32 %p1, %r1, 0; @%p1 bra leaver; setp.eq.u32 %p2, %r1, 1; @%p2 bra waiter;
      nanosleep.u32 3000; mov.u32 %r5, 9; st.shared.u32 [cells], %r5; barrier.cluster.arrive; barrier.cluster.wait; bra done;
      leaver: barrier.cluster.arrive; exit;
      waiter: barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %r2, [cells];
      done:)",
                       96);
  EXPECT_EQ(out[40], 9u);
}

TEST(ClusterBarrier, SixteenCtas) {
  const auto out =
      run("mov.u32 %r2, %cluster_nctarank; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", 32,
          nullptr, 32, 16);
  for (const uint32_t value : out) EXPECT_EQ(value, 16u);
}

TEST(ClusterBarrier, MisuseIsExplained) {
  Outcome outcome;
  run("barrier.cluster.wait;", 32, &outcome, 2, 2);
  expect_fault(outcome, faults::cluster_wait_without_arrival);
  run("barrier.cluster.arrive; barrier.cluster.arrive;", 32, &outcome, 2, 2);
  expect_fault(outcome, faults::cluster_arrival_twice);
}

TEST(Registers, ThePoolIsShared) {
  // 384 threads with 168 registers: two warpgroups can grow to 232 once the third has shrunk to 40.
  const std::string body =
      "setp.lt.u32 %p1, %r1, 4; @%p1 bra small; setmaxnreg.inc.sync.aligned.u32 232; mov.u32 %r2, 232; bra done; "
      "small: nanosleep.u32 500; setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %r2, 40; done:";
  const auto out = run(body, 384, nullptr, 1, 1, ".maxntid 384\n.minnctapersm 1");
  EXPECT_EQ(out[0], 40u);
  EXPECT_EQ(out[383], 232u);
  Outcome outcome;
  // 40 and 240 do not add up, and warps that exit give nothing back.
  run("setp.lt.u32 %p1, %r1, 4; @%p1 bra small; setmaxnreg.inc.sync.aligned.u32 240; bra done; small: "
      "setmaxnreg.dec.sync.aligned.u32 40; done:",
      384, &outcome, 1, 1, ".maxntid 384\n.minnctapersm 1");
  expect_wait(outcome, Wait::Registers);
  // Without launch bounds the instruction does nothing.
  EXPECT_EQ(run("setmaxnreg.inc.sync.aligned.u32 240; mov.u32 %r2, 1;", 1024)[1023], 1u);
}

TEST(Registers, AreWhatACtaThatSharesThemHasAnSmToItselfFor) {
  Bench bench;
  const auto ctas = [&](const char* body) {
    const Source source{.body = body, .directives = ".maxntid 384\n.minnctapersm 1"};
    return bench.device().max_active_blocks_per_sm(Device::kernels_of(source.text()).at(0), 384, 1024);
  };
  EXPECT_EQ(ctas("setmaxnreg.dec.sync.aligned.u32 40;"), 1) << "168 for each of 384 threads";
  EXPECT_GT(ctas("nanosleep.u32 1;"), 1) << "who knows";
}

}  // namespace
}  // namespace sim::test
