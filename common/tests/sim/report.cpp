// Reports of a kernel that goes wrong: thread, place, fault, and requirement. One example of each kind; that
// correct programs are never reported is what all the other tests show.
#include <ctime>
#include <fstream>

#include "exec/core/report.h"
#include "machine/missing.h"
#include "report/records.h"
#include "report/rules.h"
#include "report/text.h"
#include "support.h"

namespace sim::test {
namespace {

/// What this process has used: a busy machine does not change it.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// A kernel of several CTAs with line information, on the default GPU.
Outcome run(const std::string& body, uint32_t threads = 128, uint32_t ctas = 1, uint32_t cluster = 1,
            Options options = {}) {
  Bench bench(options);
  auto* out = bench.allocate<uint32_t>(1024, "out");
  Source source;
  source.prologue =
      ".file 1 \"/src/level99/kernel.cuh\"\n.shared .align 8 .b64 smem_full[2];\n.shared .align 4 .b8 "
      "box[64];\n.extern .shared .align 1024 .b8 dynamic[];\n";
  source.parameters = ".param .u64 out";
  source.body =
      ".loc 1 10 1\nld.param.u64 %rd1, [out]; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5; "
      "mov.u32 %r8, dynamic; mov.u32 %r9, smem_full; mov.u32 %r7, box; setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r3, "
      "0;\n.loc 1 20 1\n" +
      body;
  return bench.launch(
      source, {.grid = {ctas, 1, 1}, .block = {threads, 1, 1}, .cluster = {cluster, 1, 1}, .dynamic_smem = 4096}, out);
}
const std::string kInit =
    "@%p1 mbarrier.init.shared::cta.b64 [%r9], 2; @%p1 mbarrier.init.shared::cta.b64 [%r9+8], 1; bar.sync 0; ";

TEST(Deadlock, MbarrierNamesWhatIsMissingAndWhoHasArrived) {
  const Outcome outcome = run(kInit +
                              "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 4096;\n.loc 1 30 1\nwait: "
                              "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0;\n.loc 1 31 1\n@!%p3 bra wait;");
  expect_failure(
      outcome, Status::LaunchTimeout,
      {"deadlock in kernel k", "CTA (0)", "warps 0, 1, 2, 3",
       "wait for the mbarrier at smem_full, parity 0: phase 0 still needs 1 arrival and 4,096 bytes (of 2 arrivals)",
       "so far: expect_tx 4,096 by rank 0 warp 0 at kernel.cuh:20, 1 arrival by rank 0 warp 0",
       "mbarrier.try_wait.parity.shared::cta.b64", "PTX line", "level99/kernel.cuh:30"});
  expect_failure(run(kInit + "wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9+8], 0; @!%p3 bra wait;"),
                 Status::LaunchTimeout,
                 {"the mbarrier at smem_full +8", "still needs 1 arrival", "no thread has arrived in this phase"});
}

TEST(Deadlock, APhaseThatWasMissed) {
  // Warp 1 waits for phase 0 when two phases have gone by.
  const Outcome outcome = run(kInit +
                              "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9+8]; @%p1 mbarrier.arrive.shared::cta.b64 "
                              "_, [%r9+8]; bar.sync 0; setp.ne.u32 %p4, %r3, 1; @%p4 bra end; wait: "
                              "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9+8], 0; @!%p3 bra wait; end:");
  expect_failure(outcome, Status::LaunchTimeout,
                 {"warp 1 waits for", "phases 0 to 1 have completed", "lapped",
                  "in the previous phase: 1 arrival by rank 0 warp 0", "3 warps have exited"});
}

TEST(Deadlock, PollingAnMbarrierIsOneToo) {
  const double before = cpu_seconds();
  expect_failure(run(kInit + "wait: mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r9], 0; @%p3 bra end; "
                             "nanosleep.u32 40; bra wait; end:"),
                 Status::LaunchTimeout, {"deadlock", "poll without seeing anything change"});
  EXPECT_LT(cpu_seconds() - before, 10);
}

TEST(Deadlock, BarriersOfCtasAndClusters) {
  expect_failure(run("@%p2 bra other;\n.loc 1 40 1\nbar.sync 0; bra end;\nother:\n.loc 1 50 1\nbar.sync 1, 64; end:"),
                 Status::LaunchTimeout,
                 {"warp 0 waits at barrier 1: 32 of 64 threads have arrived", "kernel.cuh:50",
                  "warps 1, 2, 3 wait at barrier 0: 96 of 128 threads have arrived", "kernel.cuh:40"});
  expect_failure(
      run("setp.eq.u32 %p4, %r1, 1; @%p4 bra wait; barrier.cluster.arrive; barrier.cluster.wait; exit; wait: bar.sync "
          "1, 128; ld.shared.u32 %r4, [%r7]; setp.eq.u32 %p5, %r4, 1; @%p5 bra end; bar.sync 2, 256; end:",
          128, 2, 2),
      Status::LaunchFailure, {"barrier 2 waits for 256 threads, but the CTA has 128"});
  expect_failure(run("setp.eq.u32 %p4, %r1, 1; @%p4 bra other; barrier.cluster.arrive; barrier.cluster.wait; exit; "
                     "other: @%p2 bar.sync 3, 128;",
                     128, 2, 2),
                 Status::LaunchTimeout,
                 {"CTA (0), rank 0 of its cluster", "wait at the cluster barrier: 128 of 160 threads have arrived",
                  "CTA (1), rank 1 of its cluster", "waits at barrier 3: 32 of 128 threads", "3 warps have exited"});
}

TEST(Deadlock, LanesThatDoNotCome) {
  expect_failure(run("setp.eq.u32 %p4, %r2, 5; @%p4 bra alone; vote.sync.all.pred %p5, %p1, -1; bra end; alone: "
                     "mbarrier.init.shared::cta.b64 [%r9], 1; wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, "
                     "[%r9], 0; @!%p3 bra wait; end:",
                     32),
                 Status::LaunchTimeout,
                 {"waits for lanes 0x20 of its warp, which have not reached this instruction", "lane 5"});
}

TEST(Hazard, ExitsThatComeTooEarly) {
  // A signal to, a copy into and a read from a CTA that has left.
  const std::string left = "setp.eq.u32 %p4, %r1, 1; @%p4 exit; nanosleep.u32 4000; ";
  expect_failure(run(left + "mapa.shared::cluster.u32 %r4, %r9, 1; @%p1 "
                            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];",
                     128, 2, 2),
                 Status::LaunchFailure,
                 {"CTA (1), rank 1 of its cluster, has exited", "cluster target block not present",
                  "asynchronous operation that was issued at", "warp 0, lane 0"});
  expect_failure(run(left + "mapa.shared::cluster.u32 %r4, %r7, 1; ld.shared::cluster.u32 %r5, [%r4];", 128, 2, 2),
                 Status::LaunchFailure, {"load", "CTA (1), rank 1 of its cluster, has exited"});
  expect_failure(
      run(left + "mapa.shared::cluster.u32 %r4, %r8, 1; mapa.shared::cluster.u32 %r5, %r9, 1; @%p1 "
                 "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r8], 256, [%r5];",
          128, 2, 2),
      Status::LaunchFailure, {"bulk copy", "CTA (1), rank 1 of its cluster, has exited"});
}

TEST(Hazard, TheOwnCopiesInFlightAtTheExit) {
  // Hardware lets it pass, and libraries count on that: an error in the schedules that look for trouble, else a
  // warning.
  Options latest;
  latest.schedule = Options::Schedule::Latest;
  const std::string load =
      "@%p1 mbarrier.init.shared::cta.b64 [%r9], 1; @%p1 "
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r8], [%rd1], 256, [%r9];";
  expect_failure(run(load, 128, 1, 1, latest), Status::LaunchFailure,
                 {"error in kernel", "CTA (0) has exited", "habit exit-with-own-loads, which hardware lets pass"});
  expect_failure(run(load), Status::Success,
                 {"warning in kernel", "CTA (0) has exited before a copy into its shared memory was complete"});
  const std::string store =
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r8], 256; @%p1 cp.async.bulk.commit_group;";
  for (const bool strict : {false, true}) {
    expect_failure(
        run(store, 128, 1, 1, strict ? latest : Options{}), strict ? Status::LaunchFailure : Status::Success,
        {"1 of its bulk stores still read shared memory", "cp.async.bulk.wait_group.read 0", "by CTA (0), warp 0"});
  }
}

TEST(Spin, ForEverIsReportedWithinSeconds) {
  const auto expect_report = [](const std::string& body, std::initializer_list<std::string_view> texts,
                                uint32_t threads = 128, uint32_t ctas = 1) {
    Options options;
    options.patience /= kSlowdown;
    const double before = cpu_seconds();
    expect_failure(run(body, threads, ctas, 1, options), Status::LaunchTimeout, texts);
    EXPECT_LT(cpu_seconds() - before, 10 * kSlowdown) << body;
  };
  expect_report(".loc 1 60 1\ntop: bra top;", {"spins for ever", "kernel.cuh:60", "CTA (0), warp"});
  expect_report("top: bra top;", {"spins for ever"}, 1024);  // all warps at once
  expect_report("mov.u32 %r4, 0; top: xor.b32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 2; @%p4 bra top;",
                {"spins for ever", "the same registers"});
  expect_report("top: ld.shared.u32 %r4, [%r7]; setp.ne.u32 %p4, %r4, 1; @%p4 bra top;", {"spins for ever"}, 32);
  expect_report("top: ld.volatile.shared.u32 %r4, [%r7]; setp.ne.u32 %p4, %r4, 1; @%p4 bra top;",
                {"poll without seeing anything change"});
  expect_report("top: ld.volatile.global.u32 %r4, [%rd1]; setp.ne.u32 %p4, %r4, 1; @%p4 bra top;",
                {"poll without seeing anything change", "another stream"});
  expect_report(
      "top: ld.acquire.gpu.global.u32 %r4, [%rd1]; st.shared.u32 [%r7], 5; setp.ne.u32 %p4, %r4, 1; @%p4 bra top;",
      {"poll without seeing anything change"});  // stores the same again and again
  expect_report("mov.u32 %r4, 0; top: atom.global.cas.b32 %r5, [%rd1], 7, 8; setp.ne.u32 %p4, %r5, 7; @%p4 bra top;",
                {"poll without seeing anything change"});
  expect_report("{ .local .align 4 .b8 stack[8]; top: st.local.u32 [stack], 1; ld.local.u32 %r4, [stack]; bra top; }",
                {"spins for ever"}, 32);
  expect_report(kInit +
                    "top: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @%p3 bra end; st.shared.u32 [%r7], "
                    "3; bra top; end:",
                {"deadlock", "2 arrivals"});
  // By all warps: of a CTA, with loads that are not volatile, and of a whole GPU.
  expect_report("top: ld.shared.u32 %r4, [%r7]; setp.ne.u32 %p4, %r4, 1; @%p4 bra top;",
                {"poll without seeing anything change"}, 1024);
  expect_report("top: ld.volatile.global.u32 %r4, [%rd1]; setp.ne.u32 %p4, %r4, 1; @%p4 bra top;",
                {"poll without seeing anything change"}, 1024, 296);
}

TEST(Spin, WhatNeverRepeatsIsReportedInTime) {
  const auto expect_report = [](const std::string& body, uint32_t threads, uint32_t ctas = 1) {
    for (const SchedulePolicy schedule : {SchedulePolicy::Default, SchedulePolicy::Seeded}) {
      const double before = cpu_seconds();
      expect_failure(run(body, threads, ctas, 1, {.schedule = schedule, .patience = 8'000'000 / kSlowdown}),
                     Status::LaunchTimeout,
                     {"spins for ever", "without a new effect that others can observe", "another stream"});
      EXPECT_LT(cpu_seconds() - before, 10 * kSlowdown) << body;
    }
  };
  const std::string next = "mad.lo.u32 %r4, %r4, 1664525, 1013904223; ";
  expect_report("mov.u32 %r4, %r1; top: " + next + "bra top;", 32);
  expect_report("mov.u32 %r4, %r1; top: " + next + "bra top;", 1024);  // each of many warps
  expect_report("mov.u32 %r4, %r1; top: ld.shared.u32 %r5, [%r7]; add.u32 %r4, %r4, %r5; " + next + "bra top;", 128);
  // It changes the same places for ever, alone or against others.
  expect_report("top: atom.global.add.u32 %r4, [%rd1], 1; bra top;", 32);
  expect_report("top: atom.shared.inc.u32 %r4, [%r7], 1000000; bra top;", 64);
  expect_report("mov.u32 %r4, 0; top: add.u32 %r4, %r4, 1; st.volatile.shared.u32 [%r7], %r4; bra top;", 64);
  expect_report("mov.u32 %r5, %ctaid.x; top: atom.global.exch.b32 %r4, [%rd1], %r5; bra top;", 64, 2);
  // By many warps together, and by those of a whole GPU: at one place, here and there, and of one after the other.
  expect_report("mov.u32 %r5, %ctaid.x; top: atom.global.exch.b32 %r4, [%rd1], %r5; add.u32 %r5, %r5, %r4; bra top;",
                256, 8);
  expect_report("mov.u32 %r4, %r2; top: " + next +
                    "and.b32 %r5, %r4, 1023; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd1, %rd3; atom.global.add.u32 "
                    "%r6, [%rd3], 1; bra top;",
                256, 8);
  expect_report("mov.u32 %r5, %ctaid.x; top: atom.global.exch.b32 %r4, [%rd1], %r5; bra top;", 1024, 264);
  expect_report("top: mov.u64 %rd3, %clock64; setp.ge.s64 %p4, %rd3, 0; @%p4 bra top;", 256);
  expect_report("mov.u32 %r4, %ctaid.x; ld.volatile.global.u32 %r5, [%rd1]; top: " + next + "bra top;", 256, 8);
}

TEST(Spin, MeetingAtBarriersForEverIsReported) {
  const auto expect_report = [](const std::string& body, uint32_t threads, uint32_t ctas = 1, uint32_t cluster = 1) {
    for (const SchedulePolicy schedule : {SchedulePolicy::Default, SchedulePolicy::Seeded, SchedulePolicy::Latest}) {
      expect_failure(run(body, threads, ctas, cluster, {.schedule = schedule, .patience = 1'000'000}),
                     Status::LaunchTimeout, {"spins for ever", "all warps have met at barriers", "another stream"});
    }
  };
  expect_report("top: bar.sync 0; bra top;", 1024);
  expect_report("top: bar.sync 3, 64; bra top;", 64);
  expect_report("top: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; bra top;", 64, 2, 2);
  expect_report(
      "@!%p1 bra ready; mbarrier.init.shared::cta.b64 [%r9], 64; ready: bar.sync 0; mov.u32 %r4, 0; top: "
      "mbarrier.arrive.shared::cta.b64 _, [%r9]; wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], "
      "%r4; @!%p3 bra wait; xor.b32 %r4, %r4, 1; bra top;",
      64);
  // With work in between without visible result; and waiting for a flag that is never set.
  expect_report("mov.u32 %r4, %r1; top: mad.lo.u32 %r4, %r4, 1664525, 1013904223; bar.sync 0; bra top;", 128);
  expect_report(
      "top: ld.volatile.global.u32 %r4, [%rd1]; st.shared.u32 [%r7], 5; bar.sync 0; setp.ne.u32 %p4, %r4, 1; "
      "@%p4 bra top;",
      128, 4);
}

TEST(Spin, MeetingAtBarriersWhileGoingOnIsNotReported) {
  const auto expect = [&](const std::string& round, uint32_t rounds) {
    expect_success(run("mov.u32 %r4, 0; mov.u64 %rd3, %rd1; top: " + round +
                           " bar.sync 0; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, " + std::to_string(rounds) +
                           "; @%p4 bra top;",
                       128, 1, 1, {.patience = 1'000'000}));
  };
  expect("mad.lo.u32 %r5, %r5, %r4, %r1;", 40'000);  // not so long
  // Many times the patience, but what is in memory changes, be it in the same place; or they read further on.
  expect("and.b32 %r5, %r4, 1023; setp.eq.u32 %p5, %r5, 0; @%p5 st.shared.u32 [%r7], %r4;", 150'000);
  expect("ld.global.u32 %r5, [%rd3]; and.b32 %r6, %r4, 127; setp.eq.u32 %p5, %r6, 0; @%p5 add.u64 %rd3, %rd3, 4;",
         100'000);
}

TEST(Spin, WhoGoesOnIsNotReported) {
  // More instructions than the patience allows: each warp writes, or reads, further and further on; computes, and is
  // heard of in time, or ends; or waits for one that computes.
  const auto expect = [&](const std::string& body, uint32_t threads) {
    expect_success(run(body, threads, 1, 1, {.patience = 2'000'000}));
  };
  expect(
      "mov.u32 %r4, 0; mov.u64 %rd3, %rd1; top: st.global.u32 [%rd3], %r4; and.b32 %r5, %r4, 65535; setp.eq.u32 %p5, "
      "%r5, 0; @%p5 add.u64 %rd3, %rd3, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 500000; @%p4 bra top;",
      32);
  expect(
      "mov.u32 %r4, 0; mov.u64 %rd3, %rd1; top: ld.global.u32 %r6, [%rd3]; add.u32 %r7, %r7, %r6; and.b32 %r5, %r4, "
      "255; "
      "setp.eq.u32 %p5, %r5, 0; @%p5 add.u64 %rd3, %rd3, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 200000; @%p4 "
      "bra "
      "top; atom.global.add.u32 %r7, [%rd1], %r7;",
      512);
  expect(
      "mov.u32 %r4, 0; top: mad.lo.u32 %r5, %r4, %r4, %r5; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 400000; @%p4 bra "
      "top; st.global.u32 [%rd1], %r5;",
      512);
  expect(
      "mov.u32 %r4, 0; top: mad.lo.u32 %r5, %r4, %r4, %r5; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 400000; @%p4 bra "
      "top; atom.global.add.u32 %r6, [%rd1], %r5;",
      512);
  expect(
      "st.shared.u32 [%r7], 0; bar.sync 0; mov.u32 %r4, 0; @!%p2 bra wait; top: mad.lo.u32 %r5, %r4, %r4, %r5; add.u32 "
      "%r4, %r4, 1; setp.lt.u32 %p4, %r4, 400000; @%p4 bra top; st.shared.u32 [%r7], 1; bra end; wait: "
      "atom.shared.add.u32 %r4, [%r7], 0; setp.ne.u32 %p4, %r4, 1; @%p4 bra wait; end:",
      256);
}

TEST(Spin, LongWorkIsNotOne) {
  // Millions of instructions without an effect, loops that wait for the clock, and bounded waits.
  expect_success(
      run("mov.u32 %r4, 0; top: mad.lo.u32 %r5, %r4, %r4, %r5; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 3000000; "
          "@%p4 bra top; st.global.u32 [%rd1], %r5;",
          32));
  expect_success(
      run("mov.u64 %rd3, %clock64; add.s64 %rd3, %rd3, 30000000; top: mov.u64 %rd4, %clock64; setp.lt.s64 %p4, %rd4, "
          "%rd3; @%p4 bra top;",
          64));
  expect_success(
      run("mov.u64 %rd3, %globaltimer; add.s64 %rd3, %rd3, 3000000; top: ld.volatile.shared.u32 %r4, [%r7]; mov.u64 "
          "%rd4, %globaltimer; setp.lt.u64 %p4, %rd4, %rd3; @%p4 bra top;",
          64));
  // A second of the GPU; and warps that wait, with loads that are not volatile, for one that computes.
  expect_success(
      run("mov.u64 %rd3, %clock64; add.s64 %rd3, %rd3, 2000000000; top: mov.u64 %rd4, %clock64; setp.lt.s64 %p4, %rd4, "
          "%rd3; @%p4 bra top;",
          64));
  expect_success(
      run("st.shared.u32 [%r7], 0; bar.sync 0; mov.u32 %r4, 0; @!%p2 bra wait; top: mad.lo.u32 %r5, %r4, %r4, %r5; "
          "add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 3000000; @%p4 bra top; st.shared.u32 [%r7], 1; bra end; wait: "
          "ld.shared.u32 %r4, [%r7]; setp.ne.u32 %p4, %r4, 1; @%p4 bra wait; end:",
          128));
}

TEST(Report, NamesEverything) {
  // Kernel, CTA in the grid and in its cluster, warp, lane, thread, PTX line, source line with its caller.
  const Outcome outcome =
      run("setp.eq.u32 %p4, %r2, 70; setp.eq.u32 %p5, %r61, 3; and.pred %p4, %p4, %p5; mov.u64 %rd9, 0;\n.loc 1 77 3, "
          "function_name $L__info, inlined_at 1 66 5\n@%p4 st.global.u32 [%rd9+16], %r1;",
          128, 4, 2);
  expect_failure(
      outcome, Status::IllegalAddress,
      {"error in kernel k", "store of 4 bytes at 0x10", "CTA (3), rank 1 of its cluster, warp 2, lane 6 (thread 70)",
       "st.global.u32 (PTX line ", "level99/kernel.cuh:77, called at level99/kernel.cuh:66"});
}

TEST(Report, TheFirstClusterThatFailsIsReported) {
  // Every cluster fails, each with its own number; several host threads.
  for (int i = 0; i < 5; ++i)
    expect_failure(run("mov.u32 %r4, %ctaid.x; shl.b32 %r4, %r4, 4; cvt.u64.u32 %rd9, %r4; add.s64 %rd9, %rd9, 16; "
                       "@%p1 st.global.u32 [%rd9], %r1;",
                       64, 40, 1, {.threads = 4}),
                   Status::IllegalAddress, {"at 0x10:", "CTA (0), warp 0"});
}

TEST(Report, TrapBreakpointAndAssert) {
  expect_failure(run("@%p1 trap;"), Status::LaunchFailure, {"executed trap", "lane 0"});
  expect_failure(run("@%p1 brkpt;"), Status::LaunchFailure, {"breakpoint"});
}

TEST(Launch, ThatCannotFitIsRefused) {
  Bench bench;
  Source source;
  LaunchConfig config;
  source.prologue = ".shared .align 16 .b8 big[200000];\n.extern .shared .align 16 .b8 more[];\n";
  source.body = "mov.u32 %r1, big; mov.u32 %r2, more;";
  config.dynamic_smem = 40000;
  expect_failure(bench.launch(source, config), Status::InvalidValue,
                 {"bytes of shared memory per block; the limit is 232,448"});
}

// ---- the help of scripts/sim.sh

TEST(Help, ListsEachRuleAndEachHabit) {
  std::ifstream script(SIM_SCRIPT);
  std::string help;
  for (std::string word; script >> word;) help += word + " ";
  for (int rule = 0; rule < static_cast<int>(Rule::kCount); ++rule) {
    const RuleText& text = text_of(static_cast<Rule>(rule));
    EXPECT_NE(help.find(std::string(text.name) + " " + text.source + " "), std::string::npos) << text.name;
  }
  for (int habit = 0; habit < static_cast<int>(Habit::kCount); ++habit) {
    const HabitText& text = text_of(static_cast<Habit>(habit));
    EXPECT_NE(help.find(std::string(text.name) + (text.in_state ? " * " : " ") + text.sentence + " "),
              std::string::npos)
        << text.name;
  }
}

// ---- records

TEST(MissingLink, EachHasASentenceAndACode) {
  for (int what = 1; what < static_cast<int>(MissingLink::What::kCount); ++what) {
    Finding finding{.second = {.at = {"st", 9, {{"k.cu", 9}}}}};
    finding.missing = {.what = static_cast<MissingLink::What>(what),
                       .from = Location{"ld", 3, {{"a/k.cu", 3}}},
                       .to = Location{"st", 7, {{"a/k.cu", 7}}},
                       .names = {"lane 3", "lanes 4 to 7", "never"}};
    const std::string text = report::missing(finding);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find_first_of("{}[]"), std::string::npos) << text;
    EXPECT_STRNE(report::word_of(finding.missing.what), "") << text;
  }
}

TEST(Suppressions, AreListsOfPatterns) {
  Finding finding{
      .rule = "write after read", .kernel = "gemm_splitk", .first = {.at = {"st", 1, {{"gemm/reduce.cuh", 41}}}}};
  finding.missing.what = MissingLink::What::Link;
  for (const auto& [line, matches] : {std::pair("rule: write*", true),
                                      {"kernel: *splitk", true},
                                      {"kernel: splitk", false},
                                      {"file: *reduce.cuh; line: 41", true},
                                      {"file: *reduce.cuh; line: 4", false},
                                      {"rule: exit; kernel: *", false},
                                      {"# rule: *", false}}) {
    report::Suppressions list(line);
    EXPECT_EQ(list.take(finding), matches) << line;
    EXPECT_EQ(list.taken(), matches ? 1u : 0u);
    EXPECT_EQ(list.unmatched().size(), matches || line[0] == '#' ? 0u : 1u);
  }
  report::Suppressions all("rule: *");
  EXPECT_FALSE(all.take({.kind = Finding::Kind::Fault}));  // the kernel cannot go on
  for (const char* wrong : {"write after read", "rule:", "lines: 3"})
    EXPECT_THROW(report::Suppressions{wrong}, std::invalid_argument);
}

}  // namespace
}  // namespace sim::test
