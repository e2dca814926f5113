// Whole runs of a level, on a GPU that is faked together with cuBLAS and NVML.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "common/harness/failure.h"
#include "common/harness/inputs.h"
#include "common/harness/level.h"
#include "common/harness/reference.h"
#include "common/harness/verify.h"
#include "fake_gpu.h"
#include "support.h"

namespace harness {
namespace {

using test::fake_gpu;
using test::read_file;
using test::TemporaryFolder;

int launches, launches_until_broken;

float dot(const Problem& p, int m, int n) {
  const auto* a = reinterpret_cast<const Bf16*>(p.a) + std::int64_t{m} * p.k;
  const auto* b = reinterpret_cast<const Bf16*>(p.b) + std::int64_t{n} * p.k;
  return static_cast<float>(dot_fp64(a, b, p.k));
}

cudaError_t multiply(const Problem& p, cudaStream_t) {
  ++launches;
  auto* d = reinterpret_cast<Bf16*>(p.d);
  for (int m = 0; m < p.m; ++m) {
    for (int n = 0; n < p.n; ++n) d[std::int64_t{m} * p.ldd + n] = round_to_bf16(dot(p, m, n));
  }
  if (launches > launches_until_broken) d[0] = round_to_bf16(1000);
  return cudaSuccess;
}

cudaError_t multiply_but_forget_a_row(const Problem& p, cudaStream_t stream) {
  multiply(p, stream);
  std::fill_n(reinterpret_cast<Bf16*>(p.d), p.n, BF16_POISON);
  return cudaSuccess;
}

cudaError_t multiply_and_write_past_the_end(const Problem& p, cudaStream_t stream) {
  multiply(p, stream);
  reinterpret_cast<Bf16*>(p.d)[std::int64_t{p.m} * p.ldd + 3] = 0;
  return cudaSuccess;
}

cudaError_t multiply_and_scribble_over_b(const Problem& p, cudaStream_t stream) {
  multiply(p, stream);
  reinterpret_cast<Bf16*>(const_cast<__nv_bfloat16*>(p.b))[7] = 0;
  return cudaSuccess;
}

cudaError_t fail(const Problem&, cudaStream_t) { return cudaErrorIllegalAddress; }

constexpr int STORE_N = 8;
struct Chosen {
  static constexpr int MMA_M = 64;
};

Description describe() {
  return {.tile_m = 128,
          .tile_n = 64,
          .tile_k = 32,
          .tile_owner = "CTA",
          .stages = 2,
          .stage_bytes = 12288,
          .threads = 128,
          .smem_bytes = 25600,
          .tmem_columns = 128,
          .tmem_address = 16,
          .constants = LADDER_CONSTANTS(STORE_N, Chosen::MMA_M),
          .smem = {ring("stages of A and B", 1024, 2, 8192, 4096)},
          .barriers = {{"smem_full", 0, 2, 1, 12288, "the producer \"P\"", "the consumer", 0}},
          .named_barriers = {{"STORE", 1, 2, 128, "rows are there"}},
          .roles = {{"warp 0", "everything"}},
          .tile_at = [](int tile, int m_blocks, int) {
            return Tile{tile % m_blocks, tile / m_blocks};
          }};
}

Description describe_pair() {
  Description d = describe();
  d.cluster = 2;
  return d;
}

const Config CONFIGS[] = {{"good", multiply, describe},
                          {"forgetful", multiply_but_forget_a_row, describe},
                          {"careless", multiply_and_write_past_the_end, describe},
                          {"scribbling", multiply_and_scribble_over_b, describe},
                          {"failing", fail, describe},
                          {"pair", multiply, describe_pair}};

struct Outcome {
  int exit_code;
  std::string out, err;
  std::string all() const { return out + err; }
};

class Run : public testing::Test {
 protected:
  void SetUp() override {
    fake_gpu = {};
    launches = 0;
    launches_until_broken = 1 << 30;
    ::setenv("LADDER_COMMIT", "abc1234", 1);
    ::unsetenv("FAKE_LIBRARIES");
  }

  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "build/bin/level00_fake_sm90");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.exit_code = harness::run(static_cast<int>(argv.size()), argv.data(), level);
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }

  /// Adds the options for a quick timing of a small problem.
  Outcome bench(std::vector<std::string> arguments) {
    for (const char* argument : {"--m=17", "--n=40", "--k=24", "--bench", "--budget=0.2", "--rounds=6"}) {
      arguments.push_back(argument);
    }
    return run(arguments);
  }

  Level level{.name = "level00_fake", .arch = 90, .idea = "The product, on the host.", .configs = CONFIGS};
  TemporaryFolder folder;
};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\ndoes not contain: " << part;
}

void expect_lacks(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << text << "\ncontains: " << part;
}

int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

void expect_one_sentence(const Outcome& outcome, int exit_code, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.all();
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines(outcome.err), 1) << outcome.err;
  expect_contains(outcome.err, part);
}

TEST_F(Run, RightResult) {
  const Outcome outcome = run({"--m", "130", "--n", "136", "--k", "72"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  EXPECT_EQ(lines(outcome.out), 1);
  EXPECT_EQ(outcome.err, "");
  expect_contains(outcome.out, "level00_fake_sm90  130x136x72  right: cosine 0.99999");
  expect_contains(outcome.out, "(cublas)");
  expect_lacks(outcome.out, "TFLOPS");
  EXPECT_EQ(launches, 1);
}

TEST_F(Run, SeveralLaunchesInARow) {
  EXPECT_EQ(run({"--m=16", "--n=8", "--k=8", "--launches=3"}).exit_code, 0);
  EXPECT_EQ(launches, 3);
  launches_until_broken = 4;
  EXPECT_EQ(run({"--m=16", "--n=8", "--k=8", "--launches=2"}).exit_code, 1) << "the last one counts";
}

TEST_F(Run, OneLineForEachSize) {
  const Outcome outcome = run({"--sizes", "64,3x8x16,128x64x8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  EXPECT_EQ(lines(outcome.out), 3);
  expect_contains(outcome.out, "  3x8x16  right");
}

TEST_F(Run, EveryInitAndVerify) {
  for (const std::string init : {"normal", "uniform", "int", "zeros"}) {
    for (const std::string verify : {"full", "sample"}) {
      const Outcome outcome = run({"--sizes=100x72x80", "--init", init, "--verify", verify});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
      expect_contains(outcome.out, verify == "full" ? "(cublas)" : "(fp64)");
    }
  }
}

TEST_F(Run, WithoutVerification) {
  launches_until_broken = 0;
  const Outcome outcome = run({"--sizes=64", "--verify=off"});
  EXPECT_EQ(outcome.exit_code, 0);
  expect_contains(outcome.out, "64x64x64  unverified\n");
  expect_lacks(outcome.out, "right");
}

TEST_F(Run, WrongResultHasAMapAndNoSpeed) {
  const Outcome outcome = bench({"--config", "forgetful", "--json", folder.file("r.jsonl")});
  EXPECT_EQ(outcome.exit_code, EXIT_WRONG);
  expect_contains(outcome.out, "WRONG: 40 of 680 elements are wrong, 40 of them never written");
  expect_contains(outcome.out, "    +\n");
  expect_contains(outcome.out, "1 rows (0) and 40 columns (0-39)");
  expect_lacks(outcome.all(), "TFLOPS");
  EXPECT_EQ(launches, 1);  // and was not timed
  const std::string json = read_file(folder.file("r.jsonl"));
  expect_contains(json, "\"verdict\": \"wrong\"");
  expect_lacks(json, "tflops");
}

TEST_F(Run, WrongSizeAmongRightOnes) {
  const Outcome outcome = run({"--config=careless", "--sizes=64,128"});
  EXPECT_EQ(outcome.exit_code, EXIT_WRONG);
  expect_contains(outcome.out, "64x64x64  WRONG: memory after D was overwritten, the first time 6 bytes after its end");
  expect_contains(outcome.out, "128x128x128  WRONG");
}

TEST_F(Run, InputsMustStayIntact) {
  const Outcome outcome = run({"--config=scribbling", "--sizes=64"});
  EXPECT_EQ(outcome.exit_code, EXIT_WRONG);
  expect_contains(outcome.out, "64x64x64  WRONG: B was overwritten\n");
  EXPECT_EQ(lines(outcome.out), 1);
}

TEST_F(Run, ResultThatGoesWrongDuringTiming) {
  launches_until_broken = 20;
  const Outcome outcome = bench({"--csv", folder.file("r.csv")});
  EXPECT_EQ(outcome.exit_code, EXIT_WRONG) << outcome.all();
  expect_contains(outcome.out, "WRONG: 1 of 680 elements are wrong, after timing");
  expect_lacks(outcome.all(), "TFLOPS");
  EXPECT_GT(launches, 20);
  EXPECT_TRUE(
      std::regex_search(read_file(folder.file("r.csv")), std::regex("\nlevel00_fake,90,17,40,24,,,,,,measured,")));
}

TEST_F(Run, BenchComparesWithBothLibraries) {
  const Outcome outcome = bench({"--csv", folder.file("r.csv"), "--json", folder.file("r.jsonl"), "--digest"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  EXPECT_EQ(lines(outcome.out), 1);
  EXPECT_TRUE(std::regex_search(
      outcome.out, std::regex("right: .* TFLOPS  at 1550 MHz, 691 W of 700 W  [0-9.]+ x cuBLAS \\[[0-9.]+, [0-9.]+\\]  "
                              "[0-9.]+ x cublasLt \\[[0-9.]+, [0-9.]+\\]  digest [0-9a-f]{16}\n")))
      << outcome.out;

  const std::string csv = read_file(folder.file("r.csv"));
  EXPECT_EQ(lines(csv), 2);
  EXPECT_TRUE(
      std::regex_search(csv, std::regex("\nlevel00_fake,90,17,40,24(,[0-9.e-]+){5},measured,Fake GPU,good,normal,1,"
                                        "full,right,cublas,")))
      << csv;
  const std::string json = read_file(folder.file("r.jsonl"));
  for (const char* member :
       {"\"level\": \"level00_fake\"", "\"arch\": 90", "\"kind\": \"measured\"", "\"verdict\": \"right\"",
        "\"rounds\": 6", "\"init\": \"normal\"", "\"cublaslt_algorithm\": \"3 of 3\"", "\"sm_mhz\": 1550",
        "\"power_w\": 691", "\"power_cap_w\": 700", "\"driver\": \"580.159.03\"", "\"cublas\": \"13.1.2\"",
        "\"commit\": \"abc1234\"",
        "\"ratio_cublas_low\": ", "\"ratio_cublaslt_high\": ", "\"interval_coverage\": 0.9688", "\"date\": \"20"}) {
    expect_contains(json, member);
  }
}

TEST_F(Run, Bursts) {
  const Outcome outcome = bench({"--burst", "--json", folder.file("r.jsonl")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  expect_contains(outcome.out, "  bursts ");
  expect_contains(read_file(folder.file("r.jsonl")), "\"burst_cublaslt_tflops\": ");
}

TEST_F(Run, Apart) {
  const Outcome outcome = bench({"--apart", "--json", folder.file("r.jsonl")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  EXPECT_TRUE(std::regex_search(outcome.out, std::regex("  apart [0-9.e-]+ TFLOPS  [0-9.]+ x cuBLAS \\[")))
      << outcome.out;
  const std::string json = read_file(folder.file("r.jsonl"));
  for (const char* member :
       {"apart_tflops", "apart_ratio_cublas", "apart_ratio_cublas_low", "apart_ratio_cublaslt_high"}) {
    EXPECT_TRUE(std::regex_search(json, std::regex(std::string("\"") + member + "\": [0-9]"))) << json;
  }
}

TEST_F(Run, ListsItsChoices) {
  level.select = [](const Problem& problem) { return problem.m > 100 ? &CONFIGS[1] : nullptr; };
  const Outcome outcome = run({"--list-choices", "--sizes", "64,200x64x8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  EXPECT_EQ(outcome.out, "64x64x64         good\n200x64x8         forgetful\n");
}

TEST_F(Run, AllConfigurationsInTheSameRounds) {
  level.configs = std::span(CONFIGS).first(4);
  const Outcome outcome = bench({"--config=all", "--csv", folder.file("r.csv")});
  EXPECT_EQ(outcome.exit_code, EXIT_WRONG) << "three of the four are";
  const std::string csv = read_file(folder.file("r.csv"));
  EXPECT_EQ(lines(csv), 5);
  for (const char* row : {",17,40,24(,[0-9.e-]+){5},measured,Fake GPU,good,.*,right,cublas,",
                          ",17,40,24,,,,,,measured,Fake GPU,forgetful,.*,wrong,cublas,",
                          ",17,40,24,,,,,,measured,Fake GPU,careless,.*,wrong,cublas,",
                          ",17,40,24,,,,,,measured,Fake GPU,scribbling,.*,wrong,cublas,"}) {
    EXPECT_TRUE(std::regex_search(csv, std::regex(row))) << csv;
  }
  expect_contains(outcome.out, "forgetful  level00_fake_sm90  17x40x24  WRONG: 40 of 680");

  static const Config twins[] = {{"one", multiply, describe}, {"other", multiply, describe}};
  level.configs = twins;
  const Outcome both = bench({"--config=all", "--apart", "--json", folder.file("r.jsonl")});
  EXPECT_EQ(both.exit_code, 0) << both.all();
  const std::regex speed("(one|other) +level00_fake_sm90  17x40x24  right: .* x cublasLt .* apart .* x cublasLt ");
  EXPECT_EQ(std::distance(std::sregex_iterator(both.out.begin(), both.out.end(), speed), std::sregex_iterator()), 2)
      << both.out;
  launches = 0, launches_until_broken = 20;
  EXPECT_EQ(bench({"--config=all"}).exit_code, EXIT_WRONG) << "what each left behind is looked at again";
}

TEST_F(Run, UnverifiedSpeedIsLabelled) {
  const Outcome outcome = bench({"--verify=off"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(std::regex_search(outcome.out, std::regex("unverified  [0-9.e-]+ TFLOPS"))) << outcome.out;
}

TEST_F(Run, WithoutCublas) {
  ::setenv("FAKE_LIBRARIES", "cublas-does-not-start", 1);
  const Outcome outcome = bench({"--json", folder.file("r.jsonl")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  expect_contains(outcome.err, "cuBLAS does not start: not initialized");
  expect_contains(outcome.out, "(cpu)");
  expect_contains(outcome.out, "TFLOPS");
  expect_lacks(outcome.out, "x cuBLAS");
  expect_lacks(read_file(folder.file("r.jsonl")), "cublas_tflops");
}

TEST_F(Run, WithoutCublasLtAlgorithm) {
  ::setenv("FAKE_LIBRARIES", "cublaslt-proposes-nothing", 1);
  const Outcome outcome = bench({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  expect_contains(outcome.out, "x cuBLAS");
  expect_lacks(outcome.out, "x cublasLt");
  expect_contains(outcome.err, "cublasLt proposes no algorithm");
}

TEST_F(Run, DigestIsThatOfTheProduct) {
  const Shape shape{17, 40, 24};
  const Inputs inputs(shape, Init::integer, 5);
  test::HostD d(shape, 0);
  d.fill([&](int m, int n) { return static_cast<float>(test::exact(inputs, m, n)); });
  char text[32];
  std::snprintf(text, sizeof text, "digest %016llx\n", static_cast<unsigned long long>(digest(shape, d.output())));
  for (const std::string verify : {"full", "off"}) {
    expect_contains(run({"--sizes=17x40x24", "--init=int", "--seed=5", "--digest", "--verify", verify}).out, text);
  }
}

TEST_F(Run, SimulatedDeviceHasNoSpeed) {
  fake_gpu.name = "Simulated H200";
  const Outcome outcome = run({"--json", folder.file("r.jsonl"), "--csv", folder.file("r.csv"), "--k=64"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.all();
  expect_contains(outcome.out, "512x512x64  right");
  expect_contains(outcome.out, "(cpu)");
  const std::string json = read_file(folder.file("r.jsonl"));
  for (const char* word : {"tflops", "ratio", "kind", "power", "driver", "\"cublas"}) expect_lacks(json, word);
  expect_contains(json, "\"gpu\": \"Simulated H200\"");
  expect_contains(read_file(folder.file("r.csv")), "\nlevel00_fake,90,512,512,64,,,,,,,Simulated H200,good,");
}

TEST_F(Run, SimulatedDeviceRefusesToBeTimed) {
  fake_gpu.name = "Simulated H200";
  expect_one_sentence(run({"--bench"}), EXIT_USAGE, "--bench needs a real GPU");
  EXPECT_EQ(launches, 0);
}

TEST_F(Run, NoGpu) {
  for (const cudaError_t error : {cudaErrorNoDevice, cudaErrorInsufficientDriver}) {
    fake_gpu.on_count = error;
    expect_one_sentence(run({"--m=64", "--bench", "--csv", folder.file("a b")}), EXIT_SKIPPED,
                        "scripts/sim.sh build/bin/level00_fake_sm90 --m=64 --csv '" + folder.file("a b") + "'\n");
  }
  fake_gpu = {};
  fake_gpu.count = 0;
  expect_one_sentence(run({}), EXIT_SKIPPED, "scripts/sim.sh build/bin/level00_fake_sm90\n");
  // What would take the simulated device minutes is not suggested.
  for (const std::vector<std::string>& large : {std::vector<std::string>{"--sizes", "64,8192", "--bench"},
                                                {"--sizes=8192"},
                                                {"--m", "8192", "--n=8192", "--k", "8192"}}) {
    expect_one_sentence(run(large), EXIT_SKIPPED, "scripts/sim.sh build/bin/level00_fake_sm90 --sizes 512\n");
  }
}

TEST_F(Run, ClustersOnAGpuOfOneSm) {
  fake_gpu.sms = 1;
  expect_one_sentence(run({"--config=pair", "--sizes=64"}), EXIT_USAGE, "clusters of CTAs on at least 2 SMs, and");
  EXPECT_EQ(launches, 0);
  fake_gpu.sms = 2;
  EXPECT_EQ(run({"--config=pair", "--sizes=64"}).exit_code, 0);
}

TEST_F(Run, GpuOfTheWrongGeneration) {
  level.arch = 100;
  fake_gpu.name = "Fake H200";
  const Outcome outcome = run({});
  expect_one_sentence(outcome, EXIT_SKIPPED, "needs a GPU of compute capability 10.0 (B200, GB200)");
  expect_contains(outcome.err, "Fake H200 (9.0): the _sm90 executable runs on it");
  expect_contains(outcome.err, "scripts/sim.sh build/bin/level00_fake_sm90");
  fake_gpu.major = 10;
  fake_gpu.minor = 3;  // code for sm_100a does not run on it
  expect_one_sentence(run({}), EXIT_SKIPPED, "(10.3)");
  fake_gpu.minor = 0;
  EXPECT_EQ(run({"--sizes=64"}).exit_code, 0);
}

TEST_F(Run, CudaErrors) {
  expect_one_sentence(
      run({"--sizes=64", "--config=failing"}), EXIT_CUDA,
      "cudaErrorIllegalAddress (an illegal memory access was encountered) while launching level00_fake.");
  fake_gpu.on_synchronize = cudaErrorIllegalAddress;
  expect_one_sentence(run({"--sizes=64"}), EXIT_CUDA, "while running level00_fake_sm90.");
  fake_gpu.on_count = cudaErrorUnknown;
  expect_one_sentence(run({"--sizes=64"}), EXIT_CUDA, "while looking for a GPU.");
}

TEST_F(Run, TooLargeForTheMemory) {
  fake_gpu.free_bytes = 100 << 20;
  expect_one_sentence(run({"--sizes=64,8192"}), EXIT_USAGE,
                      "8192x8192x8192 needs 680 MB of memory, but Fake GPU has only 105 MB.");
  EXPECT_EQ(launches, 0);  // not even for the size that would fit
  fake_gpu.free_bytes = std::size_t{1} << 62;
  expect_one_sentence(run({"--sizes=1048576"}), EXIT_USAGE, "but the host has only ");
  fake_gpu.name = "Simulated B200";
  expect_one_sentence(run({"--sizes=1048576"}), EXIT_USAGE, "but Simulated B200 has only ");
}

TEST_F(Run, CsvAndJsonNeedAFileEach) {
  const std::string path = folder.file("results");
  expect_one_sentence(run({"--sizes=64", "--csv", path, "--json", folder.file("./results")}), EXIT_USAGE,
                      "--csv and --json both name " + path + ": two files are needed.");
  test::write_file(path, "");
  ASSERT_EQ(::symlink("results", folder.file("link").c_str()), 0);
  expect_one_sentence(run({"--sizes=64", "--csv", path, "--json", folder.file("link")}), EXIT_USAGE, "two files");
  expect_one_sentence(run({"--sizes=64", "--csv", "/dev/stdout", "--json", "/dev/stdout"}), EXIT_USAGE, "two files");
  EXPECT_EQ(launches, 0);
  EXPECT_EQ(read_file(path), "");
}

TEST_F(Run, UnwritableFileIsFoundOutBeforeAnyWork) {
  for (const char* flag : {"--csv", "--json"}) {
    expect_one_sentence(run({"--sizes=64", flag, folder.file("missing/file")}), EXIT_USAGE, "cannot be written");
  }
  EXPECT_EQ(launches, 0);
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(Run, ResultsAreShownEvenIfAFileFails) {
  const Outcome outcome = run({"--sizes=64", "--json=/dev/full"});
  EXPECT_EQ(outcome.exit_code, EXIT_USAGE);
  expect_contains(outcome.out, "right");
  expect_contains(outcome.err, "/dev/full cannot be written: No space left on device.");
}

TEST_F(Run, UnsupportedShape) {
  expect_one_sentence(run({"--m=64", "--n=1001", "--k=64"}), EXIT_USAGE, "nearest legal one is 64x1000x64");
  fake_gpu.on_count = cudaErrorNoDevice;  // said without a GPU, too
  expect_one_sentence(run({"--m=64", "--n=64", "--k=1"}), EXIT_USAGE, "nearest legal one is 64x64x8");
}

TEST_F(Run, Configurations) {
  expect_one_sentence(run({"--config=best"}), EXIT_USAGE,
                      "only: good, forgetful, careless, scribbling, failing, pair.");
  level.select = [](const Problem& p) -> const Config* { return p.m > 64 ? &CONFIGS[1] : nullptr; };
  EXPECT_EQ(run({"--sizes=64"}).exit_code, 0);
  EXPECT_EQ(run({"--sizes=128"}).exit_code, EXIT_WRONG);
  EXPECT_EQ(run({"--sizes=128", "--config=good"}).exit_code, 0);
}

TEST_F(Run, InformationNeedsNoGpu) {
  fake_gpu.on_count = cudaErrorNoDevice;
  expect_contains(run({"--help"}).out, "The product, on the host.");
  expect_contains(run({"--version"}).out, "level00_fake_sm90 ");
  const Outcome list = run({"--list-configs"});
  EXPECT_EQ(list.exit_code, 0);
  expect_contains(list.out,
                  "forgetful        128x64 tile per CTA, 2 stages of 12,288 bytes, 128 threads, 25,600 bytes of shared "
                  "memory\n");
}

TEST_F(Run, ExplainsAKernelInItsOwnNumbers) {
  fake_gpu.on_count = cudaErrorNoDevice;
  const Outcome text = run({"--explain"});
  EXPECT_EQ(text.exit_code, 0);
  expect_contains(text.out, "          0      1,024  barriers\n      1,024     24,576  stages of A and B\n");
  expect_contains(text.out, "smem_full[2] at 0  1 arrival and 12,288 bytes per phase");
  expect_contains(text.out, "  1 to 2, STORE: 128 threads; rows are there\n");

  const std::string path = folder.file("explain.json");
  EXPECT_EQ(run({"--explain", "--json", path}).out, "");
  const std::string json = read_file(path);
  expect_contains(json, R"({"level": "level00_fake", "arch": 90,)");
  expect_contains(json, R"("configs": [{"config": "good",)");
  expect_contains(json, R"("config": "failing",)");
  expect_contains(json, R"("constants": {"STORE_N": 8, "MMA_M": 64},)");
  expect_contains(
      json,
      R"("smem": [{"name": "smem_full", "kind": "barrier", "what": "mbarrier", "offset": 0, "bytes": 8, "count": 2})");
  expect_contains(
      json,
      R"({"name": "tmem_address", "kind": "address", "what": "address of tensor memory", "offset": 16, "bytes": 4,)");
  expect_contains(
      json,
      R"({"name": "stages", "kind": "data", "what": "stages of A and B", "offset": 1024, "bytes": 12288, "count": 2, )"
      R"("pitch": 128, "swizzle": "B128",)");
  expect_contains(
      json, R"("parts": [{"name": "A", "offset": 0, "bytes": 8192}, {"name": "B", "offset": 8192, "bytes": 4096}]})");
  expect_contains(json, R"("who_arrives": "the producer \"P\"")");
  expect_contains(json, R"("named_barriers": [{"name": "STORE", "number": 1, "count": 2, "threads": 128,)");
  expect_contains(json, R"("tile_order": {"m_blocks": 20, "n_blocks": 6, "tiles": [[0, 0], [1, 0],)");
  expect_contains(json, R"("B128": [0, 1, 2, 3, 4, 5, 6, 7, 9, 8,)");
  EXPECT_EQ(lines(json), 1);
}

TEST_F(Run, ExplainsOneConfigurationForOneSize) {
  const std::string path = folder.file("explain.json");
  EXPECT_EQ(run({"--explain", "--json", path, "--config", "failing", "--m", "200", "--n", "64", "--k", "8"}).exit_code,
            0);
  const std::string json = read_file(path);
  expect_contains(json, R"("configs": [{"config": "failing",)");
  expect_contains(json, R"("tile_order": {"m_blocks": 2, "n_blocks": 1, "tiles": [[0, 0], [1, 0]]})");
  const Outcome many = run({"--explain", "--json", path, "--sizes", "1000000x1000000x8"});
  EXPECT_EQ(many.exit_code, EXIT_USAGE);
  expect_contains(many.err, "122,078,125 tiles, and no more than 1,048,576 are listed");
}

/// The real runtime, with every GPU hidden from it.
TEST(NoGpu, IsRecognisedByTheRealRuntime) {
  const std::string command = "CUDA_VISIBLE_DEVICES= '" HARNESS_NO_GPU "' --m 64 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[4096] = "";
  EXPECT_NE(std::fgets(line, sizeof line, pipe), nullptr);
  const int status = ::pclose(pipe);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EXIT_SKIPPED) << line;
  expect_contains(line, "scripts/sim.sh " HARNESS_NO_GPU " --m 64\n");
}

}  // namespace
}  // namespace harness
