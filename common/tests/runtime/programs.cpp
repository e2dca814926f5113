// Whole programs under scripts/sim.sh, as a user runs them: what they print, what they launch, and how they end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

struct Ending {
  int code = -1;
  std::string output, log;  // both streams together; what the device noted
  bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
  bool noted(const std::string& text) const { return log.find(text) != std::string::npos; }
};

std::string content_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A file name for this test alone.
std::string scratch(const std::string& name) {
  return testing::TempDir() + "runtime_programs_" + std::to_string(getpid()) + "_" + name;
}

Ending shell(const std::string& command) {
  Ending ending;
  const std::string log = scratch("log");
  std::remove(log.c_str());
  const std::string whole =
      "export LADDER_SIM_DIR='" SIM_LIBRARIES "' FAKE_DEVICE_LOG='" + log + "'; { " + command + "; } 2>&1";
  std::FILE* const pipe = popen(whole.c_str(), "r");
  char buffer[4096];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ending.output.append(buffer, got);
  const int status = pclose(pipe);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ending.log = content_of(log);
  std::remove(log.c_str());
  return ending;
}

Ending sim(const std::string& arguments) { return shell(SIM_SCRIPT " " + arguments); }

const std::string PROGRAMS = SIM_PROGRAMS "/runtime_program_";

// -------------------------------------------------------------------------------------- one program, many compilations

class Compilation : public testing::TestWithParam<const char*> {};

TEST_P(Compilation, Runs) {
  const Ending ending = shell("LD_BIND_NOW=1 " SIM_SCRIPT " " + PROGRAMS + GetParam());
  EXPECT_EQ(ending.code, 0) << ending.output;
  EXPECT_TRUE(ending.says("exceptions pass")) << ending.output;
  EXPECT_TRUE(ending.says("default schedule, arithmetic exact up to 2^34 multiply-adds a launch, fast above.\n"));
  EXPECT_FALSE(ending.says("no version information")) << ending.output;
  // a, 2.0 and 3, 4, 5 where the compiler put them; then the short.
  EXPECT_TRUE(ending.noted("several")) << ending.log;
  EXPECT_TRUE(ending.noted("grid 2,3,1 block 32,1,1 cluster 0,0,0 smem 16 arguments 0000000000000000 61"))
      << ending.log;
  EXPECT_TRUE(ending.noted("0000000000000040030000000400000005000000")) << ending.log;
  EXPECT_TRUE(ending.noted(" 0900\n")) << ending.log;
  EXPECT_TRUE(ending.noted("block 64,1,1 cluster 0,0,0 smem 0 arguments 04030201\n")) << ending.log;
  EXPECT_TRUE(ending.noted("paired")) << ending.log;
  EXPECT_TRUE(ending.noted("grid 4,1,1 block 32,1,1 cluster 2,1,1 smem 0 arguments\n")) << ending.log;
  EXPECT_TRUE(ending.noted("grid 8,1,1 block 64,1,1 cluster 4,1,1 smem 204800 arguments\n")) << ending.log;
  EXPECT_TRUE(ending.noted("with_map")) << ending.log;
  EXPECT_TRUE(ending.noted("50414d54")) << ending.log;  // the tensor map's magic, among its 128 bytes
  EXPECT_TRUE(ending.noted("finish\n"));
  EXPECT_EQ(ending.log.find("load"), ending.log.rfind("load")) << "loaded more than once: " << ending.log;
}

INSTANTIATE_TEST_SUITE_P(All, Compilation,
                         testing::Values("plain", "lz4", "zstd", "relocatable", "per_thread", "static", "rpath",
                                         "static_and_shared"));
#ifdef LINKED_WITH_LIBCUDA
INSTANTIATE_TEST_SUITE_P(WithTheDriver, Compilation, testing::Values("static_and_driver"));
#endif

TEST(Programs, TheGpuFollowsTheCode) {
  EXPECT_TRUE(sim(PROGRAMS + "plain").says("Simulated B200, 148 SMs"));        // sm_100a only
  EXPECT_TRUE(sim(PROGRAMS + "lz4").says("Simulated H200, 132 SMs"));          // sm_90a only
  EXPECT_TRUE(sim(PROGRAMS + "zstd").says("Simulated B200, 148 SMs"));         // both
  EXPECT_TRUE(sim("--gpu h200 " + PROGRAMS + "zstd").says("Simulated H200"));  // as asked
}

TEST(Programs, CodeForAnotherGpuOnly) {
  const Ending ending = sim("--gpu h200 " + PROGRAMS + "plain asked");
  EXPECT_EQ(ending.code, 86);
  EXPECT_TRUE(ending.says("runtime_program_plain holds PTX for sm_100a, which the Simulated H200 does not run."));
  EXPECT_TRUE(ending.says("--gpu b200"));
  EXPECT_TRUE(ending.says("refused 209"));
}

TEST(Programs, NoPtx) {
  const Ending ending = sim(PROGRAMS + "machine_code asked");
  EXPECT_EQ(ending.code, 86);
  EXPECT_TRUE(ending.says("holds machine code for sm_90a but no PTX")) << ending.output;
  EXPECT_TRUE(ending.says("-gencode arch=compute_90a,code=[sm_90a,compute_90a]")) << ending.output;
  EXPECT_EQ(sim(PROGRAMS + "machine_code idle").code, 0);  // kernels that never run are no problem
}

TEST(Programs, ADamagedFatBinaryIsNamedBeforeItIsNeeded) {
  // A level asks which GPU there is, and would say that it is the wrong one: a Hopper is chosen for code that says so.
  std::string program = content_of(SIM_PROGRAMS "/level01_baseline_sm90");
  const std::size_t container = program.find("\x50\xed\x55\xba");
  ASSERT_NE(container, std::string::npos);
  program[container + 4] ^= 0x7F;
  const std::string damaged = scratch("damaged");
  std::ofstream(damaged) << program;
  std::filesystem::permissions(damaged, std::filesystem::perms::owner_all);
  const Ending ending = sim(damaged + " --m 128 --n 256 --k 64");
  std::remove(damaged.c_str());
  EXPECT_NE(ending.code, 0);
  EXPECT_TRUE(ending.says("holds a fat binary that cannot be used: its container has the unknown version"))
      << ending.output;
}

TEST(Programs, ALibraryWithAHiddenRuntimeFailsOnlyWhenItIsCalled) {
  const Ending idle = sim(SIM_PROGRAMS "/runtime_hidden_program");
  EXPECT_EQ(idle.code, 0) << idle.output;
  EXPECT_TRUE(idle.says("own: 0, 1")) << idle.output;
  EXPECT_TRUE(idle.says("warning: libruntime_hidden_library.so: linked with the static CUDA runtime")) << idle.output;
  EXPECT_FALSE(idle.says("calls the device through")) << idle.output;
  const Ending called = sim(SIM_PROGRAMS "/runtime_hidden_program call");
  EXPECT_EQ(called.code, 0) << called.output;
  EXPECT_TRUE(called.says("own: 0, 1")) << called.output;
  EXPECT_TRUE(called.says("hidden: -1")) << called.output;
  EXPECT_TRUE(called.says("libruntime_hidden_library.so calls the device through the static CUDA runtime inside it"))
      << called.output;
}

TEST(Programs, AStrippedStaticRuntimeCannotBeFound) {
  const std::string stripped = scratch("stripped");
  ASSERT_EQ(shell("strip -o " + stripped + " " + PROGRAMS + "static").code, 0);
  const Ending ending = sim(stripped);
  std::remove(stripped.c_str());
  EXPECT_EQ(ending.code, 2);
  EXPECT_TRUE(ending.says("static CUDA runtime, and stripped")) << ending.output;
  EXPECT_TRUE(ending.says("-cudart shared")) << ending.output;
}

// -------------------------------------------------------------------------------------------------------- how they end

TEST(Programs, AFaultTurnsSuccessInto86) {
  const Ending ending = sim(PROGRAMS + "plain faults");
  EXPECT_EQ(ending.code, 86) << ending.output;
  EXPECT_TRUE(ending.says("\n  a store went astray"));
  EXPECT_TRUE(ending.says("sync 700"));
  // Whatever the program still had to say is said.
  for (const char* line : {"stdio\n", "atexit\n", "static destructor\n"}) EXPECT_TRUE(ending.says(line)) << line;
  EXPECT_TRUE(ending.says("exit code 0 becomes 86"));
  EXPECT_TRUE(ending.noted("finish\n"));
  EXPECT_EQ(sim(PROGRAMS + "plain faults 0").code, 86);  // std::exit(0)
  EXPECT_EQ(sim(PROGRAMS + "plain faults 3").code, 3);   // the program noticed
}

TEST(Programs, ARefusedLaunchCountsUnlessAskedFor) {
  const Ending unseen = sim(PROGRAMS + "plain refused");
  EXPECT_EQ(unseen.code, 86) << unseen.output;
  EXPECT_TRUE(unseen.says("bounded is launched with blocks of 65 threads"));
  const Ending seen = sim(PROGRAMS + "plain asked");
  EXPECT_EQ(seen.code, 0) << seen.output;
  EXPECT_TRUE(seen.says("refused 1"));
}

TEST(Programs, AbortStopsAtOnce) {
  const Ending ending = sim("--abort " + PROGRAMS + "plain faults");
  EXPECT_EQ(ending.code, 128 + SIGABRT);
  EXPECT_TRUE(ending.says("a store went astray"));
  EXPECT_TRUE(ending.says("stdio\n"));
  EXPECT_FALSE(ending.says("sync"));
  EXPECT_TRUE(ending.noted("finish\n"));
}

TEST(Programs, FunctionsThatAreMissingSaySo) {
  const Ending ending = sim("--reports - " + PROGRAMS + "plain graph");
  EXPECT_EQ(ending.code, 86);
  EXPECT_TRUE(ending.says("\"kind\": \"refused\", \"errors\": 1")) << ending.output;  // its last record
  EXPECT_TRUE(ending.says(
      "sim: the program calls cudaGraphAddMemFreeNode, which the simulated device does not have. Graphs of "
      "kernels, copies, fills, host functions, events, graphs and conditions are simulated, and no others."))
      << ending.output;
}

// ---------------------------------------------------------------------------------------------------- the command line

TEST(Script, ItsOwnMistakesAreExitCode2) {
  const std::string program = " " + PROGRAMS + "plain idle";
  const std::pair<std::string, const char*> cases[] = {
      {"", "no PROGRAM"},
      {"--gpu", "--gpu needs a value"},
      {"--gpu gb300" + program, "no description of a GPU 'gb300'; known are b200, h100, h200"},
      {"--sms none" + program, "'none' is not a number"},
      {"--sms 0" + program, "at least 1"},
      {"--sms 149" + program, "from 1 to 148"},
      {"--gpu h200 --sms 133" + program, "from 1 to 132"},
      {"--seed x" + program, "'x' is not a number"},
      {"--seed 1 --latest" + program, "choose one"},
      {"--check=all" + program, "'all' is not a grade"},
      {"--check --timing" + program, "nothing to --check"},
      {"--check --tolerate equal-stores,none" + program, "there is no habit 'none'; known are ld-without-wait"},
      {"--check-kernels gemm" + program, "need --check"},
      {"--check-not gemm" + program, "need --check"},
      {"--error-exitcode 256" + program, "not 0 to 255"},
      {"--suppressions /nowhere" + program, "no readable file"},
      {"--suppressions " SIM_SCRIPT + program, "line 4: 'set -euo pipefail' is no list of rule, kernel"},
      {"--schedules default,x" + program, "no list of default, latest and numbers"},
      {"--schedules latest --seed 1" + program, "names --seed and --latest itself"},
      {"--arith quick" + program, "neither exact nor fast"},
      {"--threads 0" + program, "at least 1"},
      {"--ptx /nowhere.ptx" + program, "no readable file"},
      {"--ptx " SIM_SCRIPT + program, "is not PTX that defines a kernel"},
      {"--counters /nowhere/file" + program, "no directory /nowhere"},
      {"--counters same --trace same" + program, "two files are needed"},
      {"--fast" + program, "unknown option --fast"},
      {"./nowhere", "there is no program ./nowhere"},
      {SIM_PROGRAMS, "not an executable file"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const Ending ending = sim(arguments);
    EXPECT_EQ(ending.code, 2) << arguments;
    EXPECT_TRUE(ending.says(sentence)) << arguments << ": " << ending.output;
  }
  const Ending unbuilt = shell("LADDER_SIM_DIR=/nowhere " SIM_SCRIPT + program);
  EXPECT_EQ(unbuilt.code, 2);
  EXPECT_TRUE(unbuilt.says("scripts/build.sh cudart cuda"));
}

TEST(Script, AFileThatCannotBeWrittenIsAnError) {
  const Ending ending = sim("--counters unwritable " + PROGRAMS + "plain");
  EXPECT_EQ(ending.code, 86);
  EXPECT_TRUE(ending.says("could not be written, so the program's exit code 0 becomes 86.")) << ending.output;
}

TEST(Script, PassesThrough) {
  EXPECT_EQ(sim("--help").code, 0);
  EXPECT_EQ(sim("true").code, 0);
  EXPECT_EQ(sim("false").code, 1);
  EXPECT_EQ(sim("bash -c 'exit 5'").code, 5);
  EXPECT_TRUE(sim("bash -c '" + PROGRAMS + "plain'").says("exceptions pass"));
  EXPECT_TRUE(sim("-- echo --gpu").says("--gpu\n"));
  const Ending ending = sim("--sms 5 --latest --arith fast " + PROGRAMS + "plain");
  EXPECT_TRUE(ending.says("Simulated B200, 5 SMs, latest schedule, arithmetic fast.")) << ending.output;
  EXPECT_TRUE(sim("--seed 12 " + PROGRAMS + "plain").says("schedule from seed 12"));
}

TEST(Script, ACheckOfNothingSaysSo) {
  EXPECT_TRUE(sim("--check true").says("is not linked with CUDA"));
  EXPECT_FALSE(sim("true").says("not linked"));
  const Ending idle = sim("--check " + PROGRAMS + "plain idle");
  EXPECT_EQ(idle.code, 0);
  EXPECT_TRUE(idle.says("No kernel was launched, so --check has checked nothing.")) << idle.output;
  EXPECT_FALSE(sim(PROGRAMS + "plain idle").says("has checked nothing"));
  EXPECT_FALSE(sim("--check " + PROGRAMS + "plain").says("has checked nothing"));
  EXPECT_FALSE(sim("--check --check-kernels sever,no " + PROGRAMS + "plain").says("has checked nothing"));
  const Ending other = sim("--check --check-kernels else " + PROGRAMS + "plain");
  EXPECT_TRUE(other.says("No kernel was launched that --check-kernels names")) << other.output;
  EXPECT_TRUE(other.says("Launched were: ")) << other.output;
  EXPECT_TRUE(other.says("several")) << other.output;
}

TEST(Script, PtxReplacesTheEmbeddedCode) {
  const std::string file = scratch("other.ptx");
  std::ofstream(file)
      << ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry _Z7boundedv()\n.maxntid 65\n{ ret; }\n";
  const Ending replaced = sim("--ptx " + file + " " + PROGRAMS + "plain refused");
  EXPECT_EQ(replaced.code, 0) << replaced.output;  // the other code allows 65 threads
  EXPECT_TRUE(replaced.noted("load " + file)) << replaced.log;
  EXPECT_EQ(sim("--ptx " + file + " " + PROGRAMS + "machine_code refused").code, 0);  // even without any PTX of its own
  const Ending wrong_gpu = sim("--gpu h200 --ptx " + file + " " + PROGRAMS + "plain refused");
  EXPECT_EQ(wrong_gpu.code, 86);
  EXPECT_TRUE(wrong_gpu.says("does not run"));

  std::ofstream(file) << ".version 9.0\n.target sm_100a\n.visible .entry absent() { ret; }\n";
  const Ending unused = sim("--ptx " + file + " " + PROGRAMS + "plain");
  EXPECT_EQ(unused.code, 2);
  EXPECT_TRUE(unused.says("defines absent, but the program has no kernel of that name")) << unused.output;
  std::remove(file.c_str());
}

// ---------------------------------------------------------------------------------------------------------- the driver

TEST(Driver, LookedUp) { EXPECT_TRUE(sim(SIM_PROGRAMS "/runtime_driver_program dlopen").says("Simulated B200\n")); }

#ifdef LINKED_WITH_LIBCUDA
TEST(Driver, Linked) {
  const Ending ending = shell("LD_BIND_NOW=1 " SIM_SCRIPT " " SIM_PROGRAMS "/runtime_driver_program");
  EXPECT_EQ(ending.code, 0) << ending.output;
  EXPECT_EQ(ending.output, "Simulated B200\n");
  const Ending missing = sim(SIM_PROGRAMS "/runtime_driver_program graph");
  EXPECT_EQ(missing.code, 86);
  EXPECT_TRUE(missing.says("cuGraphConditionalHandleCreate"));
}
#endif

// --------------------------------------------------------------------------------------------------------- the symbols

struct Symbols {
  std::set<std::string> strong, weak;
  bool has(const std::string& name) const { return strong.count(name) + weak.count(name) > 0; }
};

Symbols symbols_of(const std::string& library) {
  Symbols symbols;
  std::stringstream lines(shell("nm -D --defined-only " + library).output);
  std::string address, kind, name;
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    words >> address >> kind >> name;
    (kind == "W" ? symbols.weak : symbols.strong).insert(name);
  }
  return symbols;
}

const std::string VERSION = "@@libcudart.so.13";

TEST(Symbols, AllOfTheToolkitsUnderTheSameVersion) {
  const Symbols real = symbols_of(SIM_TOOLKIT_CUDART), ours = symbols_of(SIM_LIBRARIES "/libcudart.so.13");
  EXPECT_GT(real.strong.size(), 400u);
  for (const std::string& name : real.strong) EXPECT_TRUE(ours.has(name)) << name;
  for (const std::string& name : ours.strong) {
    EXPECT_TRUE(name == "libcudart.so.13" || name.ends_with(VERSION)) << name;
    EXPECT_TRUE(name.starts_with("cu") || name.starts_with("__cuda") || name.starts_with("lib") ||
                name.starts_with("sim_note_useful_flops@@") || name.starts_with("sim_name_shared@@") ||
                name.starts_with("sim_generated@@") || name.starts_with("sim_describe_result@@") ||
                name.starts_with("sim_predicts@@"))
        << name;
  }
  EXPECT_TRUE(shell("readelf -d " SIM_LIBRARIES "/libcudart.so.13").says("soname: [libcudart.so.13]"));
  EXPECT_TRUE(shell("readelf -d " SIM_LIBRARIES "/libcuda.so.1").says("soname: [libcuda.so.1]"));
}

TEST(Symbols, PerThreadNamesAreThereWhereThePlainOnesAre) {
  const Symbols ours = symbols_of(SIM_LIBRARIES "/libcudart.so.13");
  for (const std::string& name : ours.strong) {
    const std::string base = name.substr(0, name.find('@'));
    for (const char* suffix : {"_ptsz", "_ptds"})
      EXPECT_EQ(ours.weak.count(base + suffix + VERSION), 0u) << base << suffix;
  }
}

/// As strong symbols: what the toolkit has beside these may be weak ones, which say that they are missing.
const char* const USED = R"(
    __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction
    __cudaRegisterVar __cudaRegisterManagedVar __cudaInitModule __cudaPushCallConfiguration __cudaPopCallConfiguration
    __cudaGetKernel __cudaLaunchKernel cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel
    cudaFuncSetAttribute cudaFuncGetAttributes cudaFuncSetCacheConfig cudaOccupancyMaxActiveClusters
    cudaOccupancyMaxPotentialClusterSize cudaOccupancyMaxActiveBlocksPerMultiprocessor
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaOccupancyAvailableDynamicSMemPerBlock
    cudaGetDeviceProperties cudaDeviceGetAttribute cudaGetDriverEntryPointByVersion cudaGetDriverEntryPoint
    cudaDriverGetVersion cudaRuntimeGetVersion cudaMalloc cudaFree cudaMallocHost cudaHostAlloc cudaFreeHost
    cudaMallocAsync cudaFreeAsync cudaMallocManaged cudaMallocPitch cudaMemcpy cudaMemcpyAsync cudaMemcpy2D
    cudaMemcpy2DAsync cudaMemcpy3D cudaMemcpyToSymbol cudaMemcpyFromSymbol cudaMemcpyPeer cudaMemset cudaMemsetAsync
    cudaMemset2D cudaGetSymbolAddress cudaGetSymbolSize cudaPointerGetAttributes cudaMemGetInfo cudaHostRegister
    cudaHostUnregister cudaHostGetDevicePointer cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority
    cudaStreamDestroy cudaStreamSynchronize cudaStreamQuery cudaStreamWaitEvent cudaStreamIsCapturing
    cudaStreamGetCaptureInfo cudaStreamAddCallback cudaLaunchHostFunc cudaEventCreate cudaEventCreateWithFlags
    cudaEventRecord cudaEventQuery cudaEventSynchronize cudaEventElapsedTime cudaEventDestroy cudaSetDevice
    cudaGetDevice cudaGetDeviceCount cudaDeviceSynchronize cudaDeviceReset cudaDeviceSetLimit cudaDeviceGetLimit
    cudaDeviceSetCacheConfig cudaCtxResetPersistingL2Cache cudaGetLastError cudaPeekAtLastError cudaGetErrorString
    cudaGetErrorName cudaProfilerStart cudaProfilerStop cuTensorMapEncodeTiled cuGetErrorString cuGetErrorName cuInit
    cuDriverGetVersion cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetAttribute cuGetProcAddress_v2
    cuCtxGetCurrent
)";

TEST(Symbols, WhatProgramsUseIsImplemented) {
  const Symbols ours = symbols_of(SIM_LIBRARIES "/libcudart.so.13");
  std::stringstream used(USED);
  for (std::string name; used >> name;) EXPECT_EQ(ours.strong.count(name + VERSION), 1u) << name;
}

}  // namespace
