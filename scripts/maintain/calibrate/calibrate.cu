// calibrate_smNN EXPERIMENT...: the micro-benchmarks behind the timing model. calibrate.py runs them all.
#include "calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

#include "common/harness/environment.h"
#include "common/harness/failure.h"
#include "common/harness/text.h"

namespace calibrate {
namespace {

using harness::Failure;
using harness::format;

constexpr Experiment EXPERIMENTS[] = {
    {"topology", "multiprocessors and their clock", run_topology},
    {"clocks", "how far the clocks of GPCs part under load", run_clocks},
    {"latency", "one load at a time: boxes, hits and misses", run_latency},
    {"load", "bandwidth from DRAM and L2, of a GPC and of all, by shape of boxes", run_load},
    {"residency", "what L2 keeps", run_residency},
    {"halves", "what the halves of L2 get from DRAM", run_halves},
    {"stores", "what an epilogue is made of", run_stores},
    {"sync", "barriers and signals", run_sync},
    {"launch", "launches and CTAs that follow one another", run_launch},
    {"power", "watts and clocks of MMAs and loads", run_power},
};

[[noreturn]] void usage(const std::string& problem) {
  std::string names;
  for (const Experiment& e : EXPERIMENTS) names += format("  %-10s %s\n", e.name.data(), e.purpose.data());
  throw harness::usage_error(problem + " usage: calibrate_sm" + std::to_string(LADDER_ARCH) +
                             " [--quick] EXPERIMENT..., of\n" + names);
}

int run(int argc, char** argv) {
  bool quick = false;
  std::vector<const Experiment*> chosen;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
      continue;
    }
    const auto found = std::find_if(std::begin(EXPERIMENTS), std::end(EXPERIMENTS),
                                    [&](const Experiment& e) { return e.name == argv[i]; });
    if (found == std::end(EXPERIMENTS)) usage(format("There is no experiment '%s'.", argv[i]));
    chosen.push_back(found);
  }
  if (chosen.empty()) usage("Name an experiment.");
  const std::string program = "calibrate_sm" + std::to_string(LADDER_ARCH);
  const harness::Device device = harness::select_device(LADDER_ARCH, program, program);
  const harness::Nvml nvml(device.pci_bus_id());
  const harness::Stream stream;
  const harness::Environment environment = harness::describe(device, &nvml, "");
  std::printf("# gpu: %s\n# driver: %s\n# cuda: %s\n", environment.gpu.c_str(), environment.driver.c_str(),
              environment.cuda.c_str());
  if (environment.power_cap_w) std::printf("# power_cap_w: %g\n", *environment.power_cap_w);
  Results::header();
  for (const Experiment* experiment : chosen) {
    Context context{.device = device,
                    .nvml = nvml,
                    .results = Results(std::string(experiment->name)),
                    .quick = quick,
                    .stream = stream};
    experiment->run(context);
    context.synchronize("experiment " + std::string(experiment->name));
  }
  return harness::EXIT_RIGHT;
}

double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary::Summary(std::vector<double> values) : samples(static_cast<int>(values.size())) {
  if (values.empty()) {
    median = low = high = NAN;
    return;
  }
  std::sort(values.begin(), values.end());
  median = quantile(values, 0.5), low = quantile(values, 0.1), high = quantile(values, 0.9);
}

void Results::header() { std::printf("experiment,setting,quantity,value,low,high,samples,unit\n"); }

void Results::add(const std::string& setting, const std::string& quantity, const std::string& unit,
                  const Summary& value) {
  if (!std::isfinite(value.median)) return;  // there is nothing to report
  std::printf("%s,%s,%s,%.6g,%.6g,%.6g,%d,%s\n", experiment_.c_str(), setting.c_str(), quantity.c_str(), value.median,
              value.low, value.high, value.samples, unit.c_str());
  std::fflush(stdout);
}

void Context::synchronize(const std::string& doing) const { harness::check(cudaStreamSynchronize(stream), doing); }

}  // namespace calibrate

int main(int argc, char** argv) {
  return harness::end_at_failure(argv[0], [&] { return calibrate::run(argc, argv); });
}
