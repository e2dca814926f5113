// For scripts/maintain/fuzz.py: what the simulated device makes of PTX texts. They come from standard input, each ended
// by a NUL; each gets a line on standard output.
//
//   sim_judge judge   "ok", or "no LINE: SENTENCE" and more of that behind tabs
//   sim_judge run     the text is loaded and each of its kernels launched, in a process of its own with 10 seconds:
//                     "ok", "no SENTENCE", or how the process ended: "signal 11", "slow", "exit 1"; then its greatest
//                     memory in MiB, and its seconds
//
// Arguments of a kernel: pointers to 1 MiB, tensor maps of 64 x 64 BF16, small numbers.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include "judged.h"
#include "support.h"

namespace sim::test {
namespace {

constexpr unsigned kSeconds = 10;

/// Memory and tensor maps that kernels are given.
class Arguments {
 public:
  explicit Arguments(Bench& bench) : memory_(bench.upload(std::vector<uint8_t>(kBytes, 1))) {
    map_ = make_map({.address = memory_, .dims = {64, 64}, .box = {64, 64}, .swizzle = 3});
  }

  std::vector<std::vector<uint8_t>> of(const KernelInfo& kernel) const {
    std::vector<std::vector<uint8_t>> values;
    for (const KernelInfo::Parameter& parameter : kernel.parameters) {
      std::vector<uint8_t> value(parameter.size, 0);
      if (parameter.size >= sizeof map_ && parameter.align >= 64) {
        std::memcpy(value.data(), &map_, sizeof map_);
      } else if (parameter.size == sizeof memory_) {
        std::memcpy(value.data(), &memory_, sizeof memory_);
      } else if (!value.empty()) {
        value[0] = 2;
      }
      values.push_back(std::move(value));
    }
    return values;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  uint8_t* memory_;
  TensorMap map_;
};

/// What is said of the text, or of the first of its kernels that is not right.
std::string run(const std::string& text) {
  const bool hopper = text.find(".target sm_90") != std::string::npos;
  Options options{.sms = 2, .threads = 1};
  options.patience /= kSlowdown;  // the ten seconds are the same
  Bench bench(options, hopper ? "h200" : "b200");
  Device& device = bench.device();
  Outcome outcome;
  DeviceModule* const module = device.load(text, "text", &outcome);
  if (module == nullptr) return outcome.report;
  const Arguments arguments(bench);
  for (const KernelInfo& kernel : Device::kernels_of(text)) {
    const KernelInfo* const info = module->kernel(kernel.name);
    if (info == nullptr) continue;
    const auto values = arguments.of(*info);
    std::vector<void*> pointers;
    for (const auto& value : values) pointers.push_back(const_cast<uint8_t*>(value.data()));
    LaunchConfig config{.block = {static_cast<uint32_t>(std::clamp(info->max_threads, 1, 256)), 1, 1},
                        .dynamic_smem = 64 * 1024,
                        .max_dynamic_smem = 64 * 1024,
                        .nonportable_cluster = true};
    for (size_t d = 0; d < 3; ++d) config.grid[d] = std::max(1u, info->required_cluster[d]);
    outcome = device.launch(*module, *info, config, pointers.data());
    if (outcome.status != Status::Success) return outcome.report;
  }
  return "";
}

/// In a process of its own, whose end is told whatever it is.
void run_apart(const std::string& text) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(kSeconds);
    const std::string said = in_one_line(run(text));
    const ssize_t written = write(ends[1], said.data(), std::min<size_t>(said.size(), 2000));
    _exit(written < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string verdict = said.empty() ? "ok" : "no " + said;
  if (WIFSIGNALED(status))
    verdict = WTERMSIG(status) == SIGALRM ? "slow" : "signal " + std::to_string(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    verdict = "exit " + std::to_string(WEXITSTATUS(status));
  std::printf("%s\t%ld\t%.1f\n", verdict.c_str(), used.ru_maxrss / 1024, seconds);
}

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  if (mode != "judge" && mode != "run") {
    std::fprintf(stderr, "usage: sim_judge judge|run < texts\n");
    return 2;
  }
  const std::string all{std::istreambuf_iterator<char>(std::cin), {}};
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\0', begin), all.size());
    const std::string text = all.substr(begin, end - begin);
    mode == "judge" ? void(std::puts(judged(text).c_str())) : run_apart(text);
    begin = end + 1;
  }
  return 0;
}

}  // namespace
}  // namespace sim::test

int main(int argc, char** argv) { return sim::test::main(argc, argv); }
