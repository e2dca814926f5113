// Watts and clocks of what a GEMM is made of: MMAs on random numbers and on zeros, loads from L2 and from DRAM, by
// multicast, stores; alone, together, and for a part of the time. And what a load takes while the chip is short of
// power.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "common/base/signals.h"
#include "common/harness/text.h"
#include "load.h"

namespace calibrate {
namespace {

using harness::format;
using Clock = std::chrono::steady_clock;

constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr double SETTLING_S = 0.4;  // after this the clock is that of a sustained load

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// Reads power and energy every few milliseconds, in a thread of its own.
class Sampler {
 public:
  explicit Sampler(const harness::Nvml& nvml) {
    if (!nvml.available()) return;
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this, &nvml] {
      while (!stopping_) {
        const double now = now_s();
        if (const auto watts = nvml.power_w()) power_.push_back({now, *watts});
        const auto joules = nvml.energy_j();
        // The counter moves in steps: only the moments at which it does are exact.
        if (joules && (energy_.empty() || energy_.back().value != *joules)) energy_.push_back({now, *joules});
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }
  ~Sampler() { stop(); }
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  /// Means between two moments: from the energy counter, and of the driver's own readings. NaN where nothing was read.
  double watts_by_energy(double from, double to) const {
    const Reading *first = nullptr, *last = nullptr;
    for (const Reading& r : energy_) {
      if (r.time < from || r.time > to) continue;
      if (first == nullptr) first = &r;
      last = &r;
    }
    return first != last ? (last->value - first->value) / (last->time - first->time) : NAN;
  }
  double watts_by_readings(double from, double to) const {
    double sum = 0;
    int count = 0;
    for (const Reading& r : power_) {
      if (r.time >= from && r.time <= to) sum += r.value, ++count;
    }
    return count > 0 ? sum / count : NAN;
  }

 private:
  struct Reading {
    double time, value;
  };
  std::atomic<bool> stopping_{false};
  std::vector<Reading> power_, energy_;
  std::thread thread_;
};

/// Where loads come from.
enum class Source { NONE, L2, SHARED, DRAM };

struct Case {
  std::string name;
  int mma_n = 0;
  int sms = 0;  ///< that do anything; 0: all
  bool zeros = false;
  int burst = 32, sleep_ns = 0;
  int warpgroups = 2;
  Source source = Source::NONE;
  int stages = 4, pace = 0, cluster = 1;
  int store_pace = 0;
  bool store_in_l2 = false;
  bool series = false;  ///< report how the clock goes
};

class PowerBench {
 public:
  explicit PowerBench(Context& context)
      : context_(context),
        field_(context, context.scaled(1024 * MiB, 16 * MiB)),
        zeros_(context, 8 * MiB, Field::Content::zeros),
        output_(context, context.scaled(512 * MiB, 8 * MiB)),
        small_output_(context, 8 * MiB) {}

  void idle() {
    Sampler sampler(context_.nvml);
    const double start = now_s();
    std::this_thread::sleep_for(std::chrono::duration<double>(context_.scaled(1.0, 0.02)));
    sampler.stop();
    report_power("case=idle", sampler, start, now_s());
  }

  void run(const Case& c) {
    const double duration_s = context_.scaled(1.6, 4e-6);
    Work work = work_of(c);
    const CUtensorMap map = map_of(c);
    const Field& operands = c.zeros ? zeros_ : field_;
    const Field* output = c.store_pace == 0 ? nullptr : c.store_in_l2 ? &small_output_ : &output_;
    if (c.source != Source::NONE) {  // how often does it fit into the time?
      const double trial_s = do_work(context_, work, map, operands).seconds();
      work.repeat = static_cast<int>(std::clamp(duration_s / std::max(trial_s, 1e-7), 1.0, 1e6)) * work.repeat;
    }
    if (c.store_pace > 0) work.stores = static_cast<int>(duration_s * 1.8e9 / c.store_pace) + 1;
    work.mma_ns = static_cast<int64_t>(1e9 * duration_s);
    work.sample_ns = context_.scaled(2'000'000, 1'000);
    rest();
    Sampler sampler(context_.nvml);
    const double start = now_s();
    const WorkResult result = do_work(context_, work, map, operands, output);
    const double end = now_s();
    sampler.stop();

    const std::string setting = "case=" + c.name;
    Results& out = context_.results;
    // The kernel's settling time; the host's is nearly the same.
    report_power(setting, sampler, start + settling(), end);
    const std::vector<ClockSample>& samples = result.samples;
    double steady_mhz = result.mhz();
    for (size_t i = 0; i + 1 < samples.size(); ++i) {
      const double since = 1e-9 * static_cast<double>(samples[i].nanoseconds - samples[0].nanoseconds);
      if (since >= settling()) {
        const ClockSample &a = samples[i], &b = samples.back();
        steady_mhz = 1e3 * static_cast<double>(b.cycle - a.cycle) / static_cast<double>(b.nanoseconds - a.nanoseconds);
        break;
      }
    }
    if (steady_mhz > 0) out.add(setting, "sustained clock", "MHz", steady_mhz);
    double mma_rate = 0;
    int multiplying = 0;
    for (const CtaRecord& r : result.ctas) {
      if (r.mma_cycles == 0) continue;
      mma_rate += static_cast<double>(r.multiplications) / static_cast<double>(r.mma_cycles), ++multiplying;
    }
    if (multiplying > 0)  // 2 * 64 rows * N columns * 64 of K
      out.add(setting, "FLOP per cycle of all SMs", "FLOP/cycle", mma_rate * 2 * 64 * c.mma_n * 64);
    if (c.source != Source::NONE) {
      int streaming = 0;
      for (const CtaRecord& r : result.ctas) streaming += r.blocks > 0;
      out.add(setting, "bytes received per cycle by all SMs", "bytes/cycle",
              result.bytes_per_cycle(work.walk) * streaming);
      out.add(setting, "mean latency", "cycles", result.mean_latency());
      Summary spread(result.latency_quantile(0.5));
      spread.low = result.latency_quantile(0.1), spread.high = result.latency_quantile(0.9);
      out.add(setting, "latency", "cycles", spread);
    }
    if (c.store_pace > 0) {
      double latency = 0, stores = 0;
      for (const CtaRecord& r : result.ctas)
        latency += static_cast<double>(r.store_latency_sum), stores += static_cast<double>(r.stores);
      out.add(setting, "stores of 16 KiB by all SMs", "", stores);
      out.add(setting, "time", "s", end - start);
      out.add(setting, "mean latency of a store", "cycles", latency / std::max(stores, 1.0));
    }
    if (c.series) {
      for (size_t i = 0, step = 1; i + step < samples.size(); i += step) {
        const ClockSample &a = samples[i], &b = samples[i + step];
        const double ms = 1e-6 * static_cast<double>(a.nanoseconds - samples[0].nanoseconds);
        out.add(setting + format(" ms=%.0f", ms), "clock", "MHz",
                1e3 * static_cast<double>(b.cycle - a.cycle) / static_cast<double>(b.nanoseconds - a.nanoseconds));
        step = ms < 60 ? 1 : 10;
      }
    }
  }

  /// Some SMs load, one stage at a time, while all others multiply and have brought the clock down.
  void probe(Source source, int mma_n, const std::string& name) {
    Case c{.name = name, .mma_n = mma_n, .source = source, .stages = 1};
    Work work = work_of(c);
    const int ctas = context_.sms(), probes = std::min(4, ctas / 2);
    work.roles.assign(static_cast<size_t>(ctas), mma_n > 0 ? MULTIPLIES : 0);
    for (int i = 0; i < probes; ++i) work.roles[static_cast<size_t>(i * ctas / probes)] = STREAMS;
    work.repeat = context_.scaled(500, 1);
    if (source == Source::DRAM) {  // these rows are in no case in L2
      const int turns = std::max(1, field_.rows(Field::WIDE) / 256 / ctas * ctas / probes);
      work.repeat = 1;
      work.tiles.clear();
      for (int turn = 0; turn < turns; ++turn) {
        for (int cta = 0; cta < ctas; ++cta) {
          const int row = (turn * probes + cta * probes / ctas) * 256 % (field_.rows(Field::WIDE) - 255);
          work.tiles.push_back({row, row + 128});
        }
      }
    }
    if (mma_n > 0)
      work.delay_ns = context_.scaled(800'000'000, 2'000), work.mma_ns = context_.scaled(1'000'000'000, 10'000);
    rest();
    const WorkResult result = do_work(context_, work, map_of(c), field_);
    std::vector<double> means;
    double mhz = 0;
    for (const CtaRecord& r : result.ctas) {
      if (r.blocks == 0) continue;
      means.push_back(static_cast<double>(r.latency_sum) / static_cast<double>(r.blocks));
      mhz +=
          1e3 * static_cast<double>(r.end_cycle - r.begin_cycle) / static_cast<double>(r.end_ns - r.begin_ns) / probes;
    }
    context_.results.add("probe=" + name, "latency of 32 KiB", "cycles", Summary(means));
    context_.results.add("probe=" + name, "clock", "MHz", mhz);
  }

 private:
  double settling() const { return context_.scaled(SETTLING_S, 0.0); }
  void rest() const { std::this_thread::sleep_for(std::chrono::duration<double>(context_.scaled(0.3, 0.0))); }

  void report_power(const std::string& setting, const Sampler& sampler, double from, double to) {
    context_.results.add(setting, "power by energy", "W", sampler.watts_by_energy(from, to));
    context_.results.add(setting, "power by readings", "W", sampler.watts_by_readings((from + to) / 2, to));
    if (const auto celsius = context_.nvml.temperature_c()) context_.results.add(setting, "temperature", "C", *celsius);
  }

  CUtensorMap map_of(const Case& c) const {
    const int rows = c.cluster == 4 ? 64 : 128;
    return field_.map(c.source == Source::DRAM ? Field::WIDE : Field::FLAT, rows, 64, mma::Swizzle::B128);
  }

  Work work_of(const Case& c) const {
    Work work{.stages = c.stages, .pace = c.pace, .cluster = c.cluster};
    work.mma_n = c.mma_n, work.mma_burst = c.burst, work.mma_sleep_ns = c.sleep_ns, work.mma_warpgroups = c.warpgroups;
    work.store_pace = c.store_pace;
    const int all = context_.sms(), ctas = all / c.cluster * c.cluster;
    if (c.sms > 0 && c.sms < all) {
      work.roles.assign(static_cast<size_t>(all), 0);
      for (int i = 0; i < c.sms; ++i) work.roles[static_cast<size_t>(i * all / c.sms)] = STREAMS | MULTIPLIES | STORES;
    }
    if (c.source == Source::NONE) return work;
    if (c.source == Source::DRAM) {
      work.walk = {.k_blocks = context_.scaled(128, 2), .x_step = 64};
      const int rows = field_.rows(Field::WIDE);
      for (int i = 0; i < std::max(1, rows / 256 / ctas) * ctas; ++i)
        work.tiles.push_back({i * 256 % (rows - 255), i * 256 % (rows - 255) + 128});
    } else {
      work.walk = {.k_blocks = 4, .row_step = 256};
      work.repeat = context_.scaled(2000, 1);
      for (int cta = 0; cta < ctas; ++cta) {
        const int first = (c.source == Source::SHARED ? 0 : cta / c.cluster) * 4 * 256;
        work.tiles.push_back({first, first + 128});
      }
    }
    if (c.cluster == 4) work.walk.box_rows = 64, work.walk.stacks = 2;
    return work;
  }

  Context& context_;
  Field field_, zeros_, output_, small_output_;
};

}  // namespace

void run_power(Context& context) {
  PowerBench bench(context);
  const int sms = context.sms();
  bench.idle();
  bench.run({.name = "waiting"});  // CTAs are there, one warp of each sleeps
  bench.run({.name = "mma256", .mma_n = 256, .series = true});
  if (context.quick) {
    bench.run({.name = "l2_mma128", .mma_n = 128, .source = Source::L2, .stages = 2});
    bench.run({.name = "stores_dram", .store_pace = 1600});
    bench.probe(Source::L2, 256, "l2_beside_mma256");
    return;
  }
  bench.run({.name = "mma256_zeros", .mma_n = 256, .zeros = true});
  for (const int part : {4, 2})
    bench.run({.name = format("mma256_sms%d", sms / part), .mma_n = 256, .sms = sms / part});
  bench.run({.name = format("mma256_sms%d", sms * 3 / 4), .mma_n = 256, .sms = sms * 3 / 4});
  bench.run({.name = "mma256_one_warpgroup", .mma_n = 256, .warpgroups = 1});
  // A burst takes 32 x 2 x 512 cycles, about 17 us.
  for (const int sleep_us : {6, 17, 50})
    bench.run({.name = format("mma256_sleep%dus", sleep_us), .mma_n = 256, .sleep_ns = 1000 * sleep_us});
  for (const int n : {128, 192}) {
    bench.run({.name = format("mma%d", n), .mma_n = n});
    bench.run({.name = format("mma%d_sleep", n), .mma_n = n, .sleep_ns = n == 128 ? 8000 : 12000});
    bench.run({.name = format("mma%d_sms%d", n, sms / 2), .mma_n = n, .sms = sms / 2});
  }
  for (const int stages : {1, 2, 6})
    bench.run({.name = format("l2_stages%d", stages), .source = Source::L2, .stages = stages});
  bench.run({.name = format("l2_sms%d", sms / 2), .sms = sms / 2, .source = Source::L2, .stages = 6});
  bench.run({.name = "l2_shared", .source = Source::SHARED, .stages = 6});
  bench.run({.name = "l2_multicast2", .source = Source::L2, .stages = 6, .cluster = 2});
  bench.run({.name = "l2_multicast4", .source = Source::L2, .stages = 6, .cluster = 4});
  for (const int stages : {1, 4})
    bench.run({.name = format("dram_stages%d", stages), .source = Source::DRAM, .stages = stages});
  bench.run({.name = "stores_dram_slow", .store_pace = 6000});
  bench.run({.name = "stores_dram", .store_pace = 1600});
  bench.run({.name = "stores_l2_slow", .store_pace = 6000, .store_in_l2 = true});
  bench.run({.name = "stores_l2", .store_pace = 1600, .store_in_l2 = true});
  // Together: as much as a kernel of the levels would, and more.
  for (const int n : {128, 256}) {
    for (const int pace : {0, 600, 1200}) {
      bench.run({.name = format("l2_pace%d_mma%d", pace, n),
                 .mma_n = n,
                 .source = Source::L2,
                 .pace = pace,
                 .series = pace < 1200});
    }
    bench.run({.name = format("shared_pace600_mma%d", n), .mma_n = n, .source = Source::SHARED, .pace = 600});
    bench.run(
        {.name = format("multicast2_pace600_mma%d", n), .mma_n = n, .source = Source::L2, .pace = 600, .cluster = 2});
    for (const int pace : {0, 1200, 2400})
      bench.run({.name = format("dram_pace%d_mma%d", pace, n), .mma_n = n, .source = Source::DRAM, .pace = pace});
    bench.run({.name = format("stores_dram_mma%d", n), .mma_n = n, .store_pace = 6000});
  }
  bench.run({.name = "multicast4_pace600_mma256", .mma_n = 256, .source = Source::L2, .pace = 600, .cluster = 4});
  for (const int n : {0, 256}) {
    bench.probe(Source::L2, n, n > 0 ? "l2_beside_mma256" : "l2_alone");
    bench.probe(Source::DRAM, n, n > 0 ? "dram_beside_mma256" : "dram_alone");
  }
  bench.run({.name = "mma256_again", .mma_n = 256});
  bench.idle();
}

}  // namespace calibrate
