// Launches as a whole: the same result and the same report whatever the host's threads do, clusters that affect one
// another, what kernels print, and how much memory a full device takes.
#include <xmmintrin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "engine/progress.h"
#include "support.h"

namespace sim::test {
namespace {

std::string read_file(const std::string& name) {
  std::ifstream stream(name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Bulk copies, mbarriers, divergence, shuffles, named barriers, and clocks: everything that a schedule could show in.
/// CTAs in clusters of 2; each stores 64 words. Clusters from `bad` on fail.
Source busy_kernel() {
  Source source;
  source.prologue = ".shared .align 16 .b8 box[1024];\n.shared .align 4 .b8 counts[256];\n.shared .align 8 .b64 bar;\n";
  source.parameters = ".param .u64 in, .param .u64 out, .param .u32 bad";
  source.body = R"(
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r19, [bad]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %cluster_ctarank; mov.u32 %r8, box; mov.u32 %r9, bar; setp.eq.u32 %p1, %r2, 0;
    mul.wide.u32 %rd3, %r1, 1024; add.s64 %rd1, %rd1, %rd3; mul.wide.u32 %rd3, %r60, 8; add.s64 %rd2, %rd2, %rd3;
    @%p1 mbarrier.init.shared::cta.b64 [%r9], 1; fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @!%p1 bra loaded; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 1024; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r8], [%rd1], 512, [%r9]; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r8+512], [%rd1+512], 512, [%r9];
    loaded: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra loaded;
    shl.b32 %r4, %r2, 4; add.u32 %r5, %r8, %r4; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5]; mov.u32 %r14, 0; and.b32 %r15, %r10, 31;
    turn: mad.lo.u32 %r11, %r11, 1664525, %r12; shfl.sync.bfly.b32 %r16, %r11, 1, 31, -1; add.u32 %r14, %r14, %r16; bar.warp.sync -1; add.u32 %r15, %r15, 1; and.b32 %r17, %r15, 7; setp.eq.u32 %p3, %r17, 0; @%p3 nanosleep.u32 10; setp.lt.u32 %p4, %r15, 0; mov.u32 %r18, %r15; vote.sync.any.pred %p5, %p4, -1; setp.lt.u32 %p6, %r15, 40; vote.sync.any.pred %p6, %p6, -1; @%p6 bra turn;
    mov.u32 %r20, counts; shr.u32 %r25, %r4, 2; add.u32 %r20, %r20, %r25; mapa.shared::cluster.u32 %r20, %r20, 0; atom.shared::cluster.add.u32 %r21, [%r20], 1; bar.sync 1, 64; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r22, %clock; st.global.v2.u32 [%rd2], {%r14, %r22}; shr.u32 %r23, %r1, 1; setp.ge.u32 %p7, %r23, %r19; and.pred %p7, %p7, %p1; @%p7 ld.global.u32 %r24, [%rd3];)";
  return source;
}

struct Observed {
  Outcome outcome;
  std::vector<uint64_t> out;
  std::string counters;
};
Observed run_busy(Options options, uint32_t bad = ~0u) {
  options.counters_file = ::testing::TempDir() + "sim_engine_counters.json";
  Observed observed;
  {
    Bench bench(options);
    std::vector<uint32_t> input(64 * 256);
    Dice dice(2);
    for (uint32_t& each : input) each = dice.word();
    const auto* in = bench.upload(input);
    auto* out = bench.allocate<uint64_t>(64 * 64);
    observed.outcome =
        bench.launch(busy_kernel(), {.grid = {64, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}}, in, out, bad);
    observed.out.assign(out, out + 64 * 64);
    bench.device().finish();
  }
  observed.counters = read_file(options.counters_file);
  std::remove(options.counters_file.c_str());
  return observed;
}

TEST(Determinism, HostThreadsChangeNothing) {
  std::vector<std::vector<uint64_t>> results;
  for (const Options& schedule : all_schedules()) {
    Options options = schedule;
    options.threads = 1;
    const Observed first = run_busy(options), failed = run_busy(options, 11);
    ASSERT_EQ(first.outcome.status, Status::Success) << first.outcome.report;
    EXPECT_EQ(failed.outcome.status, Status::IllegalAddress);
    EXPECT_NE(failed.outcome.report.find("CTA (2"), std::string::npos)
        << failed.outcome.report;  // 22 or 23: the first bad cluster
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      const Observed again = run_busy(options), failed_again = run_busy(options, 11);
      EXPECT_EQ(again.out, first.out) << threads;
      EXPECT_EQ(again.counters, first.counters) << threads;
      EXPECT_EQ(failed_again.outcome.report, failed.outcome.report) << threads;
    }
    results.push_back(first.out);
  }
  // The values are those of the program, whatever the schedule; the clocks tell the schedules apart.
  for (size_t i = 1; i < results.size(); ++i) {
    bool clocks_differ = false;
    for (size_t j = 0; j < results[0].size(); ++j) {
      EXPECT_EQ(static_cast<uint32_t>(results[i][j]), static_cast<uint32_t>(results[0][j]));
      clocks_differ |= results[i][j] >> 32 != results[0][j] >> 32;
    }
    EXPECT_TRUE(clocks_differ) << i;
  }
  EXPECT_NE(results[2], results[3]);  // two seeds
}

TEST(Determinism, ArithmeticIsTheIeeesWhateverTheProgramSet) {
  // A program that was linked with -ffast-math flushes subnormals.
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  const Rows rows = evaluate("mul.f32 d, a, b; add.f32 e, a, 0f00000001;", "f32 a, f32 b", "f32 d, f32 e",
                             {{0x0080'0000, bits_of(0.5f)}, {0x0000'0003, bits_of(1.0f)}});
  EXPECT_EQ(_mm_getcsr() & 0x8040u, 0x8040u);  // and gets it back
  _mm_setcsr(before);
  EXPECT_EQ(rows, (Rows{{0x0040'0000, 0x0080'0001}, {3, 4}}));
}

// ---- clusters that affect one another

Outcome run_grid(Bench& bench, const std::string& body, uint32_t ctas, uint32_t threads, uint32_t* out,
                 const std::string& directives = "") {
  Source source;
  source.parameters = ".param .u64 out";
  source.directives = directives;
  source.body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x; setp.eq.u32 %p1, "
      "%r2, 0;\n" +
      body;
  return bench.launch(source, {.grid = {ctas, 1, 1}, .block = {threads, 1, 1}}, out);
}

TEST(Files, ThatCannotBeWrittenAreAnError) {
  const std::string good = ::testing::TempDir() + "sim_engine_trace.json";
  for (const std::string& path : {good, std::string("/dev/full"), ::testing::TempDir() + "missing/file"}) {
    Options trace, counters;
    trace.trace_file = counters.counters_file = path;
    for (const Options& options : {trace, counters}) {
      Bench bench(options);
      auto* in = bench.allocate<uint32_t>(256);
      auto* out = bench.allocate<uint64_t>(64);
      ASSERT_EQ(bench.launch(busy_kernel(), {.block = {64, 1, 1}}, in, out, ~0u).status, Status::Success);
      EXPECT_EQ(bench.device().finish(), path == good) << path;
    }
  }
  EXPECT_TRUE(read_file(good).ends_with("}\n"));
  std::remove(good.c_str());
}

TEST(Grid, BarriersThroughGlobalMemory) {
  for (const Options& schedule : all_schedules()) {
    Options options = schedule;
    options.sms = 4;
    Bench bench(options);
    auto* out = bench.upload(std::vector<uint32_t>(64, 0));
    // Ten rounds: everybody adds one, waits until all have, and looks at its neighbour's.
    const Outcome outcome = run_grid(bench, R"(
        mov.u32 %r4, 0; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, %r3; mul.wide.u32 %rd4, %r5, 4; add.s64 %rd5, %rd1, %rd4; mov.u32 %r9, 0;
        round: add.u32 %r4, %r4, 1; @%p1 st.global.u32 [%rd3+16], %r4; bar.sync 0; membar.gl; @!%p1 bra joined; atom.global.add.u32 %r6, [%rd1], 1; mul.lo.u32 %r7, %r4, %r3;
        spin: ld.volatile.global.u32 %r8, [%rd1]; setp.lt.u32 %p2, %r8, %r7; @%p2 bra spin; joined: bar.sync 0;
        ld.volatile.global.u32 %r8, [%rd5+16]; setp.ge.u32 %p3, %r8, %r4; @!%p3 trap; setp.lt.u32 %p4, %r4, 10; @%p4 bra round;)",
                                     12, 64, out);
    EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
    EXPECT_EQ(out[0], 120u);
  }
}

TEST(Grid, ABarrierOfMoreCtasThanFitIsADeadlock) {
  Bench bench({.sms = 2});
  auto* out = bench.upload(std::vector<uint32_t>(64, 0));
  const Outcome outcome =
      run_grid(bench,
               "@!%p1 bra joined; atom.global.add.u32 %r6, [%rd1], 1; spin: ld.acquire.gpu.global.u32 %r8, [%rd1]; "
               "setp.lt.u32 %p2, %r8, %r3; @%p2 bra spin; joined: bar.sync 0;",
               8, 1024, out, ".maxntid 1024");
  expect_wait(outcome, Wait::Poll);
  EXPECT_EQ(out[0], 4u);  // two fit on each of the two SMs
}

TEST(Grid, ALockIsTakenInTurns) {
  Options options;
  options.sms = 4;
  for (const auto policy : {Options::Schedule::Default, Options::Schedule::Latest, Options::Schedule::Seeded}) {
    options.schedule = policy;
    Bench bench(options);
    auto* out = bench.upload(std::vector<uint32_t>(64, 0));
    const Outcome outcome =
        run_grid(bench,
                 "@!%p1 bra done; lock: atom.global.cas.b32 %r4, [%rd1], 0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra lock; "
                 "ld.volatile.global.u32 %r5, [%rd1+4]; nanosleep.u32 20; add.u32 %r5, %r5, 1; st.volatile.global.u32 "
                 "[%rd1+4], %r5; membar.gl; atom.global.exch.b32 %r4, [%rd1], 0; done:",
                 40, 32, out);
    EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
    EXPECT_EQ(out[1], 40u);
  }
}

TEST(Grid, UnderSeedsOthersSeeWhatIsThereForAMoment) {
  // CTA 0 stores 1 and after eight barriers 2; the others wait until there is something, and keep what they see.
  const auto seen = [](Options options) {
    options.sms = 4;
    Bench bench(options);
    auto* out = bench.upload(std::vector<uint32_t>(64, 0));
    std::string barriers;
    for (int i = 0; i < 8; ++i) barriers += "bar.sync 0; ";
    const Outcome outcome =
        run_grid(bench,
                 "setp.ne.u32 %p2, %r1, 0; @%p2 bra other; @%p1 atom.global.exch.b32 %r4, [%rd1], 1; " + barriers +
                     "@%p1 atom.global.exch.b32 %r4, [%rd1], 2; bra done; other: @!%p1 bra done; spin: "
                     "ld.volatile.global.u32 %r8, [%rd1]; setp.eq.u32 %p3, %r8, 0; @%p3 bra spin; mul.wide.u32 %rd2, "
                     "%r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r8; done:",
                 16, 64, out);
    EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
    return std::count(out + 1, out + 16, 1u);
  };
  long moments = 0;
  Options options;
  options.schedule = Options::Schedule::Seeded;
  for (options.seed = 1; options.seed <= 8; ++options.seed) moments += seen(options) > 0;
  EXPECT_GE(moments, 4);
}

TEST(Grid, ClustersThatFitOnAnH200AsMeasured) {
  Bench bench({}, "h200");
  KernelInfo kernel;
  kernel.max_threads = 1024;
  LaunchConfig config;
  config.block = {32, 1, 1};
  const auto fit = [&](uint32_t size, size_t smem) {
    config.cluster = {size, 1, 1}, config.dynamic_smem = smem;
    return bench.device().max_active_clusters(kernel, config);
  };
  constexpr size_t all = 227 * 1024;
  EXPECT_EQ((std::array{fit(1, all), fit(2, all), fit(3, all), fit(4, all), fit(6, all), fit(8, all), fit(9, all),
                        fit(16, all)}),
            (std::array{132, 66, 39, 30, 17, 15, 9, 7}));
  EXPECT_EQ(fit(2, 0), 528);
}

TEST(Grid, AClusterHasNoMoreBlocksThanTheGpuHasSms) {
  for (const char* gpu : {"h200", "b200"}) {
    Bench bench({.sms = 4}, gpu);
    KernelInfo kernel;
    kernel.max_threads = 1024;
    LaunchConfig config;
    config.block = {32, 1, 1};
    const auto fit = [&](uint32_t size) {
      config.cluster = {size, 1, 1};
      return bench.device().max_active_clusters(kernel, config);
    };
    EXPECT_GT(fit(4), 0) << gpu;
    EXPECT_EQ(fit(8), 0) << gpu;  // though each of the SMs has room for two of its blocks
  }
}

// ---- what kernels print

const char* const kSystemCalls = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.extern .func free(.param .b64 p);
)";
std::string text_variable(const std::string& name, const std::string& text) {
  std::string declared = ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {";
  for (const char c : text) declared += std::to_string(static_cast<unsigned char>(c)) + ", ";
  return declared + "0};\n";
}
std::string call_printf() {
  return "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd10; st.param.b64 [a], %rd11; call.uni "
         "(r), vprintf, (f, a); ld.param.b32 %r20, [r]; }\n";
}

TEST(Print, EveryKindOfArgument) {
  Bench bench;
  Source source;
  source.prologue =
      kSystemCalls +
      text_variable("pattern", "%d|%5u|%-6x|%lld|%llu|%c|%s|%p|%.3f|%8.2e|%g|%%|%05d|%+d|%hd|%zu|%*d|%#o\n") +
      text_variable("word", "hello");
  source.body =
      ".local .align 8 .b8 stack[144]; mov.u64 %rd1, stack; cvta.local.u64 %rd11, %rd1; mov.u64 %rd10, pattern;\n"
      "st.local.u32 [stack], -5; st.local.u32 [stack+4], 42; st.local.u32 [stack+8], 255; st.local.u64 [stack+16], "
      "-6000000000; st.local.u64 [stack+24], 18446744073709551615; st.local.u32 [stack+32], 65; mov.u64 %rd2, word; "
      "st.local.u64 [stack+40], %rd2; st.local.u64 [stack+48], 4096;"
      "st.local.f64 [stack+56], 3.14159; st.local.f64 [stack+64], 12345.678; st.local.f64 [stack+72], 0.5; "
      "st.local.u32 [stack+80], 42; st.local.u32 [stack+84], 7; st.local.u32 [stack+88], -3; st.local.u64 [stack+96], "
      "99; st.local.u32 [stack+104], 6; st.local.u32 [stack+108], 17; st.local.u32 [stack+112], 8;\n" +
      call_printf();
  ::testing::internal::CaptureStdout();
  expect_success(bench.launch(source, {}));
  std::fflush(stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "-5|   42|ff    |-6000000000|18446744073709551615|A|hello|0x1000|3.142|1.23e+04|0.5|%|00042|+7|-3|99|    "
            "17|010\n");
}

TEST(Print, InTheOrderOfTheClustersOnAnyNumberOfThreads) {
  std::string expected;
  for (int cta = 0; cta < 40; ++cta) {
    for (int lane = 0; lane < 2; ++lane) expected += std::to_string(cta) + "." + std::to_string(lane) + "\n";
  }
  for (const int threads : {1, 4}) {
    Bench bench({.threads = threads});
    Source source;
    source.prologue = kSystemCalls + text_variable("pattern", "%d.%d\n");
    source.body =
        ".local .align 8 .b8 stack[8]; mov.u64 %rd1, stack; cvta.local.u64 %rd11, %rd1; mov.u64 %rd10, pattern; "
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; st.local.v2.u32 [stack], {%r1, %r2}; xor.b32 %r3, %r1, 13; "
        "mul.lo.u32 %r3, %r3, 50; work: sub.u32 %r3, %r3, 1; setp.gt.s32 %p1, %r3, 0; @%p1 bra work;\n" +
        call_printf();
    ::testing::internal::CaptureStdout();
    expect_success(bench.launch(source, {.grid = {40, 1, 1}, .block = {2, 1, 1}}));
    std::fflush(stdout);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), expected);
  }
}

TEST(Print, FailedAssertions) {
  Bench bench;
  Source source;
  source.prologue = kSystemCalls + text_variable("message", "x < 3") + text_variable("file", "kernel.cu") +
                    text_variable("function", "void k()");
  source.body =
      "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 3; @%p1 bra fine; { .param .b64 m; .param .b64 f; .param .b32 l; "
      ".param .b64 n; .param .b64 s; mov.u64 %rd1, message; cvta.global.u64 %rd1, %rd1; st.param.b64 [m], %rd1; "
      "mov.u64 %rd1, file; st.param.b64 [f], %rd1; st.param.b32 [l], 17;"
      "mov.u64 %rd1, function; st.param.b64 [n], %rd1; st.param.b64 [s], 1; call.uni __assertfail, (m, f, l, n, s); } "
      "fine:";
  expect_fault(bench.launch(source, {.block = {8, 1, 1}}), faults::assertion, {"x < 3", "kernel.cu", 17, "void k()"});
}

TEST(Print, HeapOfTheDevice) {
  Bench bench;
  auto* out = bench.allocate<uint32_t>(1);
  Source source;
  source.prologue = kSystemCalls;
  source.parameters = ".param .u64 out";
  source.body =
      "ld.param.u64 %rd5, [out]; { .param .b64 b; .param .b64 r; st.param.b64 [b], 64; call.uni (r), malloc, (b); "
      "ld.param.b64 %rd1, [r]; } st.u32 [%rd1+60], 5; ld.u32 %r1, [%rd1+60]; st.global.u32 [%rd5], %r1; { .param .b64 "
      "p; st.param.b64 [p], %rd1; call.uni free, (p); }";
  expect_success(bench.launch(source, {}, out));
  EXPECT_EQ(*out, 5u);
  source.body += "st.u32 [%rd1], 5;";
  expect_fault(bench.launch(source, {}, out), faults::access_outside, {"device malloc"});
}

// ---- memory

/// A line of /proc/self/status, in KiB.
long memory_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::strtol(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return 0;
}

TEST(Memory, AFullB200InOrderTakesLessThanTwoGibibytes) {
  // All 148 CTAs meet at a barrier in global memory, each with all of its shared and tensor memory and 1,024 threads.
  Bench bench;
  auto* out = bench.upload(std::vector<uint32_t>(4, 0));
  Source source;
  source.prologue = ".extern .shared .align 1024 .b8 box[];\n.shared .align 4 .u32 address;\n";
  source.parameters = ".param .u64 out";
  source.directives = ".maxntid 1024\n.minnctapersm 1";
  source.body = ".reg .b32 many<200>; ";
  for (int i = 0; i < 200; ++i) source.body += "mov.u32 many" + std::to_string(i) + ", " + std::to_string(i) + ";\n";
  source.body +=
      "ld.param.u64 %rd1, [out]; mov.u32 %r9, box; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @!%p1 bra meet; "
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512; meet: bar.sync 0; setp.eq.u32 %p2, %r1, "
      "0; @!%p2 bra joined; atom.global.add.u32 %r2, [%rd1], 1; spin: ld.volatile.global.u32 %r3, [%rd1]; setp.lt.u32 "
      "%p3, %r3, 148; @%p3 bra spin;"
      "joined: bar.sync 0; mov.u32 %r4, 0; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 512;";
  for (int i = 1; i < 200; ++i) source.body += "add.u32 many0, many0, many" + std::to_string(i) + ";\n";
  source.body += "st.global.u32 [%rd1+4], many0;";
  const long before = memory_kib("VmRSS");
  const Outcome outcome =
      bench.launch(source, {.grid = {148, 1, 1}, .block = {1024, 1, 1}, .dynamic_smem = 226 * 1024 - 64}, out);
  EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
  EXPECT_EQ(out[0], 148u);
  EXPECT_EQ(out[1], 19'900u);
  const long used = memory_kib("VmHWM") - before;
  RecordProperty("kib", static_cast<int>(used));
  EXPECT_LT(used, 2L * 1024 * 1024);
}

TEST(Engine, ALongLaunchSaysHowFarItIs) {
  using std::chrono::milliseconds;
  const Progress::Clock::time_point start{};
  std::FILE* file = std::tmpfile();
  {
    Progress progress(file, 8, start), silent(nullptr, 8, start);
    for (const int ms : {1000, 2900, 3100, 3200, 5000}) {
      progress.cluster_ended(start + milliseconds(ms));
      silent.cluster_ended(start + milliseconds(ms));
    }
  }
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  EXPECT_EQ(text, "\r\033[Ksim: 38 %, about 5 s left\r\033[Ksim: 62 %, about 3 s left\r\033[K");
}

TEST(Engine, AShortLaunchSaysNothing) {
  std::FILE* file = std::tmpfile();
  { Progress(file, 2, {}).cluster_ended(Progress::Clock::time_point{} + std::chrono::milliseconds(2000)); }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace sim::test
