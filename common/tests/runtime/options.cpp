// The choices that reach the runtime through the environment.
#include "runtime/options.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/message.h"

namespace sim::runtime {
namespace {

struct Read {
  std::string problem;
  Settings settings;
};

Read read(const std::map<std::string, std::string>& environment) {
  Read answer;
  answer.problem = read_settings(
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      &answer.settings);
  return answer;
}

TEST(Options, Defaults) {
  const Read none = read({});
  EXPECT_EQ(none.problem, "");
  EXPECT_EQ(none.settings.device.gpu, "");
  EXPECT_EQ(none.settings.device.sms, 0);
  EXPECT_EQ(none.settings.device.schedule, Options::Schedule::Default);
  EXPECT_EQ(none.settings.device.arithmetic, Options::Arithmetic::Automatic);
  EXPECT_FALSE(none.settings.device.abort_on_error);
  EXPECT_FALSE(none.settings.device.checks("anything"));
  EXPECT_TRUE(read({{"LADDER_SIM_CHECK", "1"}}).settings.device.checks("anything"));
  EXPECT_EQ(read({{"LADDER_SIM_GPU", ""}, {"LADDER_SIM_SMS", ""}, {"LADDER_SIM_LATEST", ""}}).problem, "");
}

TEST(Options, AllOfThem) {
  const Read all = read({{"LADDER_SIM_GPU", "h200"},
                         {"LADDER_SIM_SMS", "5"},
                         {"LADDER_SIM_SEED", "18446744073709551615"},
                         {"LADDER_SIM_ARITH", "exact"},
                         {"LADDER_SIM_THREADS", "2"},
                         {"LADDER_SIM_PATIENCE", "4000"},
                         {"LADDER_SIM_ABORT", "1"},
                         {"LADDER_SIM_PTX", "a.ptx"},
                         {"LADDER_SIM_CHECK", "strict"},
                         {"LADDER_SIM_CHECK_KERNELS", "gemm_,_ZN4mine"},
                         {"LADDER_SIM_TOLERATE", "equal-stores,init-fence"},
                         {"LADDER_SIM_COUNTERS", "c"},
                         {"LADDER_SIM_TRACE", "t"}});
  EXPECT_EQ(all.problem, "");
  const Options& options = all.settings.device;
  EXPECT_EQ(options.gpu, "h200");
  EXPECT_EQ(options.sms, 5);
  EXPECT_EQ(options.schedule, Options::Schedule::Seeded);
  EXPECT_EQ(options.seed, ~uint64_t{0});
  EXPECT_EQ(options.arithmetic, Options::Arithmetic::Exact);
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.patience, 4'000'000'000);
  EXPECT_TRUE(options.abort_on_error);
  EXPECT_EQ(all.settings.ptx_file, "a.ptx");
  EXPECT_EQ(options.check, Options::Check::Strict);
  EXPECT_TRUE(options.checks("_ZN5yours9gemm_sm90Ev"));
  EXPECT_TRUE(options.checks("_ZN4mine4fillEPf"));
  EXPECT_FALSE(options.checks("_ZN5yours4fillEPf"));
  EXPECT_TRUE(options.tolerated.contains(Habit::EqualStores));
  EXPECT_TRUE(options.tolerated.contains(Habit::InitFence));
  EXPECT_FALSE(options.tolerated.contains(Habit::Tcgen05Fence));
  EXPECT_EQ(options.counters_file, "c");
  EXPECT_EQ(options.trace_file, "t");
  EXPECT_EQ(
      describe(*find_gpu("h200"), options),
      "Simulated H200, 132 SMs, schedule from seed 18446744073709551615, arithmetic exact, order checked strictly");
  EXPECT_EQ(describe(*find_gpu("h200"), read({{"LADDER_SIM_TIMING", "1"}}).settings.device),
            "Simulated H200, 132 SMs, time predicted, nothing computed");
}

TEST(Options, EachMistakeIsASentence) {
  EXPECT_EQ(read({{"LADDER_SIM_GPU", "gb300"}}).problem,
            "--gpu: there is no description of a GPU 'gb300'; known are b200, h100, h200.");
  EXPECT_EQ(read({{"LADDER_SIM_GPU", "h200"}, {"LADDER_SIM_SMS", "133"}}).problem,
            "--sms: '133' is not a number of SMs from 1 to 132.");
  for (const char* bad : {"0", "-1", "149", "4x", "", "999999999999999999999"}) {
    if (*bad != '\0') { EXPECT_NE(read({{"LADDER_SIM_SMS", bad}}).problem, "") << bad; }
  }
  for (const char* bad : {"-1", "x", "1.5", "18446744073709551616"}) {
    EXPECT_NE(read({{"LADDER_SIM_SEED", bad}}).problem, "") << bad;
  }
  for (const char* bad : {"0", "-3", "many", "5000"}) {
    EXPECT_NE(read({{"LADDER_SIM_THREADS", bad}}).problem, "") << bad;
  }
  for (const char* bad : {"0", "-3", "much", "1000001"}) {
    EXPECT_NE(read({{"LADDER_SIM_PATIENCE", bad}}).problem, "") << bad;
  }
  EXPECT_NE(read({{"LADDER_SIM_ARITH", "Exact"}}).problem, "");
  EXPECT_NE(read({{"LADDER_SIM_SEED", "1"}, {"LADDER_SIM_LATEST", "1"}}).problem, "");
  EXPECT_EQ(read({{"LADDER_SIM_CHECK", "harder"}}).problem,
            "--check: 'harder' is not a grade; the only one is --check=strict.");
  const std::string unknown = read({{"LADDER_SIM_TOLERATE", "init-fence,everything"}}).problem;
  EXPECT_NE(unknown.find("--tolerate: there is no habit 'everything'; known are ld-without-wait, "), std::string::npos)
      << unknown;
}

TEST(Messages, Extents) { EXPECT_EQ(extents({2, 1000, 1}), "2 x 1,000 x 1"); }

}  // namespace
}  // namespace sim::runtime
