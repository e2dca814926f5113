// The program of a level, from the command line to the exit code.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arguments.h"
#include "bench.h"
#include "blas.h"
#include "common/base/file.h"
#include "device.h"
#include "environment.h"
#include "explain.h"
#include "failure.h"
#include "inputs.h"
#include "level.h"
#include "nvml.h"
#include "progress.h"
#include "reference.h"
#include "report.h"
#include "results.h"
#include "text.h"
#include "verify.h"

#ifndef LADDER_VERSION
#define LADDER_VERSION "(built by hand)"  // the CMake build defines the project's version
#endif

namespace harness {
namespace {

/// The most work for which the CPU stands in for an absent cuBLAS: a second or so.
constexpr double MAX_CPU_REFERENCE_FLOPS = 3e11;

/// Verification runs with this many columns between the end of one row of D and the start of the next.
constexpr int PITCH_PADDING = 8;

std::string program_name(const Level& level) { return format("%s_sm%d", std::string(level.name).c_str(), level.arch); }

/// The most work that the simulated device does in a few seconds.
constexpr double MAX_SIMULATED_FLOPS = 3e10;

/// What to write after scripts/sim.sh: this very command, as far as it makes sense on the simulated device. Sizes at
/// which one would wait for minutes become one that takes a second.
std::string command_for_simulator(int argc, const char* const* argv, const Options& options,
                                  const std::string& program) {
  double flops = 0;
  for (const Shape& shape : shapes(options, DEFAULT_SIMULATED_EDGE)) flops += shape.flops();
  const bool small = flops <= MAX_SIMULATED_FLOPS;
  std::string command = argc > 0 ? argv[0] : "";
  command = shell_quoted(command.find('/') != std::string::npos ? command : "build/bin/" + program);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i], name = argument.substr(0, argument.find('='));
    if (argument == "--bench" || argument == "--burst" || argument == "--apart") continue;
    if (!small && (name == "--sizes" || name == "--m" || name == "--n" || name == "--k")) {
      if (name == argument) ++i;  // its value is the next word
      continue;
    }
    command += ' ';
    command += shell_quoted(argument);
  }
  return small ? command : command + " --sizes " + std::to_string(DEFAULT_SIMULATED_EDGE);
}

const Config* find_config(const Level& level, const std::string& name) {
  if (name.empty() || name == ALL_CONFIGS) return nullptr;
  std::string names;
  for (const Config& config : level.configs) {
    if (config.name == name) return &config;
    if (!names.empty()) names += ", ";
    names += config.name;
  }
  throw usage_error(format("There is no configuration '%s', only: %s.", name.c_str(), names.c_str()));
}

void list_configs(const Level& level) {
  for (const Config& config : level.configs) {
    std::printf("%-16s %s\n", std::string(config.name).c_str(), summarise(config.describe()).c_str());
  }
}

/// The level's own choice.
const Config& choose(const Level& level, const Problem& problem) {
  const Config* chosen = level.select != nullptr ? level.select(problem) : nullptr;
  return chosen != nullptr ? *chosen : level.configs.front();
}

void list_choices(const Level& level, const Options& options) {
  for (const Shape& shape : shapes(options, DEFAULT_EDGE)) {
    const Config& config = choose(level, {.m = shape.m, .n = shape.n, .k = shape.k, .ldd = shape.n});
    std::printf("%-16s %s\n", to_string(shape).c_str(), std::string(config.name).c_str());
  }
}

/// As text one configuration, the level's first unless another is named; as JSON all of them unless one is.
void explain_configs(const Level& level, const Options& options) {
  const Config* chosen = find_config(level, options.config);
  if (options.json.empty()) {
    std::printf("%s", explain(level, chosen != nullptr ? *chosen : level.configs.front()).c_str());
    return;
  }
  std::optional<Shape> shape;
  if (options.m || options.n || options.k || !options.sizes.empty()) shape = shapes(options, DEFAULT_EDGE).front();
  write_result(options.json,
               explain_json(level, chosen != nullptr ? std::span(chosen, 1) : level.configs, shape) + "\n");
}

/// A level on a device: everything that lasts longer than one problem.
class Session {
 public:
  Session(const Level& level, const Options& options, std::vector<ResultFile>& files, const Device& device);

  /// Throws a usage error if the device or the host has too little for this problem.
  void require_memory(const Shape& shape) const;

  void predict(const Shape& shape);
  /// Runs, verifies, times and reports one problem, with as many configurations as are asked for. Returns whether D is
  /// right (or was not to be verified).
  bool run(const Shape& shape);

 private:
  enum class Source { none, cublas, cpu, fp64 };
  std::vector<const Config*> configs_for(const Problem& problem) const;
  Source reference_source(const Shape& shape) const;
  std::unique_ptr<float[]> reference(const Inputs& inputs, Source source, const Bf16* a, const Bf16* b) const;
  void time(const std::vector<const Config*>& configs, const Bf16* a, const Bf16* b, const Inputs& inputs,
            const float* expected, std::vector<Result>& results);
  void launch(const Config& config, const Problem& problem) const;
  void report(const Result& result);
  std::string title(const Shape& shape) const { return program_name(level_) + " " + to_string(shape); }

  const Level& level_;
  const Options& options_;
  std::vector<ResultFile>& files_;
  const Device& device_;
  Stream stream_;
  std::unique_ptr<Nvml> nvml_;      // real GPUs only
  std::unique_ptr<Cublas> cublas_;  // likewise, if it is installed
  Environment environment_;
  Progress progress_;
};

Session::Session(const Level& level, const Options& options, std::vector<ResultFile>& files, const Device& device)
    : level_(level), options_(options), files_(files), device_(device) {
  std::string cublas_version;
  if (!device.simulated) {
    nvml_ = std::make_unique<Nvml>(device.pci_bus_id());
    std::string why_not;
    cublas_ = Cublas::open(stream_, why_not);
    if (cublas_ != nullptr) {
      cublas_version = cublas_->version();
    } else if (options.verify == Verify::full || options.bench) {
      std::fprintf(stderr, "%s: %s: large results are checked by FP64 samples, and there is nothing to compare with.\n",
                   program_name(level).c_str(), why_not.c_str());
    }
  }
  environment_ = describe(device, nvml_.get(), cublas_version);
  if (!files.empty()) environment_.commit = commit_id();
}

Session::Source Session::reference_source(const Shape& shape) const {
  if (options_.verify == Verify::off) return Source::none;
  if (options_.verify == Verify::sample) return Source::fp64;
  if (cublas_ != nullptr) return Source::cublas;
  return device_.simulated || shape.flops() <= MAX_CPU_REFERENCE_FLOPS ? Source::cpu : Source::fp64;
}

void Session::require_memory(const Shape& shape) const {
  const double a_and_b = sizeof(Bf16) * static_cast<double>(shape.a_elements() + shape.b_elements());
  const double d = static_cast<double>(GuardedOutput::bytes(shape, shape.n + PITCH_PADDING));
  const double fp32 = sizeof(float) * static_cast<double>(shape.d_elements());
  const Source source = reference_source(shape);
  double on_device = a_and_b + d, on_host = a_and_b + d;
  if (source == Source::cublas || source == Source::cpu) on_host += fp32;
  const int configs = options_.config == ALL_CONFIGS ? static_cast<int>(level_.configs.size()) : 1;
  on_device +=
      std::max(source == Source::cublas ? fp32 : 0, options_.bench ? Bench::bytes(shape, device_, configs) : 0);
  if (device_.simulated) on_device += on_host;

  const auto require = [&](double needed, double there, const std::string& where) {
    if (needed <= there) return;
    throw usage_error(format("%s needs %s of memory, but %s has only %s.", to_string(shape).c_str(),
                             short_bytes(needed).c_str(), where.c_str(), short_bytes(there).c_str()));
  };
  require(on_device, device_.free_memory(), device_.name());
  require(on_host, available_host_memory(), "the host");
}

namespace {

/// The parts of a kernel's shared memory, a line for each: offset, bytes, how many, name.
std::string shared_names(const Description& kernel) {
  std::string lines;
  for (const BarrierInfo& each : kernel.barriers)
    lines += format("%d 8 %d %.*s\n", each.offset, each.copies, static_cast<int>(each.name.size()), each.name.data());
  for (const SmemRegion& each : kernel.smem)
    lines += format("%d %d %d %.*s\n", each.offset, each.bytes, each.count, static_cast<int>(each.name.size()),
                    each.name.data());
  return lines;
}

/// What the simulated device offers beside CUDA's functions; null on a GPU.
template <typename Function>
Function* of_simulated_device(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// A recording of a run then has the inputs as a seed.
void tell_recorder(const Inputs& inputs, std::uint64_t seed) {
  static const auto generated =
      of_simulated_device<void(const void*, std::size_t, unsigned, std::uint64_t, unsigned)>("sim_generated");
  if (generated == nullptr) return;
  const auto tell = [&](const Bf16* values, std::int64_t elements, Operand operand) {
    generated(values, sizeof(Bf16) * static_cast<std::size_t>(elements), static_cast<unsigned>(inputs.init), seed,
              static_cast<unsigned>(operand));
  };
  tell(inputs.a.get(), inputs.shape.a_elements(), Operand::a);
  tell(inputs.b.get(), inputs.shape.b_elements(), Operand::b);
}

/// And it can tell which tiles of D differ.
void tell_recorder(const Problem& problem) {
  static const auto describe =
      of_simulated_device<void(const char*, const void*, unsigned, unsigned, unsigned, std::size_t)>(
          "sim_describe_result");
  if (describe == nullptr) return;
  describe("D", problem.d, static_cast<unsigned>(problem.m), static_cast<unsigned>(problem.n), sizeof(Bf16),
           sizeof(Bf16) * static_cast<std::size_t>(problem.ldd));
}

}  // namespace

void Session::launch(const Config& config, const Problem& problem) const {
  // The simulated device counts the FLOPs that are executed; how many were asked for, only we can tell it. And its
  // reports know places in shared memory by the names that we give them.
  static const auto note = of_simulated_device<void(std::uint64_t)>("sim_note_useful_flops");
  if (note != nullptr) note(std::uint64_t{2} * problem.m * problem.n * problem.k);
  static const auto name_shared = of_simulated_device<void(const char*)>("sim_name_shared");
  if (name_shared != nullptr && config.describe != nullptr) name_shared(shared_names(config.describe()).c_str());
  check(config.launch(problem, stream_), "launching " + std::string(level_.name));
}

std::unique_ptr<float[]> Session::reference(const Inputs& inputs, Source source, const Bf16* a, const Bf16* b) const {
  if (source != Source::cublas && source != Source::cpu) return nullptr;
  const Shape& shape = inputs.shape;
  auto values = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(shape.d_elements()));
  if (source == Source::cpu) {
    gemm_fp32(shape, inputs.a.get(), inputs.b.get(), values.get());
    return values;
  }
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(shape.d_elements());
  const DeviceMemory on_device(bytes, "the reference");
  cublas_->gemm_to_fp32(column_major(shape, a, b, on_device.data(), shape.n));
  stream_.synchronize("running cublasGemmEx");
  check(cudaMemcpy(values.get(), on_device.data(), bytes, cudaMemcpyDeviceToHost), "copying the reference to the host");
  return values;
}

/// Those of `configs` that were right, in the same rounds. What is wrong afterwards has no speed.
void Session::time(const std::vector<const Config*>& configs, const Bf16* a, const Bf16* b, const Inputs& inputs,
                   const float* expected, std::vector<Result>& results) {
  std::vector<Bench::Launch> launches;
  std::vector<Result*> timed;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (results[i].verdict && !results[i].verdict->right) continue;
    launches.push_back([this, config = configs[i]](const Problem& problem) { launch(*config, problem); });
    timed.push_back(&results[i]);
  }
  if (timed.empty()) return;
  const Shape& shape = inputs.shape;
  Bench bench(shape, device_, a, b, stream_, static_cast<int>(launches.size()));
  const BenchSettings settings{
      .rounds = options_.rounds, .budget_s = options_.budget_s, .burst = options_.burst, .apart = options_.apart};
  const auto speeds = bench.run(settings, launches, cublas_.get(), *nvml_, progress_, title(shape));
  progress_.set(title(shape) + ": verifying again");
  for (size_t i = 0; i < timed.size(); ++i) {
    if (timed[i]->verdict) {
      const auto d = bench.last_d(static_cast<int>(i));
      Verdict after = verify(inputs, {.d = d.get(), .ldd = shape.n}, expected);
      if (!after.right) {
        after.faults.front() += ", after timing";
        timed[i]->verdict = after;
        continue;
      }
    }
    timed[i]->bench = speeds[i];
  }
}

/// The level's own choice, unless another is named, or all of them.
std::vector<const Config*> Session::configs_for(const Problem& problem) const {
  std::vector<const Config*> configs;
  if (options_.config == ALL_CONFIGS) {
    for (const Config& config : level_.configs) configs.push_back(&config);
    return configs;
  }
  if (const Config* named = find_config(level_, options_.config)) return {named};
  return {&choose(level_, problem)};
}

/// Only the launch counts: there are no inputs and there is no result.
void Session::predict(const Shape& shape) {
  const std::size_t ldd = static_cast<std::size_t>(shape.n);
  const DeviceMemory a(sizeof(Bf16) * static_cast<std::size_t>(shape.a_elements()), "A");
  const DeviceMemory b(sizeof(Bf16) * static_cast<std::size_t>(shape.b_elements()), "B");
  const DeviceMemory d(sizeof(Bf16) * static_cast<std::size_t>(shape.m) * ldd, "D");
  const Problem problem{.m = shape.m,
                        .n = shape.n,
                        .k = shape.k,
                        .a = reinterpret_cast<const __nv_bfloat16*>(a.data()),
                        .b = reinterpret_cast<const __nv_bfloat16*>(b.data()),
                        .d = reinterpret_cast<__nv_bfloat16*>(d.data()),
                        .ldd = shape.n};
  for (const Config* config : configs_for(problem)) {
    std::printf("%s  %s\n", title(shape).c_str(), std::string(config->name).c_str());
    std::fflush(stdout);
    launch(*config, problem);
    stream_.synchronize("predicting " + program_name(level_));
  }
}

bool Session::run(const Shape& shape) {
  using Predicts = int (*)();
  static const auto predicts = reinterpret_cast<Predicts>(dlsym(RTLD_DEFAULT, "sim_predicts"));
  if (predicts != nullptr && predicts() != 0) return predict(shape), true;
  progress_.set(title(shape) + ": making the inputs");
  const Inputs inputs(shape, options_.init, options_.seed);
  tell_recorder(inputs, options_.seed);
  DeviceInput a(inputs.a.get(), shape.a_elements(), "A"), b(inputs.b.get(), shape.b_elements(), "B");
  GuardedOutput output(shape, shape.n + PITCH_PADDING);
  const Problem problem{.m = shape.m,
                        .n = shape.n,
                        .k = shape.k,
                        .a = reinterpret_cast<const __nv_bfloat16*>(a.data()),
                        .b = reinterpret_cast<const __nv_bfloat16*>(b.data()),
                        .d = reinterpret_cast<__nv_bfloat16*>(output.data()),
                        .ldd = shape.n + PITCH_PADDING};
  tell_recorder(problem);
  const std::vector<const Config*> configs = configs_for(problem);
  const int sms = device_.properties.multiProcessorCount;
  const auto clustered = [](const Config* config) { return config->describe().cluster > 1; };
  if (sms < 2 && std::ranges::any_of(configs, clustered)) {
    throw usage_error(
        format("This kernel runs in clusters of CTAs on at least 2 SMs, and %s has %d.", device_.properties.name, sms));
  }

  std::vector<Result> results;
  std::unique_ptr<float[]> expected;
  for (const Config* config : configs) {
    Result& result = results.emplace_back();
    result.level = level_.name;
    result.arch = level_.arch;
    result.shape = shape;
    result.config = config->name;
    result.init = options_.init;
    result.seed = options_.seed;
    result.verify = options_.verify;
    result.rounds = options_.rounds;
    result.budget_s = options_.budget_s;

    // The level runs before cuBLAS does: shared memory that holds the right operands could hide a missing load.
    progress_.set(title(shape) + ": running on " + device_.name());
    if (config != configs.front()) output.poison();
    for (int i = 0; i < options_.launches; ++i) launch(*config, problem);
    stream_.synchronize("running " + program_name(level_));

    if (options_.verify == Verify::off && !options_.digest) continue;
    const GuardedOutput::Copy copy = output.download();
    const Output d{.d = copy.d, .ldd = problem.ldd, .before = copy.before, .after = copy.after};
    if (options_.digest) result.digest = digest(shape, d);
    if (options_.verify != Verify::off) {
      const bool a_intact = a.restore(), b_intact = b.restore();
      const Source source = reference_source(shape);
      if (expected == nullptr) {
        progress_.set(title(shape) + ": computing the reference");
        expected = reference(inputs, source, a.data(), b.data());
      }
      progress_.set(title(shape) + ": verifying");
      result.reference = source == Source::cublas ? "cublas" : source == Source::cpu ? "cpu" : "fp64";
      if (source == Source::fp64) result.verify = Verify::sample;
      result.verdict = verify(inputs, d, expected.get());
      if (!a_intact) result.verdict->reject("A was overwritten");
      if (!b_intact) result.verdict->reject("B was overwritten");
    }
  }

  if (options_.bench) time(configs, a.data(), b.data(), inputs, expected.get(), results);
  bool right = true;
  for (Result& result : results) {
    result.date = utc_now();
    report(result);
    right = right && (!result.verdict || result.verdict->right);
  }
  return right;
}

/// Files first: they are complete even if the reader of standard output has exited.
void Session::report(const Result& result) {
  progress_.clear();
  std::exception_ptr file_failure;
  try {
    const Record record = to_record(result, environment_);
    for (ResultFile& file : files_) file.add(record);
  } catch (const Failure&) { file_failure = std::current_exception(); }
  std::string text = human_line(result, environment_) + "\n";
  if (options_.config == ALL_CONFIGS) text = format("%-10s ", result.config.c_str()) + text;
  if (result.verdict && !result.verdict->right) text += explanation(*result.verdict);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  if (result.bench && !result.bench->note.empty()) {
    std::fprintf(stderr, "%s: %s.\n", program_name(level_).c_str(), result.bench->note.c_str());
  }
  if (file_failure) std::rethrow_exception(file_failure);
}

int run_problems(const Level& level, const Options& options, const std::string& command) {
  find_config(level, options.config);
  shapes(options, DEFAULT_EDGE);  // a shape that no device could run is found out without one
  if (!options.csv.empty() && !options.json.empty() && base::same_file(options.csv, options.json)) {
    throw usage_error(format("--csv and --json both name %s: two files are needed.", options.csv.c_str()));
  }
  std::vector<ResultFile> files;
  const std::string header = csv_header(to_record(Result{}, Environment{}));
  if (!options.csv.empty()) files.emplace_back(options.csv, ResultFile::Format::csv, header);
  if (!options.json.empty()) files.emplace_back(options.json, ResultFile::Format::json, header);

  const Device device = select_device(level.arch, program_name(level), command);
  if (device.simulated && options.bench) {
    throw usage_error(
        format("--bench needs a real GPU: %s computes what a GPU computes, but not as fast.", device.properties.name));
  }
  const std::vector<Shape> list = shapes(options, device.simulated ? DEFAULT_SIMULATED_EDGE : DEFAULT_EDGE);
  Session session(level, options, files, device);
  for (const Shape& shape : list) session.require_memory(shape);
  bool right = true;
  for (const Shape& shape : list) right = session.run(shape) && right;
  return right ? EXIT_RIGHT : EXIT_WRONG;
}

int act(int argc, const char* const* argv, const Level& level) {
  const std::string program = program_name(level);
  const Options options = parse_arguments(argc, argv);
  switch (options.action) {
    case Options::Action::run: return run_problems(level, options, command_for_simulator(argc, argv, options, program));
    case Options::Action::help:
      std::printf("%s\n\n%s", std::string(level.idea).c_str(), help_text(program).c_str());
      break;
    case Options::Action::version:
      std::printf("%s %s, CUDA %s\n", program.c_str(), LADDER_VERSION, toolkit_version().c_str());
      break;
    case Options::Action::list_configs: list_configs(level); break;
    case Options::Action::list_choices: list_choices(level, options); break;
    case Options::Action::explain: explain_configs(level, options); break;
  }
  return EXIT_RIGHT;
}

}  // namespace

int run(int argc, char** argv, const Level& level) {
  const auto give_up = [&](int exit_code, const char* sentence) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", program_name(level).c_str(), sentence);
    return exit_code;
  };
  int exit_code;
  try {
    exit_code = act(argc, argv, level);
  } catch (const Failure& failure) {
    return give_up(failure.exit_code, failure.what());
  } catch (const std::bad_alloc&) { return give_up(EXIT_USAGE, "The host has not enough memory for this."); }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return give_up(exit_code == EXIT_RIGHT ? EXIT_USAGE : exit_code, "Standard output cannot be written.");
  }
  return exit_code;
}

}  // namespace harness
