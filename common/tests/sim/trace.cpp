// What a trace says: which warp waits for which barrier, what ends the wait, what barriers count, and how far a failing
// kernel came.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "support.h"

namespace sim::test {
namespace {

/// The lines of the trace that a kernel of two warps leaves.
std::vector<std::string> trace_of(const Source& source, Options options, Status expected = Status::Success) {
  options.trace_file = ::testing::TempDir() + "sim_trace_test.json";
  {
    Bench bench(options);
    EXPECT_EQ(bench.launch(source, {.block = {64, 1, 1}}).status, expected);
    EXPECT_TRUE(bench.device().finish());
  }
  std::ifstream file(options.trace_file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::remove(options.trace_file.c_str());
  return lines;
}

/// The same: the first warp initialises a barrier of one arrival, both meet, the first does `first`, the second waits
/// for phase 0.
std::vector<std::string> trace_of(const std::string& first, Status expected = Status::Success,
                                  const Options& options = {}) {
  Source source;
  source.prologue = ".shared .align 8 .b64 bar;\n";
  source.body =
      "mov.u32 %r9, bar; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [%r9], 1; bar.sync 0; @%p2 bra first;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra again; bra done;\n"
      "first: " +
      first + "\ndone: bar.sync 0;";
  return trace_of(source, options, expected);
}

/// The only line that holds all these texts.
std::string line_with(const std::vector<std::string>& lines, std::initializer_list<std::string_view> texts) {
  std::string found;
  for (const std::string& line : lines) {
    bool all = true;
    for (const std::string_view text : texts) all = all && line.find(text) != std::string::npos;
    if (!all) continue;
    EXPECT_EQ(found, "") << line;
    found = line;
  }
  EXPECT_NE(found, "") << *texts.begin();
  return found;
}

bool has(const std::string& line, std::string_view text) { return line.find(text) != std::string::npos; }

TEST(Trace, SaysWhoEndsAWait) {
  const std::vector<std::string> lines = trace_of(
      "mov.u32 %r2, 0; turn: add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 200; @%p4 bra turn;\n"
      "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];");
  EXPECT_TRUE(has(lines[0], "\"version\": 2")) << lines[0];
  const std::string wait = line_with(lines, {"\"wait: mbarrier\""});
  EXPECT_TRUE(has(wait, "\"parity\": 0")) << wait;
  EXPECT_TRUE(has(wait, "\"released_by\": {\"cta\": 0, \"warp\": 0")) << wait;
  EXPECT_FALSE(has(wait, "\"open\"")) << wait;
  const std::string init = line_with(lines, {"\"barrier\"", "\"init\""});
  EXPECT_TRUE(has(init, "\"amount\": 1, \"phase\": 0, \"pending\": 1")) << init;
  const std::string arrival = line_with(lines, {"\"barrier\"", "\"arrive\""});
  EXPECT_TRUE(has(arrival, "\"phase\": 1, \"pending\": 1, \"tx\": 0, \"completes\": true")) << arrival;
  EXPECT_TRUE(has(arrival, "\"by\": {\"cta\": 0, \"warp\": 0")) << arrival;
}

TEST(Trace, ShowsHowFarADeadlockCame) {
  const std::vector<std::string> lines = trace_of("", Status::LaunchTimeout);
  const std::string wait = line_with(lines, {"\"wait: mbarrier\"", "\"open\": true"});
  EXPECT_FALSE(has(wait, "released_by")) << wait;
  EXPECT_TRUE(has(line_with(lines, {"\"cat\": \"report\""}), "deadlock"));
}

TEST(Trace, HasTheFaultAtItsPlace) {
  const std::vector<std::string> lines =
      trace_of("@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9]; mov.u32 %r3, 3; @%p1 ld.shared.u32 %r4, [%r3];",
               Status::MisalignedAddress);
  EXPECT_TRUE(has(line_with(lines, {"\"cat\": \"report\""}), "\"warp\": 0"));
}

TEST(Trace, HasWhatIsNotInOrderWhereItHappens) {
  Source source;
  source.prologue = ".shared .align 8 .b64 data;\n";
  source.body =
      "mov.u32 %r9, data; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, 32;\n"
      "@!%p1 st.shared.u32 [%r9], %r1; @!%p2 ld.shared.u32 %r2, [%r9]; bar.sync 0;";
  const std::string report = line_with(trace_of(source, {.check = Options::Check::On}), {"\"cat\": \"report\""});
  EXPECT_TRUE(has(report, "error (read after write): The second reads what the first wrote")) << report;
  EXPECT_TRUE(has(report, "Missing: ")) << report;
  EXPECT_TRUE(has(report, "\"sides\": [{\"cta\": 0, \"warp\": 0, ")) << report;
  EXPECT_TRUE(has(report, "{\"cta\": 0, \"warp\": 1, ")) << report;
}

TEST(Trace, HasTheTimesOfTheTimingModel) {
  const Options options{.timing = true, .prediction_file = ::testing::TempDir() + "sim_trace_test.predictions"};
  const std::vector<std::string> lines = trace_of(
      "mov.u32 %r2, 0; turn: add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 1000; @%p4 bra turn;\n"
      "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];",
      Status::Success, options);
  std::remove(options.prediction_file.c_str());
  // The loop of 3,000 instructions keeps the other warp waiting.
  const std::string wait = line_with(lines, {"\"wait: mbarrier\""});
  EXPECT_TRUE(has(wait, "\"released_by\": {\"cta\": 0, \"warp\": 0")) << wait;
  const double microseconds = std::stod(wait.substr(wait.find("\"dur\": ") + 7));
  EXPECT_GT(microseconds, 1.5) << wait;
  const std::string arrival = line_with(lines, {"\"barrier\"", "\"name\": \"arrive\"", "\"offset\""});
  EXPECT_TRUE(has(arrival, "\"phase\": 1, \"pending\": 1, \"tx\": 0, \"completes\": true")) << arrival;
}

}  // namespace
}  // namespace sim::test
