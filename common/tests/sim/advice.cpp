// Advice is followed to the letter. data/advice.txt has broken programs, and what their first reports call missing.
// That is inserted where the report says, and the program must then be silent, and right in every schedule.
#include <fstream>
#include <map>

#include "report/text.h"
#include "support.h"

namespace sim::test {
namespace {

struct Broken {
  std::string name, body;
  std::map<std::string, std::string> options;
  std::string found;              ///< RULE: MISSING
  std::string place, old, patch;  ///< before or after; or in that line, `patch` instead of `old`

  std::string option(const std::string& key, const std::string& otherwise) const {
    const auto at = options.find(key);
    return at == options.end() ? otherwise : at->second;
  }
  uint32_t number(const std::string& key, uint32_t otherwise) const {
    return static_cast<uint32_t>(std::stoul(option(key, std::to_string(otherwise))));
  }
};

std::string after(const std::string& text, const std::string& mark) {
  return text.substr(text.find(mark) + mark.size());
}

/// Replaces macros, which are lines `def NAME TEXT`, by their texts.
std::string expand(std::string line, const std::map<std::string, std::string>& macros) {
  for (size_t at = 0; (at = line.find('$', at)) != std::string::npos;) {
    const size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
    const std::string name = line.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    line.replace(at, name.size() + 1, macros.at(name));
  }
  return line;
}

std::vector<Broken> table() {
  std::vector<Broken> all;
  std::map<std::string, std::string> macros;
  std::ifstream file(SIM_ADVICE);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("def ")) {
      const size_t space = line.find(' ', 4);
      macros[line.substr(4, space - 4)] = expand(line.substr(space + 1), macros);
    } else if (!line.starts_with(' ')) {
      all.push_back({});
      const size_t bar = line.find(" | ");
      all.back().name = line.substr(0, bar);
      for (std::string rest = bar == std::string::npos ? "" : line.substr(bar + 3) + ' '; !rest.empty();
           rest = after(rest, " "))
        all.back().options[rest.substr(0, rest.find('='))] =
            rest.substr(rest.find('=') + 1, rest.find(' ') - rest.find('=') - 1);
    } else if (line.starts_with("  => ")) {
      all.back().found = line.substr(5);
    } else if (line.starts_with("  before: ") || line.starts_with("  after: ")) {
      all.back().place = line.substr(2, line.find(':') - 2);
      all.back().patch = expand(after(line, ": "), macros);
    } else if (line.starts_with("  there: ") || line.starts_with("  first: ")) {
      all.back().place = line.substr(2, line.find(':') - 2);
      const size_t arrow = line.find(" -> ");
      all.back().old = line.substr(9, arrow - 9), all.back().patch = line.substr(arrow + 4);
    } else {
      all.back().body += expand(line, macros) + '\n';
    }
  }
  return all;
}

/// The text of the kernel. Thread, warp, lane and rank are in %r1 to %r4. A box is at %r5, an mbarrier at %r6, another
/// of one arrival at %r8. Those of the next CTA are at %r10 and %r11. Global memory is at %rd1: its first word is the
/// result. Thread 0 has %p1, and lane 0 %p2; %r14 and %rd2 are the thread's own words.
std::string text_of(const Broken& broken) {
  Source source;
  source.target = broken.option("gpu", "h200") == "b200" ? "sm_100a" : "sm_90a";
  source.parameters = ".param .u64 data";
  source.prologue = ".shared .align 1024 .b8 box[8192];\n.shared .align 8 .b64 bars[4];\n.shared .b32 columns;\n";
  source.directives = ".maxntid 256 .minnctapersm 1";
  source.body =
      "ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; and.b32 %r3, %r1, 31; mov.u32 %r4, "
      "%cluster_ctarank; mov.u32 %r5, box; mov.u32 %r6, bars; add.u32 %r8, %r6, 8; mov.u32 %r12, %cluster_nctarank; "
      "add.u32 %r7, %r4, 1; rem.u32 %r7, %r7, %r12; mapa.shared::cluster.u32 %r10, %r5, %r7; "
      "mapa.shared::cluster.u32 %r11, %r6, %r7; shl.b32 %r13, %r1, 2; add.u32 %r14, %r5, %r13; cvt.u64.u32 %rd2, "
      "%r13; add.u64 %rd2, %rd2, %rd1; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r3, 0; setp.eq.u32 %p3, %r1, 64;\n";
  if (const std::string arrivals = broken.option("arrivals", "1"); arrivals != "0")
    source.body += "@!%p1 bra ready; mbarrier.init.shared::cta.b64 [%r6], " + arrivals +
                   "; mbarrier.init.shared::cta.b64 [%r8], 1; fence.mbarrier_init.release.cluster; ready: "
                   "bar.warp.sync -1; barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n";
  source.body += broken.body;
  if (broken.option("end", "none") == "barrier")
    source.body += "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n";
  return source.text();
}

/// `text` with the patch at its line `number`, from 1.
std::string patched(const std::string& text, const Broken& broken, uint32_t number) {
  size_t begin = 0;
  for (uint32_t i = 1; i < number; ++i) begin = text.find('\n', begin) + 1;
  const size_t end = text.find('\n', begin) + 1;
  if (broken.place == "before") return text.substr(0, begin) + broken.patch + '\n' + text.substr(begin);
  if (broken.place == "after") return text.substr(0, end) + broken.patch + '\n' + text.substr(end);
  std::string line = text.substr(begin, end - begin);
  const size_t at = line.find(broken.old);
  if (at != std::string::npos) line.replace(at, broken.old.size(), broken.patch);
  return text.substr(0, begin) + line + text.substr(end);
}

Outcome run(const Broken& broken, const std::string& text, const Options& options, uint32_t* result) {
  Bench bench(options, broken.option("gpu", "h200"));
  std::vector<uint32_t> values(8192);
  for (size_t i = 1024; i < values.size(); ++i) values[i] = 7;
  auto* const data = bench.upload(values);
  const uint32_t ctas = broken.number("ctas", 1);
  Outcome outcome = bench.launch(
      text, {.grid = {ctas, 1, 1}, .block = {broken.number("threads", 128), 1, 1}, .cluster = {ctas, 1, 1}}, data);
  *result = *data;
  return outcome;
}

TEST(Advice, MakesTheProgramRight) {
  const std::vector<Broken> all = table();
  EXPECT_GE(all.size(), 40u);
  for (const Broken& broken : all) {
    SCOPED_TRACE(broken.name);
    const std::string text = text_of(broken);
    uint32_t result = 0;
    const Outcome bad = run(broken, text, {.check = Options::Check::On}, &result);
    if (bad.findings.empty()) {
      ADD_FAILURE() << "nothing is found" << bad.report;
      continue;
    }
    const Finding& first = bad.findings.front();
    const MissingLink& missing = first.missing;
    EXPECT_EQ(first.rule + ": " + report::word_of(missing.what), broken.found) << bad.report;
    const bool is_second = broken.place == "before" || broken.place == "there";
    const Location at = (is_second ? missing.to : missing.from).value_or(Location{});
    if (at.ptx_line == 0) {
      ADD_FAILURE() << "the report names no place: " << bad.report;
      continue;
    }
    const std::string good = patched(text, broken, at.ptx_line);
    EXPECT_NE(good, text);
    std::vector<Options> ways = all_schedules();
    ways.push_back({.check = Options::Check::On});
    for (const Options& options : ways) {
      const Outcome outcome = run(broken, good, options, &result);
      EXPECT_EQ(outcome.report, "") << good;
      EXPECT_EQ(result, broken.number("result", 7)) << good;
    }
  }
}

}  // namespace
}  // namespace sim::test
