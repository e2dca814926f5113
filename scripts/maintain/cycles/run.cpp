// cycles_LEVEL [--quick] [--once] --sizes LIST: one level at several sizes, and what its kernel noted of itself, as
// CSV. The program waits_LEVEL prints how long its warps waited, a row for each warp and source line. plain_LEVEL is
// the same kernel as it is, and prints how long it takes.
//
// This `run` stands in for the harness's: a level's main.cu calls it with its description.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "common/harness/arguments.h"
#include "common/harness/device.h"
#include "common/harness/environment.h"
#include "common/harness/failure.h"
#include "common/harness/inputs.h"
#include "common/harness/level.h"
#include "common/harness/nvml.h"
#include "common/harness/stopwatch.h"
#include "common/harness/text.h"
#include "timeline.h"

namespace harness {
namespace {

using cycles::Event;
using cycles::Recorder;
using cycles::Timeline;

constexpr double WARM_S = 0.7, REST_S = 0.4, BURST_S = 0.003;
constexpr double MOST_GHZ = 2.0;
constexpr int MOST_PRODUCTS = 6, FEWEST_PRODUCTS = 3;

struct Settings {
  bool quick = false;  ///< for the simulated device: no rest, no warming up
  bool once = false;   ///< each product twice, and nothing else: for the profiler, which looks at the second
  std::vector<Shape> sizes;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  std::string sizes;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0)
      settings.quick = true;
    else if (std::strcmp(argv[i], "--once") == 0)
      settings.once = true;
    else if (std::strcmp(argv[i], "--sizes") == 0 && i + 1 < argc)
      sizes = argv[++i];
    else
      throw usage_error(format("'%s' is not one of --quick, --once, --sizes LIST.", argv[i]));
  }
  if (sizes.empty()) throw usage_error("--sizes is missing: which products?");
  settings.sizes = parse_sizes(sizes);
  for (const Shape& shape : settings.sizes) require_legal(shape);
  return settings;
}

/// The recorder's tables on the device.
class Tables {
 public:
  Tables(int sms, int64_t window) : sms_(sms) {
    device_.window = window;
    const std::size_t events = static_cast<std::size_t>(sms) * device_.event_slots() * sizeof(Event);
    device_.stage_mask = static_cast<uint32_t>(window / Recorder::STAGE_STEP - 1);
    const std::size_t stages = static_cast<std::size_t>(sms) * device_.stage_slots() * sizeof(uint32_t);
    const std::size_t waits = static_cast<std::size_t>(sms) * Recorder::wait_slots() * sizeof(uint64_t);
    bytes_ = 2 * events + stages + waits;
    memory_ = DeviceMemory(bytes_, "what the kernels note");
    device_.begins = reinterpret_cast<Event*>(memory_.data());
    device_.tiles = reinterpret_cast<Event*>(memory_.data() + events);
    device_.waits = reinterpret_cast<uint64_t*>(memory_.data() + 2 * events);
    device_.stages = reinterpret_cast<uint32_t*>(memory_.data() + 2 * events + waits);
  }
  void clear() { check(cudaMemset(memory_.data(), 0, bytes_), "clearing what the kernels note"); }
  const Recorder& device() const { return device_; }
  struct Reading {
    Timeline timeline;
    std::vector<uint64_t> counts, cycles;  ///< [warp][site], of all products and SMs
  };
  Reading read(int products) const {
    const auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    check(cudaMemcpy(copy.get(), memory_.data(), bytes_, cudaMemcpyDeviceToHost), "reading what the kernels noted");
    const std::byte* begin = memory_.data();
    const auto host = [&](auto* at) {
      return reinterpret_cast<decltype(at)>(copy.get() + (reinterpret_cast<std::byte*>(at) - begin));
    };
    Recorder tables = device_;
    tables.begins = host(device_.begins), tables.tiles = host(device_.tiles), tables.stages = host(device_.stages);
    Reading result{cycles::read_timeline(tables, sms_, products), {}, {}};
    const std::size_t slots = Recorder::wait_slots();
    const uint64_t* waits = host(device_.waits);
    result.counts.resize(slots), result.cycles.resize(slots);
    for (std::size_t i = 0; i < static_cast<std::size_t>(sms_) * slots; ++i) {
      result.counts[i % slots] += waits[i] >> Recorder::COUNT_SHIFT;
      result.cycles[i % slots] += waits[i] & ((uint64_t{1} << Recorder::COUNT_SHIFT) - 1);
    }
    return result;
  }

 private:
  int sms_;
  std::size_t bytes_ = 0;
  Recorder device_;
  DeviceMemory memory_;
};

class Runner {
 public:
  Runner(const Level& level, const Settings& settings, const Device& device, const Nvml& nvml)
      : level_(level), settings_(settings), device_(device), nvml_(nvml) {
    std::int64_t a = 0, b = 0;
    for (const Shape& shape : settings.sizes) a = std::max(a, shape.a_elements()), b = std::max(b, shape.b_elements());
    a_ = fill(Operand::a, a), b_ = fill(Operand::b, b);  // smaller products take the first of these values
    const auto sms = static_cast<std::size_t>(device.properties.multiProcessorCount);
    unread_ = DeviceMemory(sms * std::max(sizeof(uint32_t), Recorder::wait_slots() * sizeof(uint64_t)),
                           "notes that are not read");
    note_nothing();
  }

  void measure(const Shape& shape) {
    const double touched = 2.0 * static_cast<double>(shape.a_elements() + shape.b_elements() + shape.d_elements());
    const double cover = 2.0 * device_.properties.l2CacheSize / touched;  // no call finds its own operands in L2
    const int sets = settings_.quick ? 1 : static_cast<int>(std::clamp(std::ceil(cover), 2.0, 16.0));
    std::vector<DeviceMemory> memory;
    std::vector<Problem> problems;
    const auto room = [&](std::int64_t elements, const std::byte* values) {
      const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(Bf16);
      memory.emplace_back(bytes, "an operand");
      if (values != nullptr)
        check(cudaMemcpy(memory.back().data(), values, bytes, cudaMemcpyDeviceToDevice), "copying an operand");
      return reinterpret_cast<__nv_bfloat16*>(memory.back().data());
    };
    for (int set = 0; set < sets; ++set) {
      problems.push_back(
          {.m = shape.m, .n = shape.n, .k = shape.k, .a = nullptr, .b = nullptr, .d = nullptr, .ldd = shape.n});
      problems.back().a = room(shape.a_elements(), a_.data());
      problems.back().b = room(shape.b_elements(), b_.data());
      problems.back().d = room(shape.d_elements(), nullptr);
    }
    const Config& config = level_.select != nullptr ? *level_.select(problems[0]) : level_.configs[0];
    int next = 0;
    const auto enqueue = [&](int) {
      check(config.launch(problems[static_cast<size_t>(next++ % sets)], stream_), "launching the level");
    };
    Contestant contestant{.enqueue = enqueue};
    Stopwatch stopwatch(1, stream_);
    if (settings_.once) {
      for (int i = 0; i < 2; ++i) enqueue(0);
      stream_.synchronize("running the level");
      return;
    }
    const double seconds = stopwatch.time_calls(contestant, 1, settings_.quick ? 1 : 2);
    const auto several = [&](double duration) { return static_cast<int>(std::clamp(duration / seconds, 1.0, 1e5)); };
    const double cycles = MOST_GHZ * 1e9 * seconds;
    const int fits = static_cast<int>(
        std::clamp(0.9 * static_cast<double>(Recorder::WINDOW) / cycles, 1.0 * FEWEST_PRODUCTS, 1.0 * MOST_PRODUCTS));
    const int products = settings_.quick ? FEWEST_PRODUCTS : fits;
    std::unique_ptr<Tables> tables;
    if (cycles_set_recorder != nullptr) {
      int64_t window = 1 << 16;  // what the tables hold
      while (static_cast<double>(window) < 1.1 * cycles * products && window < Recorder::WINDOW) window *= 2;
      tables = std::make_unique<Tables>(device_.properties.multiProcessorCount, window);
    }
    std::optional<double> watts, celsius;
    const auto look = [&](const char* mode, double warm_s) {
      if (tables) tables->clear();
      PowerMeter meter(nvml_);
      if (!settings_.quick) stopwatch.time_calls(contestant, several(warm_s / 2), several(warm_s / 2));
      double period_us = 0;
      if (tables) {
        set_recorder(tables->device());
        for (int i = 0; i < products; ++i) enqueue(0);
        note_nothing();
      } else {
        period_us = 1e6 * stopwatch.time_calls(contestant, 1, settings_.quick ? 1 : std::max(3, several(BURST_S)));
      }
      stream_.synchronize("running the level");
      meter.stop();
      watts = meter.power_w, celsius = nvml_.temperature_c();
      Tables::Reading reading;
      if (tables) reading = tables->read(products), period_us = 1e-3 * reading.timeline.period_ns;
      if (cycles_notes_waits != nullptr)
        print_waits(shape, config, mode, reading, products);
      else
        print(shape, config, mode, period_us, reading.timeline, tables != nullptr, watts, celsius);
    };
    if (!settings_.quick) {
      if (tables) look("sustained", WARM_S);
      std::this_thread::sleep_for(std::chrono::duration<double>(REST_S));
    }
    look("burst", BURST_S);
  }

  static void header() {
    if (cycles_notes_waits != nullptr) {
      std::printf("level,arch,config,m,n,k,mode,period_us,mhz,warp,site,count,cycles\n");
      return;
    }
    std::printf(
        "level,arch,config,m,n,k,mode,period_us,period_cycles,mhz,busy_cycles,ctas,stages,first_stage,stage,stage_low,"
        "stage_high,tile,tile_low,tile_high,spread,spread_low,spread_high,power_w,temperature_c\n");
  }

 private:
  DeviceMemory fill(Operand operand, std::int64_t elements) const {
    const auto values = std::make_unique_for_overwrite<Bf16[]>(static_cast<std::size_t>(elements));
    fill_input(Init::normal, 1, operand, {values.get(), static_cast<std::size_t>(elements)});
    DeviceMemory memory(static_cast<std::size_t>(elements) * sizeof(Bf16), "inputs");
    check(cudaMemcpy(memory.data(), values.get(), static_cast<std::size_t>(elements) * sizeof(Bf16),
                     cudaMemcpyHostToDevice),
          "copying inputs to the device");
    return memory;
  }

  void note_nothing() const {
    if (cycles_set_recorder != nullptr)
      set_recorder({.stages = reinterpret_cast<uint32_t*>(unread_.data()),
                    .waits = reinterpret_cast<uint64_t*>(unread_.data())});
  }
  static void set_recorder(const Recorder& recorder) {
    cycles_set_recorder(recorder);
    check(cudaGetLastError(), "telling the kernels where to note the time");
  }

  /// `count`: of a warp on an SM, in one product; `cycles`: of all of these waits together.
  void print_waits(const Shape& shape, const Config& config, const char* mode, const Tables::Reading& reading,
                   int products) const {
    const double runs = 1.0 * products * device_.properties.multiProcessorCount;
    for (std::size_t i = 0; i < reading.counts.size(); ++i) {
      if (reading.counts[i] == 0) continue;
      std::printf("%s,%d,%s,%d,%d,%d,%s,%.3f,%.1f,%d,%d,%.2f,%.1f\n", std::string(level_.name).c_str(), level_.arch,
                  std::string(config.name).c_str(), shape.m, shape.n, shape.k, mode, 1e-3 * reading.timeline.period_ns,
                  reading.timeline.mhz, static_cast<int>(i / Recorder::SITES), static_cast<int>(i % Recorder::SITES),
                  static_cast<double>(reading.counts[i]) / runs, static_cast<double>(reading.cycles[i]) / runs);
    }
    std::fflush(stdout);
  }

  void print(const Shape& shape, const Config& config, const char* mode, double period_us, const Timeline& t,
             bool noted, const std::optional<double>& watts, const std::optional<double>& celsius) const {
    std::string line = format("%s,%d,%s,%d,%d,%d,%s,%.3f", std::string(level_.name).c_str(), level_.arch,
                              std::string(config.name).c_str(), shape.m, shape.n, shape.k, mode, period_us);
    const auto add = [&](double value, const char* how) {
      line += ',';
      if (std::isfinite(value)) line += format(how, value);
    };
    const double none = NAN;
    add(noted ? period_us * t.mhz : none, "%.0f");
    add(noted ? t.mhz : none, "%.1f");
    add(noted ? t.busy_cycles : none, "%.0f");
    add(noted ? t.ctas : none, "%.0f");
    add(noted ? t.stages : none, "%.0f");
    add(noted ? t.first_stage.median : none, "%.0f");
    for (const cycles::Summary& s : {t.stage, t.tile}) {
      for (const double value : {s.median, s.low, s.high}) add(noted ? value : none, "%.0f");
    }
    for (const double value : {t.spread_stages.median, t.spread_stages.low, t.spread_stages.high})
      add(noted ? value : none, "%.2f");
    add(watts.value_or(none), "%.1f");
    add(celsius.value_or(none), "%.0f");
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  const Level& level_;
  const Settings& settings_;
  const Device& device_;
  const Nvml& nvml_;
  Stream stream_;
  DeviceMemory a_, b_, unread_;
};

int act(int argc, char** argv, const Level& level) {
  const Settings settings = parse(argc, argv);
  const std::string program = "cycles_" + std::string(level.name) + format("_sm%d", level.arch);
  const Device device = select_device(level.arch, program, program + " --quick --sizes 256");
  const Nvml nvml(device.pci_bus_id());
  const Environment environment = describe(device, &nvml, "");
  std::printf("# gpu: %s\n# driver: %s\n# cuda: %s\n", environment.gpu.c_str(), environment.driver.c_str(),
              environment.cuda.c_str());
  if (environment.power_cap_w) std::printf("# power_cap_w: %g\n", *environment.power_cap_w);
  Runner runner(level, settings, device, nvml);
  Runner::header();
  for (const Shape& shape : settings.sizes) runner.measure(shape);
  return EXIT_RIGHT;
}

}  // namespace

int run(int argc, char** argv, const Level& level) {
  return end_at_failure(argv[0], [&] { return act(argc, argv, level); });
}

}  // namespace harness
