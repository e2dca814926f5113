#include "runtime/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "common/base/file.h"
#include "runtime/message.h"

namespace sim::runtime {
namespace {

template <typename Number>
bool parse(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string known_gpus() {
  std::string list;
  for (const std::string& key : gpu_keys()) list += (list.empty() ? "" : ", ") + key;
  return list;
}

/// The parts between commas.
std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> parts;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    if (comma != 0) parts.emplace_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return parts;
}

}  // namespace

std::string read_settings(const std::function<const char*(const char*)>& lookup, Settings* settings) {
  const auto get = [&](const char* name) -> std::string {
    const char* value = lookup(name);
    return value == nullptr ? "" : value;
  };
  Options& options = settings->device;

  options.gpu = get("LADDER_SIM_GPU");
  const std::optional<Gpu> gpu = find_gpu(options.gpu);
  if (!options.gpu.empty() && !gpu) {
    return format("--gpu: there is no description of a GPU '%s'; known are %s.", options.gpu.c_str(),
                  known_gpus().c_str());
  }

  // The limit is that of the largest description, since the GPU is often not chosen yet.
  int most_sms = 0;
  for (const std::string& key : gpu_keys()) most_sms = std::max(most_sms, find_gpu(key)->sm_count);
  if (gpu) most_sms = gpu->sm_count;
  if (const std::string sms = get("LADDER_SIM_SMS"); !sms.empty()) {
    if (!parse(sms, &options.sms) || options.sms < 1 || options.sms > most_sms) {
      return format("--sms: '%s' is not a number of SMs from 1 to %d.", sms.c_str(), most_sms);
    }
  }

  const std::string seed = get("LADDER_SIM_SEED");
  const bool latest = !get("LADDER_SIM_LATEST").empty();
  if (!seed.empty() && latest) return "--seed and --latest are two different schedules: choose one.";
  if (latest) options.schedule = Options::Schedule::Latest;
  if (!seed.empty()) {
    if (!parse(seed, &options.seed)) {
      return format("--seed: '%s' is not a number from 0 to %s.", seed.c_str(),
                    grouped(std::numeric_limits<uint64_t>::max()).c_str());
    }
    options.schedule = Options::Schedule::Seeded;
  }

  if (const std::string arithmetic = get("LADDER_SIM_ARITH"); arithmetic == "exact") {
    options.arithmetic = Options::Arithmetic::Exact;
  } else if (arithmetic == "fast") {
    options.arithmetic = Options::Arithmetic::Fast;
  } else if (!arithmetic.empty()) {
    return format("--arith: '%s' is neither exact nor fast.", arithmetic.c_str());
  }

  if (const std::string threads = get("LADDER_SIM_THREADS"); !threads.empty()) {
    if (!parse(threads, &options.threads) || options.threads < 1 || options.threads > 4096) {
      return format("--threads: '%s' is not a number of host threads from 1 to 4,096.", threads.c_str());
    }
  }

  if (const std::string patience = get("LADDER_SIM_PATIENCE"); !patience.empty()) {
    constexpr uint64_t kMillion = 1'000'000, kMost = 1'000'000;
    uint64_t millions = 0;
    if (!parse(patience, &millions) || millions < 1 || millions > kMost) {
      return format("--patience: '%s' is not a number of million instructions from 1 to %s.", patience.c_str(),
                    grouped(kMost).c_str());
    }
    options.patience = millions * kMillion;
  }

  if (const std::string check = get("LADDER_SIM_CHECK"); check == "strict") {
    options.check = Options::Check::Strict;
  } else if (check == "1") {
    options.check = Options::Check::On;
  } else if (!check.empty()) {
    return format("--check: '%s' is not a grade; the only one is --check=strict.", check.c_str());
  }
  options.checked_kernels = split(get("LADDER_SIM_CHECK_KERNELS"));
  options.unchecked_kernels = split(get("LADDER_SIM_CHECK_NOT"));
  if (const std::string file = get("LADDER_SIM_SUPPRESSIONS"); !file.empty()) {
    try {
      options.suppressions = std::make_shared<report::Suppressions>(base::read_file(file));
    } catch (const std::exception& error) {  // the file, or what it says
      return format("--suppressions: %s: %s.", file.c_str(), error.what());
    }
  }
  if (const std::string unknown = options.tolerated.add(get("LADDER_SIM_TOLERATE")); !unknown.empty()) {
    return format("--tolerate: there is no habit '%s'; known are %s.", unknown.c_str(), habit_names().c_str());
  }

  options.timing = !get("LADDER_SIM_TIMING").empty();
  options.prediction_file = get("LADDER_SIM_PREDICTIONS");
  if (const std::string power = get("LADDER_SIM_POWER"); !timing::parse_powers(power, &options.powers)) {
    return format(
        "--power: '%s' must be cap, burst, none or a clock from 0.3 to 3 GHz, or several of these separated by commas.",
        power.c_str());
  }
  options.abort_on_error = !get("LADDER_SIM_ABORT").empty();
  options.counters_file = get("LADDER_SIM_COUNTERS");
  options.trace_file = get("LADDER_SIM_TRACE");
  if (const std::string contents = get("LADDER_SIM_CONTENTS"); !contents.empty()) {
    Contents& wanted = options.trace_contents.emplace();
    const size_t colon = std::min(contents.find(':'), contents.size() - 1);
    const bool is_known = contents == "all" || (parse(contents.substr(0, colon), &wanted.process) &&
                                                parse(contents.substr(colon + 1), &wanted.operation));
    if (!is_known) return format("--contents: '%s' is neither all nor PROCESS:OPERATION.", contents.c_str());
  }
  settings->ptx_file = get("LADDER_SIM_PTX");
  settings->record_file = get("LADDER_SIM_RECORD");
  settings->log_file = get("LADDER_SIM_LOG_FILE");
  if (const std::string code = get("LADDER_SIM_ERROR_EXITCODE"); !code.empty()) {
    int value = 0;
    if (!parse(code, &value) || value < 0 || value > 255)
      return format("--error-exitcode: '%s' is not a number from 0 to 255.", code.c_str());
    settings->error_exit_code = value;
  }
  settings->known_findings = get("LADDER_SIM_KNOWN");
  settings->reports_file = get("LADDER_SIM_REPORTS");
  settings->results_of = get("LADDER_SIM_RESULTS_OF");
  return "";
}

std::string schedule_name(const Options& options) {
  if (options.schedule == Options::Schedule::Seeded) return std::to_string(options.seed);
  return options.schedule == Options::Schedule::Latest ? "latest" : "default";
}

std::string describe(const Gpu& gpu, const Options& options) {
  const std::string device = format("%s, %d %s", gpu.name.c_str(), gpu.sm_count, gpu.sm_count == 1 ? "SM" : "SMs");
  if (options.timing) return device + ", time predicted, nothing computed";
  std::string schedule = "default schedule";
  if (options.schedule == Options::Schedule::Seeded) schedule = "schedule from seed " + std::to_string(options.seed);
  if (options.schedule == Options::Schedule::Latest) schedule = "latest schedule";
  const char* arithmetic = "exact up to 2^34 multiply-adds a launch, fast above";
  if (options.arithmetic == Options::Arithmetic::Exact) arithmetic = "exact";
  if (options.arithmetic == Options::Arithmetic::Fast) arithmetic = "fast";
  const char* check = options.check == Options::Check::Off  ? ""
                      : options.check == Options::Check::On ? ", order checked"
                                                            : ", order checked strictly";
  return device + ", " + schedule + ", arithmetic " + arithmetic + check;
}

}  // namespace sim::runtime
