#include "common/harness/arguments.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "common/harness/failure.h"

namespace harness {
namespace {

Options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "level");
  return parse_arguments(static_cast<int>(arguments.size()), arguments.data());
}
Options parse_line(const std::string& words) {
  std::istringstream stream(words);
  const std::vector<std::string> split{std::istream_iterator<std::string>(stream), {}};
  std::vector<const char*> arguments;
  for (const std::string& word : split) arguments.push_back(word.c_str());
  return parse(arguments);
}

/// The sentence of the usage error that the arguments, or the shapes they ask for, lead to.
std::string refusal(const std::vector<const char*>& arguments) {
  try {
    shapes(parse(arguments), DEFAULT_EDGE);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, EXIT_USAGE);
    const std::string sentence = failure.what();
    EXPECT_EQ(sentence.back(), '.') << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    return sentence;
  }
  ADD_FAILURE() << "accepted";
  return "";
}

void expect_refused(const std::vector<const char*>& arguments, const std::string& part) {
  const std::string sentence = refusal(arguments);
  EXPECT_NE(sentence.find(part), std::string::npos) << sentence << "\ndoes not say: " << part;
}

TEST(Arguments, Defaults) {
  const Options options = parse({});
  EXPECT_EQ(options.action, Options::Action::run);
  EXPECT_EQ(options.verify, Verify::full);
  EXPECT_EQ(options.init, Init::normal);
  EXPECT_FALSE(options.bench);
  EXPECT_GE(options.rounds, 10);
  EXPECT_EQ(shapes(options, 4096), (std::vector<Shape>{{4096, 4096, 4096}}));
  EXPECT_EQ(shapes(options, 512), (std::vector<Shape>{{512, 512, 512}}));
}

TEST(Arguments, AllOptions) {
  const Options options = parse_line(
      "--m 5 --n 16 --k=24 --verify sample --init int --seed 18446744073709551615 --config x --launches 3 --digest "
      "--burst --rounds 12 --budget 0.5 --json j --csv c");
  EXPECT_EQ(shapes(options, 4096), (std::vector<Shape>{{5, 16, 24}}));
  EXPECT_EQ(options.verify, Verify::sample);
  EXPECT_EQ(options.init, Init::integer);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.config, "x");
  EXPECT_EQ(options.launches, 3);
  EXPECT_TRUE(options.digest);
  EXPECT_TRUE(options.bench);  // --burst implies it
  EXPECT_EQ(options.rounds, 12);
  EXPECT_EQ(options.budget_s, 0.5);
  EXPECT_EQ(options.json, "j");
  EXPECT_EQ(options.csv, "c");
}

TEST(Arguments, Sizes) {
  EXPECT_EQ(shapes(parse({"--sizes", "4096,6144"}), 1), (std::vector<Shape>{{4096, 4096, 4096}, {6144, 6144, 6144}}));
  EXPECT_EQ(shapes(parse({"--sizes=1x8x16,8"}), 1), (std::vector<Shape>{{1, 8, 16}, {8, 8, 8}}));
}

TEST(Arguments, MissingExtentsTakeTheDefault) {
  EXPECT_EQ(shapes(parse({"--m", "3"}), 512), (std::vector<Shape>{{3, 512, 512}}));
}

TEST(Arguments, Actions) {
  EXPECT_EQ(parse({"--help"}).action, Options::Action::help);
  EXPECT_EQ(parse({"-h"}).action, Options::Action::help);
  EXPECT_EQ(parse({"--version"}).action, Options::Action::version);
  EXPECT_EQ(parse({"--explain"}).action, Options::Action::explain);
  EXPECT_EQ(parse({"--list-configs"}).action, Options::Action::list_configs);
}

TEST(Arguments, UnknownOptions) {
  expect_refused({"--frobnicate"}, "no option '--frobnicate'");
  expect_refused({"--M", "5"}, "no option '--M'");
  expect_refused({"4096"}, "no argument '4096'");
  expect_refused({"-m", "5"}, "no option '-m'");
}

TEST(Arguments, JunkNumbers) {
  for (const char* junk : {"", "x", "12x", "1e3", "0x10", "+5", " 5", "5 ", "4.5", "-5"}) {
    expect_refused({"--m", junk}, "--m needs a positive whole number");
    expect_refused({"--rounds", junk}, "--rounds needs a positive whole number");
    expect_refused({"--sizes", junk}, "--sizes");
  }
  for (const char* junk : {"", "x", "1.5", "-1", "18446744073709551616"})
    expect_refused({"--seed", junk}, "--seed needs");
  for (const char* junk : {"", "x", "-1", "0", "nan", "inf", "1e9", "3s"})
    expect_refused({"--budget", junk}, "--budget");
  for (const char* junk : {"8,", ",8", "8,,8", "8x8", "8x8x8x8", "8xx8", "8;8"}) {
    expect_refused({"--sizes", junk}, "--sizes");
  }
}

TEST(Arguments, ZeroAndNegative) {
  for (const char* flag : {"--m", "--n", "--k", "--rounds"}) expect_refused({flag, "0"}, "at least 1");
  expect_refused({"--n", "-8"}, "not '-8'");
  expect_refused({"--sizes", "8x0x8"}, "at least 1");
}

TEST(Arguments, Overflow) {
  expect_refused({"--m", "1073741825"}, "at most 1073741824");
  expect_refused({"--m", "99999999999999999999999999"}, "at most 1073741824");
  expect_refused({"--m", "1073741824", "--n", "8", "--k", "1073741824"}, "A would have");
  expect_refused({"--m", "1", "--n", "1073741824", "--k", "1073741824"}, "B would have");
  expect_refused({"--m", "1073741824", "--n", "1073741824", "--k", "8"}, "D would have");
}

TEST(Arguments, ShapesThatTmaCannotLoad) {
  expect_refused({"--m", "512", "--n", "1001", "--k", "512"}, "N must be a multiple of 8");
  expect_refused({"--m", "512", "--n", "1001", "--k", "512"}, "nearest legal one is 512x1000x512");
  expect_refused({"--m", "7", "--n", "16", "--k", "31"}, "K must be a multiple of 8");
  expect_refused({"--m", "7", "--n", "16", "--k", "31"}, "nearest legal one is 7x16x32");
  expect_refused({"--sizes", "64x1x1"}, "nearest legal one is 64x8x8");
  expect_refused({"--n", "1073741823"}, "x1073741824x");
}

TEST(Arguments, KBeyondWhatCanBeVerified) {
  for (const char* mode : {"full", "sample"}) {
    expect_refused({"--k", "3145736", "--verify", mode},
                   "with --init normal, K up to 3145728 is verified. --verify off");
    expect_refused({"--sizes", "8x8x3145736", "--init", "uniform", "--verify", mode},
                   "--init uniform, K up to 3145728");
    expect_refused({"--k", "4194312", "--init", "int", "--verify", mode}, "with --init int, K up to 4194304");
  }
  const auto accepted = [](const std::vector<const char*>& arguments) { return shapes(parse(arguments), 8).front().k; };
  EXPECT_EQ(accepted({"--k", "3145728"}), 3145728);
  EXPECT_EQ(accepted({"--k", "4194304", "--init", "int"}), 4194304);
  EXPECT_EQ(accepted({"--k", "8388608", "--init", "zeros"}), 8388608);
  EXPECT_EQ(accepted({"--k", "8388608", "--verify", "off"}), 8388608);
  EXPECT_EQ(accepted({"--k", "8388608", "--explain"}), 8388608);
}

TEST(Arguments, Contradictions) {
  expect_refused({"--m", "8", "--m", "16"}, "--m is given twice");
  expect_refused({"--sizes", "512", "--k", "8"}, "not both");
  expect_refused({"--k"}, "--k needs a value");
  expect_refused({"--bench=yes"}, "--bench takes no value");
}

TEST(Arguments, Choices) {
  expect_refused({"--verify", "maybe"}, "--verify must be full, sample or off, not 'maybe'");
  expect_refused({"--init", "ones"}, "--init must be normal, uniform, int or zeros, not 'ones'");
  expect_refused({"--json", ""}, "--json needs the name of a file");
}

TEST(Arguments, HelpNamesEveryOption) {
  const std::string help = help_text("level07_sm90");
  for (const char* flag : {"--m",       "--n",        "--k",          "--sizes",  "--verify",       "--bench",
                           "--init",    "--seed",     "--json",       "--csv",    "--list-configs", "--config",
                           "--explain", "--help",     "--version",    "--digest", "--rounds",       "--budget",
                           "--burst",   "--launches", "level07_sm90", "77"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
}

}  // namespace
}  // namespace harness
