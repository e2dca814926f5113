// How fast the simulated device is, as ratios to what this machine can do: tensor work in fast arithmetic against the
// FP32 matrix product of OpenBLAS on as many threads, and ordinary instructions per second and core. Prints the targets
// beside what it measures; exits with 1 if --check is given and one is missed.
//
//   sim_speed [--size N] [--threads N] [--level PROGRAM] [--sim-sh SCRIPT] [--check]
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/device.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTensorTarget = 0.25;  // of OpenBLAS's rate
constexpr double kLaneTarget = 300e6;   // lane instructions a second and core

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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
    sim::Module* module = device.load(ptx, name, &outcome);
    if (module == nullptr) std::printf("%s\n", outcome.report.c_str()), std::exit(1);
    constexpr size_t kBytes = 4 << 20;
    void* buffers[3];
    for (void*& buffer : buffers) {
      buffer = device.memory().allocate(kBytes, "buffer");
      std::memset(buffer, 0, kBytes);
    }
    const void* arguments[] = {&buffers[0], &buffers[1], &buffers[2], &n};
    const auto start = Clock::now();
    outcome = device.launch(*module, *module->kernel("k"), config, const_cast<void* const*>(arguments));
    const double seconds = seconds_since(start);
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

// ---- tensor work

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SetThreads = void (*)(int);

double blas_gflops(int size, int threads) {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == nullptr) return 0;
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"));
  if (sgemm == nullptr) return 0;
  if (set_threads != nullptr) set_threads(threads);
  const auto n = static_cast<size_t>(size);
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    const auto start = Clock::now();
    sgemm(101, 111, 112, size, size, size, 1.0f, a.data(), size, b.data(), size, 0.0f, c.data(), size);
    best = std::min(best, seconds_since(start));
  }
  return 2.0 * size * size * static_cast<double>(size) / best / 1e9;
}

/// Runs a level and returns what it executed and how long, without what an almost empty run takes (start, inputs).
struct LevelRun {
  double flops = 0, seconds = 0;
  long peak_kib = 0;
};
LevelRun run_level(const std::string& script, const std::string& program, int size, int threads) {
  const std::string file = scratch_file("level");
  const auto command = [&](const std::string& options, int k) {
    const std::string problem =
        " --m " + std::to_string(size) + " --n " + std::to_string(size) + " --k " + std::to_string(k);
    const std::string line = script + " --arith fast --threads " + std::to_string(threads) + options + " " + program +
                             problem + " --verify off >/dev/null 2>&1";
    const auto start = Clock::now();
    if (std::system(line.c_str()) != 0) std::printf("  failed: %s\n", line.c_str()), std::exit(1);
    return seconds_since(start);
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
  for (int i = 0; i < 3; ++i) best = std::min(best, command("", size)), idle = std::min(idle, command("", 64));
  run.flops = flops - least, run.seconds = best - idle;
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  run.peak_kib = usage.ru_maxrss;
  return run;
}

}  // namespace

int main(int count, char** words) {
  int size = 2048, threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string level = SIM_SPEED_LEVEL, script = SIM_SPEED_SCRIPT;
  bool check = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return i + 1 < count ? std::string(words[++i]) : std::string(); };
    if (word == "--size")
      size = std::atoi(value().c_str());
    else if (word == "--threads")
      threads = std::atoi(value().c_str());
    else if (word == "--level")
      level = value();
    else if (word == "--sim-sh")
      script = value();
    else if (word == "--check")
      check = true;
    else {
      std::fprintf(stderr, "usage: sim_speed [--size N] [--threads N] [--level PROGRAM] [--sim-sh SCRIPT] [--check]\n");
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

  std::printf("tensor instructions in fast arithmetic, %d^3, %d threads (target: %.2f of OpenBLAS)\n", size, threads,
              kTensorTarget);
  std::ifstream exists(level);
  if (!exists) {
    std::printf("  %s is not built: nothing to run\n", level.c_str());
    return check && !met;
  }
  const LevelRun run = run_level(script, level, size, threads);
  const double simulated = run.flops / run.seconds / 1e9;
  std::printf("  %-28s %8.1f GFLOP/s executed (%.2f s; peak %ld MiB with the program's own buffers)\n",
              level.substr(level.rfind('/') + 1).c_str(), simulated, run.seconds, run.peak_kib / 1024);
  const double blas = blas_gflops(size, threads);
  if (blas == 0) {
    std::printf("  OpenBLAS: there is no libopenblas.so.0 (apt install libopenblas0), so no ratio\n");
  } else {
    std::printf("  %-28s %8.1f GFLOP/s\n  %-28s %8.2f\n", "OpenBLAS sgemm", blas, "ratio", simulated / blas);
    met &= simulated / blas >= kTensorTarget;
  }
  return check && !met;
}
