// How fast the simulated device is, in seconds of the processor, so that what else runs on the machine matters little:
//
//   ordinary instructions   lane instructions per second of a core
//   exact arithmetic        tensor instructions, per second of a core, beside tcgen05.mma
//   fast arithmetic         a level of each architecture beside the FP32 matrix product of OpenBLAS
//   waiting                 copies that are waited for at barriers, under a seed and as late as can be, beside the
//                           default
//
// Prints the targets beside what it measures; exits with 1 if --check is given and one is missed.
//
//   sim_speed [--size N] [--threads N] [--levels FOLDER] [--sim-sh SCRIPT] [--check]
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/device.h"
#include "exec/tensor/kernels.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTensorTarget = 0.5;  // of OpenBLAS's rate
constexpr double kLaneTarget = 300e6;  // lane instructions a second and core
constexpr double kWgmmaTarget = 0.8;   // of tcgen05.mma's rate, in exact arithmetic
constexpr double kMmaTarget = 1.2e9;   // operations a second and core: twenty times what one output at a time had
constexpr double kWaitTarget = 10;     // times what the default schedule takes

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Seconds of the processor, of all threads of this process.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
/// The same of its children that have ended.
double childrens_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string scratch_file(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("sim_speed_" + name + "." + std::to_string(getpid()));
}

// ---- ordinary instructions

/// C = A * B, 16 x 16 threads per CTA: operands go through shared memory, as in every CUDA course.
const char* const kTiledGemm = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .shared .align 16 .b8 tiles[2048];
  .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<8>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;
  mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;
  shl.b32 %r6, %r5, 4; add.u32 %r6, %r6, %r3;
  shl.b32 %r7, %r4, 4; add.u32 %r7, %r7, %r2;
  mad.lo.u32 %r8, %r6, %r1, %r2; mul.wide.u32 %rd4, %r8, 4; add.s64 %rd1, %rd1, %rd4;
  mad.lo.u32 %r9, %r3, %r1, %r7; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd2, %rd2, %rd5;
  mov.u32 %r10, tiles; shl.b32 %r11, %r3, 6; add.u32 %r11, %r10, %r11; shl.b32 %r12, %r2, 2; add.u32 %r13, %r11, %r12;
  add.u32 %r14, %r10, %r12; add.u32 %r14, %r14, 1024; add.u32 %r15, %r13, 1024;
  shl.b32 %r16, %r1, 6; cvt.u64.u32 %rd6, %r16;
  mov.f32 %f1, 0f00000000; mov.u32 %r17, 0;
OUTER:
  ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd2];
  st.shared.f32 [%r13], %f2; st.shared.f32 [%r15], %f3;
  bar.sync 0;
  mov.u32 %r18, %r11; mov.u32 %r19, %r14; mov.u32 %r20, 0;
INNER:
  ld.shared.f32 %f4, [%r18]; ld.shared.f32 %f5, [%r19]; fma.rn.f32 %f1, %f4, %f5, %f1;
  ld.shared.f32 %f6, [%r18+4]; ld.shared.f32 %f7, [%r19+64]; fma.rn.f32 %f1, %f6, %f7, %f1;
  add.u32 %r18, %r18, 8; add.u32 %r19, %r19, 128; add.u32 %r20, %r20, 2;
  setp.lt.u32 %p1, %r20, 16;
  @%p1 bra INNER;
  bar.sync 0;
  add.s64 %rd1, %rd1, 64; add.s64 %rd2, %rd2, %rd6;
  add.u32 %r17, %r17, 16;
  setp.lt.u32 %p2, %r17, %r1;
  @%p2 bra OUTER;
  mad.lo.u32 %r21, %r6, %r1, %r7; mul.wide.u32 %rd7, %r21, 4; add.s64 %rd3, %rd3, %rd7;
  st.global.f32 [%rd3], %f1;
  ret;
})";

/// Arithmetic alone: integer and floating-point, with a divergent branch now and then.
const char* const kArithmetic = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [c]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r3, 256, %r2;
  cvt.rn.f32.u32 %f1, %r4; mov.f32 %f2, 0f3F800000; mov.u32 %r5, 0; mov.u32 %r6, %r4;
TOP:
  fma.rn.f32 %f2, %f2, %f1, %f2; mul.f32 %f3, %f1, 0f3F000000; add.f32 %f1, %f3, %f2;
  mad.lo.s32 %r6, %r6, 1664525, 1013904223; shr.u32 %r7, %r6, 7; xor.b32 %r8, %r7, %r6; and.b32 %r9, %r8, 127;
  setp.ne.u32 %p1, %r9, 0; @%p1 bra SKIP;
  add.f32 %f2, %f2, 0f3F800000;
SKIP:
  min.u32 %r10, %r8, %r6; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r1; @%p2 bra TOP;
  mul.wide.u32 %rd2, %r4, 4; add.s64 %rd1, %rd1, %rd2; st.global.f32 [%rd1], %f2;
  ret;
})";

/// Copies with a stride through global memory, 16 bytes a lane.
const char* const kCopy = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [c]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r3, 256, %r2; mov.u32 %r5, 0;
TOP:
  mul.wide.u32 %rd3, %r4, 16; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd4]; add.u32 %r10, %r10, %r5; xor.b32 %r11, %r11, %r5;
  st.global.v4.u32 [%rd5], {%r10, %r11, %r12, %r13};
  add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r1; @%p1 bra TOP;
  ret;
})";

double lane_rate(const char* name, const char* ptx, sim::LaunchConfig config, uint32_t n) {
  sim::Options options;
  options.threads = 1;
  const auto launch = [&](const std::string& counters) {
    options.counters_file = counters;
    sim::Device device(*sim::find_gpu("b200"), options);
    sim::Outcome outcome;
    sim::DeviceModule* module = device.load(ptx, name, &outcome);
    if (module == nullptr) std::printf("%s\n", outcome.report.c_str()), std::exit(1);
    constexpr size_t kBytes = 4 << 20;
    void* buffers[3];
    for (void*& buffer : buffers) {
      buffer = device.memory().allocate(kBytes, "buffer");
      std::memset(buffer, 0, kBytes);
    }
    const void* arguments[] = {&buffers[0], &buffers[1], &buffers[2], &n};
    const double start = processor_seconds();
    outcome = device.launch(*module, *module->kernel("k"), config, const_cast<void* const*>(arguments));
    const double seconds = processor_seconds() - start;
    if (outcome.status != sim::Status::Success) std::printf("%s\n", outcome.report.c_str()), std::exit(1);
    device.finish();
    return seconds;
  };
  // Counting costs time: once to count, then to measure.
  const std::string file = scratch_file("counters");
  launch(file);
  std::ifstream stream(file);
  const std::string json((std::istreambuf_iterator<char>(stream)), {});
  std::remove(file.c_str());
  const size_t at = json.find("\"lane_instructions\": ");
  const double lanes = at == std::string::npos ? 0 : std::strtod(json.c_str() + at + 21, nullptr);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) best = std::min(best, launch(""));
  std::printf("  %-28s %8.0f million lane instructions per second and core (%.2f s)\n", name, lanes / best / 1e6, best);
  return lanes / best;
}

// ---- tensor instructions in exact arithmetic

/// One CTA that executes `body` with `n` rounds to do, its tiles filled with small F16 numbers. Seconds of the
/// processor.
double run_kernel(const std::string& gpu, const std::string& body, uint32_t threads, uint32_t n,
                  sim::SchedulePolicy schedule = sim::SchedulePolicy::Default) {
  const std::string ptx = ".version 9.0\n.target " + std::string(gpu == "h200" ? "sm_90a" : "sm_100a") +
                          "\n.address_size 64\n.shared .align 1024 .b8 tiles[32768];\n.shared .align 8 .b64 bar;\n"
                          ".shared .align 4 .u32 address;\n"
                          ".visible .entry k(.param .u64 from, .param .u32 n)\n{\n"
                          ".reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .b32 d<128>;\n"
                          "ld.param.u64 %rd1, [from]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, tiles;\n"
                          "shl.b32 %r4, %r2, 2; FILL: add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], 0x1C001C00; "
                          "add.u32 %r4, %r4, " +
                          std::to_string(4 * threads) +
                          "; setp.lt.u32 %p1, %r4, 32768; @%p1 bra FILL; mov.u32 %r6, bar; setp.eq.u32 %p2, %r2, 0; "
                          "mov.u32 %r7, 0; fence.proxy.async; bar.sync 0;\n" +
                          body + "\nret;\n}\n";
  sim::Device device(*sim::find_gpu(gpu),
                     {.schedule = schedule, .seed = 1, .arithmetic = sim::Options::Arithmetic::Exact, .threads = 1});
  sim::Outcome outcome;
  sim::DeviceModule* const module = device.load(ptx, "speed", &outcome);
  double best = 1e9;
  for (int i = 0; i < 3 && module != nullptr; ++i) {
    void* from = device.memory().allocate(1 << 20, "buffer");
    std::memset(from, 0, 1 << 20);
    const void* arguments[] = {&from, &n};
    const double start = processor_seconds();
    outcome =
        device.launch(*module, *module->kernel("k"), {.block = {threads, 1, 1}}, const_cast<void* const*>(arguments));
    best = std::min(best, processor_seconds() - start);
    if (outcome.status != sim::Status::Success) break;
  }
  if (outcome.status != sim::Status::Success) std::printf("%s\n", outcome.report.c_str()), std::exit(1);
  device.finish();
  return best;
}

std::string list_of(const char* name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::string(name) + std::to_string(i);
  return text + "}";
}
std::string loop(const std::string& once) {
  return "TOP:\n" + once + "\nadd.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r1; @%p3 bra TOP;\n";
}

/// Operations per second of `once`, which does `each` of them, without what the kernel takes around it.
double exact_rate(const char* name, const std::string& gpu, const std::string& before, const std::string& once,
                  const std::string& after, uint32_t threads, double each) {
  constexpr uint32_t kMany = 200;
  const std::string body = before + loop(once) + after;
  const double seconds = run_kernel(gpu, body, threads, kMany) - run_kernel(gpu, body, threads, 1);
  const double rate = each * (kMany - 1) / seconds;
  std::printf("  %-36s %8.1f GFLOP/s\n", name, rate / 1e9);
  return rate;
}

/// The descriptor of a tile without swizzle: core matrices of 128 bytes, two of them for each 8 rows.
std::string descriptor(const char* to, int offset, bool tcgen05) {
  return "add.u32 %r10, %r3, " + std::to_string(offset) + "; shr.u32 %r10, %r10, 4; cvt.u64.u32 " + to +
         ", %r10; or.b64 " + to + ", " + to + ", " + (tcgen05 ? "0x0000401000080000" : "0x0000001000080000") + "; ";
}

bool exact_section() {
  std::printf(
      "tensor instructions in exact arithmetic, one core (targets: wgmma %.1f of tcgen05.mma, mma.sync %.1f GFLOP/s)\n",
      kWgmmaTarget, kMmaTarget / 1e9);
  const std::string allocate =
      "@%p2 mbarrier.init.shared::cta.b64 [%r6], 1; shr.u32 %r24, %r2, 5; setp.ne.u32 %p6, %r24, 0; @%p6 bra "
      "ALLOCATED; "
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512; ALLOCATED: bar.sync 0; ld.shared.u32 "
      "%r20, [address]; add.u32 %r22, %r20, 256; shl.b32 %r23, %r24, 21; add.u32 %r23, %r22, %r23; mov.b32 %r40, "
      "0x1C001C00;\ntcgen05.st.sync.aligned.32x32b.x8.b32 [%r23], {%r40, %r40, %r40, %r40, %r40, %r40, %r40, %r40}; "
      "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; " +
      descriptor("%rd2", 0, true) + descriptor("%rd3", 8192, true);
  const std::string free = "bar.sync 0; @!%p6 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 512;";
  const auto tcgen05 = [&](const std::string& a, uint32_t m, uint32_t n) {
    const uint32_t instruction = 1u << 4 | n / 8 << 17 | m / 16 << 24;
    return "setp.ne.u32 %p4, %r7, 0; @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r20], " + a + ", %rd3, " +
           std::to_string(instruction) +
           ", %p4; @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r6]; and.b32 %r21, "
           "%r7, "
           "1;\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r6], %r21; @!%p5 bra WAIT;";
  };
  const double basis = exact_rate("tcgen05.mma, 128 x 256", "b200", allocate, tcgen05("%rd2", 128, 256), free, 128,
                                  2.0 * 128 * 256 * 16);
  bool met = exact_rate("tcgen05.mma, 64 x 256, A in TMEM", "b200", allocate, tcgen05("[%r22]", 64, 256), free, 128,
                        2.0 * 64 * 256 * 16) > 0.3 * basis;  // half of its lanes are idle
  for (const bool half : {false, true}) {
    const std::string registers = list_of("d", half ? 64 : 128);
    const double rate = exact_rate(
        half ? "wgmma, 64 x 256, F16 accumulators" : "wgmma, 64 x 256", "h200",
        descriptor("%rd2", 0, false) + descriptor("%rd3", 8192, false),
        "setp.ne.u32 %p4, %r7, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n256k16." +
            std::string(half ? "f16" : "f32") + ".f16.f16 " + registers +
            ", %rd2, %rd3, %p4, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        "", 128, 2.0 * 64 * 256 * 16);
    met &= rate >= kWgmmaTarget * basis;
  }
  for (const bool half : {false, true}) {
    const std::string type = half ? "f16" : "f32", c = half ? "{d0, d1}" : "{d0, d1, d2, d3}";
    std::string start = "mov.b32 %r40, 0x1C001C00; ", once;
    for (int i = 0; i < 4; ++i) start += "mov.b32 d" + std::to_string(i) + ", 0; ";
    for (int i = 0; i < 16; ++i) {
      once += "mma.sync.aligned.m16n8k16.row.col." + type + ".f16.f16." + type + " " + c +
              ", {%r40, %r40, %r40, %r40}, {%r40, %r40}, " + c + "; ";
    }
    met &= exact_rate(half ? "mma.sync, F16 accumulators" : "mma.sync", "h200", start, once, "", 32,
                      16 * 2.0 * 16 * 8 * 16) >= kMmaTarget;
  }
  return met;
}

// ---- waiting for copies

bool waiting_section() {
  std::printf("copies that barriers wait for (target: at most %.0f times the default schedule)\n", kWaitTarget);
  // 128 threads: 16 bytes each by cp.async, an arrival when they have landed, and everybody waits.
  const std::string body =
      "@%p2 mbarrier.init.shared::cta.b64 [%r6], 128; bar.sync 0; shl.b32 %r10, %r2, 4; add.u32 %r11, %r3, %r10; "
      "cvt.u64.u32 %rd2, %r10; add.s64 %rd2, %rd1, %rd2;\n" +
      loop(
          "cp.async.cg.shared.global [%r11], [%rd2], 16; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r6]; and.b32 "
          "%r21, %r7, 1;\nWAIT: mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r6], %r21; @!%p5 bra WAIT;\nbar.sync "
          "0;");
  constexpr uint32_t kMany = 500;
  const double usual = run_kernel("h200", body, 128, kMany);
  bool met = true;
  for (const bool latest : {false, true}) {
    const double seconds =
        run_kernel("h200", body, 128, kMany, latest ? sim::SchedulePolicy::Latest : sim::SchedulePolicy::Seeded);
    std::printf("  %-36s %8.2f times (%.3f s)\n", latest ? "as late as can be" : "under a seed", seconds / usual,
                seconds);
    met &= seconds <= kWaitTarget * usual;
  }
  return met;
}

// ---- tensor work

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SetThreads = void (*)(int);

/// Per second of a core; 0 if there is no OpenBLAS. One thread: threads of OpenBLAS spin while they wait.
double blas_gflops(int size) {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == nullptr) return 0;
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"));
  if (sgemm == nullptr) return 0;
  if (set_threads != nullptr) set_threads(1);
  const auto n = static_cast<size_t>(size);
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    const double start = processor_seconds();
    sgemm(101, 111, 112, size, size, size, 1.0f, a.data(), size, b.data(), size, 0.0f, c.data(), size);
    best = std::min(best, processor_seconds() - start);
  }
  return 2.0 * size * size * static_cast<double>(size) / best / 1e9;
}

/// Runs a level and returns what it executed and how long, without what an almost empty run takes (start, inputs).
struct LevelRun {
  double flops = 0, seconds = 0;  // of the processor
  double elapsed = 0;             // of the whole run, by the clock
  long peak_kib = 0;
};
LevelRun run_level(const std::string& script, const std::string& program, int size, int threads) {
  const std::string file = scratch_file("level");
  const auto command = [&](const std::string& options, int k) {
    const std::string problem =
        " --m " + std::to_string(size) + " --n " + std::to_string(size) + " --k " + std::to_string(k);
    const std::string line = script + " --arith fast --threads " + std::to_string(threads) + options + " " + program +
                             problem + " --init zeros --verify off >/dev/null 2>&1";
    const double start = childrens_seconds();
    if (std::system(line.c_str()) != 0) std::printf("  failed: %s\n", line.c_str()), std::exit(1);
    return childrens_seconds() - start;
  };
  LevelRun run;
  const auto flops_of = [&](int k) {
    command(" --counters " + file, k);
    std::ifstream stream(file);
    const std::string json((std::istreambuf_iterator<char>(stream)), {});
    std::remove(file.c_str());
    double total = 0;
    for (size_t at = 0; (at = json.find("\"tensor_flops\": ", at)) != std::string::npos; ++at)
      total += std::strtod(json.c_str() + at + 16, nullptr);
    return total;
  };
  const double flops = flops_of(size), least = flops_of(64);
  double best = 1e9, idle = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    best = std::min(best, command("", size));
    run.elapsed = i == 0 ? seconds_since(start) : std::min(run.elapsed, seconds_since(start));
    idle = std::min(idle, command("", 64));
  }
  run.flops = flops - least, run.seconds = best - idle;
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  run.peak_kib = usage.ru_maxrss;
  return run;
}

}  // namespace

int main(int count, char** words) {
  int size = 2048, threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string levels = SIM_SPEED_LEVELS, script = SIM_SPEED_SCRIPT;
  bool check = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return i + 1 < count ? std::string(words[++i]) : std::string(); };
    if (word == "--size")
      size = std::atoi(value().c_str());
    else if (word == "--threads")
      threads = std::atoi(value().c_str());
    else if (word == "--levels")
      levels = value();
    else if (word == "--sim-sh")
      script = value();
    else if (word == "--check")
      check = true;
    else {
      std::fprintf(stderr, "usage: sim_speed [--size N] [--threads N] [--levels FOLDER] [--sim-sh SCRIPT] [--check]\n");
      return 2;
    }
  }
  if (size < 128 || size % 128 != 0 || threads < 1) {
    std::fprintf(stderr, "sim_speed: --size must be a multiple of 128, --threads at least 1\n");
    return 2;
  }
  bool met = true;

  std::printf("ordinary instructions, one core (target: %.0f million)\n", kLaneTarget / 1e6);
  sim::LaunchConfig tiled, flat;
  tiled.grid = {16, 16, 1}, tiled.block = {16, 16, 1};
  flat.grid = {64, 1, 1}, flat.block = {256, 1, 1};
  met &= lane_rate("tiled matrix product", kTiledGemm, tiled, 256) >= kLaneTarget;
  met &= lane_rate("arithmetic and branches", kArithmetic, flat, 2000) >= kLaneTarget;
  lane_rate("16-byte copies", kCopy, flat, 400);

  met &= exact_section();
  met &= waiting_section();

  std::printf(
      "tensor instructions in fast arithmetic, %d^3, per second of a core, with %s (target: %.2f of OpenBLAS)\n", size,
      sim::tensor::kernels().name, kTensorTarget);
  const double blas = blas_gflops(size);
  if (blas == 0)
    std::printf("  OpenBLAS: there is no libopenblas.so.0 (apt install libopenblas0), so no ratios\n");
  else
    std::printf("  %-36s %8.1f GFLOP/s\n", "OpenBLAS sgemm", blas);
  for (const char* const name : {"level07_dual_tile_sm100", "level08_deep_pipeline_sm90"}) {
    const std::string level = levels + "/" + name;
    if (!std::filesystem::exists(level)) {
      std::printf("  %s is not built: nothing to run\n", level.c_str());
      continue;
    }
    const LevelRun run = run_level(script, level, size, threads);
    const double simulated = run.flops / run.seconds / 1e9;
    std::printf("  %-36s %8.1f GFLOP/s", name, simulated);
    if (blas != 0) std::printf(", %.2f of OpenBLAS", simulated / blas);
    std::printf(" (%.2f s by the clock; peak %ld MiB with the program's own buffers)\n", run.elapsed,
                run.peak_kib / 1024);
    met &= blas == 0 || simulated / blas >= kTensorTarget;
  }
  return check && !met;
}
