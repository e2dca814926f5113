// build/sim/sim_replay FILE: the program that scripts/sim.sh --replay runs. Its options are those of runtime/options.h.
// With LADDER_SIM_JSON it prints the outcome as JSON on standard output.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "common/base/file.h"
#include "replay/replay.h"
#include "report/records.h"
#include "runtime/message.h"
#include "runtime/options.h"

namespace {

using namespace sim;
using runtime::format;
using runtime::say;

enum Exit { kRight = 0, kWrong = 1, kUsage = 2, kDamaged = 3, kVersion = 4, kMemory = 5, kPtx = 6, kFailed = 86 };

void print_map(const recording::Compared& result) {
  if (result.rows == 1) {  // bytes
    std::printf("replay: %s differs from what was recorded in %zd of %zu pieces of %u bytes\n", result.name.c_str(),
                std::count(result.wrong.begin(), result.wrong.end(), 1), result.wrong.size(), result.tile_columns);
    return;
  }
  const std::size_t across = (result.columns + result.tile_columns - 1) / result.tile_columns;
  std::printf("replay: %s differs from what was recorded; tiles of %u x %u (. same, # other):\n", result.name.c_str(),
              result.tile_rows, result.tile_columns);
  for (std::size_t i = 0; i < result.wrong.size(); ++i)
    std::printf("%s%c%s", i % across == 0 ? "    " : "", ".#"[result.wrong[i]], (i + 1) % across == 0 ? "\n" : "");
  if (result.wrong.size() % across != 0) std::printf("\n");
}

int print_outcome(const recording::Replayed& replayed) {
  const std::optional<bool> right = replayed.is_right();
  for (const recording::Compared& each : replayed.results) {
    if (right && !each.is_right()) print_map(each);
  }
  if (right && *right) {
    std::printf("replay: %zu %s as recorded\n", replayed.results.size(),
                replayed.results.size() == 1 ? "result is" : "results are");
  }
  if (!right) std::printf("replay: ended before the program's results were read\n");
  return right == true ? kRight : kWrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    say("usage: scripts/sim.sh --replay FILE");
    return kUsage;
  }
  const std::string file = argv[1];
  const auto fail = [&](int code, const std::string& why) {
    say("--replay: " + file + ": " + why + ".");
    return code;
  };
  runtime::Settings settings;
  if (const std::string problem = read_settings(&std::getenv, &settings); !problem.empty()) {
    say(problem);
    return kUsage;
  }
  if (!runtime::log_to(settings.log_file)) return fail(kUsage, "--log-file cannot be written: " + settings.log_file);
  std::optional<report::Records> records;
  try {
    records.emplace(settings.reports_file, runtime::schedule_name(settings.device), settings.known_findings);
    const std::string content = base::read_file(file);
    if (content.empty()) return fail(kDamaged, "the file is empty");
    const recording::Recording recording = recording::from_file(content);
    recording::Request request{.options = settings.device, .edits = {}, .ptx = {}, .progress = {}};
    if (!settings.ptx_file.empty()) request.ptx = base::read_file(settings.ptx_file);
    const recording::Replayed replayed =
        recording::replay(recording, request, [](const std::string& text) { say(text); });
    const bool is_wrong = replayed.is_right() == false;
    for (const Finding& finding : replayed.findings) records->add(finding);
    int code = kRight;
    if (std::getenv("LADDER_SIM_JSON") != nullptr) {
      std::printf("%s\n", to_json(replayed).c_str());
    } else if (!settings.device.timing) {
      code = print_outcome(replayed);
    }
    if (replayed.is_unordered || replayed.status != Status::Success) code = kFailed;
    records->end(is_wrong ? Finding::Kind::Wrong : Finding::Kind::Right, code, settings.device.suppressions.get());
    return code;
  } catch (const recording::Damaged& damaged) {
    return fail(kDamaged, damaged.what());
  } catch (const recording::OtherVersion& other) {
    return fail(kVersion, other.what());
  } catch (const recording::Refused& refused) {
    constexpr int kCodes[] = {kPtx, kMemory, kUsage};  // by Refused::Why
    const int code = kCodes[static_cast<int>(refused.why)];
    records->add({.kind = Finding::Kind::Refused, .what = std::string("--replay: ") + refused.what()});
    records->end(Finding::Kind::Right, code, settings.device.suppressions.get());
    return fail(code, refused.what());
  } catch (const base::FileError& error) { return fail(kUsage, error.what()); } catch (const std::bad_alloc&) {
    return fail(kMemory, "the host is out of memory");
  }
}
