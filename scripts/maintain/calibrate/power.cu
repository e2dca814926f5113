// Watts and clocks of what a GEMM is made of: MMAs, loads from L2 and from DRAM, by
// multicast; alone, together, and for a part of the time.
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

/// Reads the energy every few milliseconds, in a thread of its own.
class Sampler {
 public:
  explicit Sampler(const harness::Nvml& nvml) {
    if (!nvml.available()) return;
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this, &nvml] {
      while (!stopping_) {
        const double now = now_s();
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

  /// Mean between two moments. NaN where nothing was read.
  double watts_by_energy(double from, double to) const {
    const Reading *first = nullptr, *last = nullptr;
    for (const Reading& r : energy_) {
      if (r.time < from || r.time > to) continue;
      if (first == nullptr) first = &r;
      last = &r;
    }
    return first != last ? (last->value - first->value) / (last->time - first->time) : NAN;
  }

 private:
  struct Reading {
    double time, value;
  };
  std::atomic<bool> stopping_{false};
  std::vector<Reading> energy_;
  std::thread thread_;
};

/// Where loads come from.
enum class Source { NONE, L2, SHARED, DRAM };

struct Case {
  std::string name;
  int mma_n = 0;
  int sms = 0;  ///< that do anything; 0: all
  int burst = 32, sleep_ns = 0;
  int warpgroups = 2;
  Source source = Source::NONE;
  int stages = 4, pace = 0, cluster = 1;
  bool series = false;  ///< report how the clock goes
};

class PowerBench {
 public:
  explicit PowerBench(Context& context) : context_(context), field_(context, context.scaled(1024 * MiB, 16 * MiB)) {}

  void run(const Case& c) {
    const double duration_s = context_.scaled(1.6, 4e-6);
    Work work = work_of(c);
    const CUtensorMap map = map_of(c);
    if (c.source != Source::NONE) {  // how often does it fit into the time?
      const double trial_s = do_work(context_, work, map, field_).seconds();
      work.repeat = static_cast<int>(std::clamp(duration_s / std::max(trial_s, 1e-7), 1.0, 1e6)) * work.repeat;
    }
    work.mma_ns = static_cast<int64_t>(1e9 * duration_s);
    work.sample_ns = context_.scaled(2'000'000, 1'000);
    std::this_thread::sleep_for(std::chrono::duration<double>(context_.scaled(0.3, 0.0)));
    Sampler sampler(context_.nvml);
    const double start = now_s();
    const WorkResult result = do_work(context_, work, map, field_);
    const double end = now_s();
    sampler.stop();

    const std::string setting = "case=" + c.name;
    Results& out = context_.results;
    // The kernel's settling time; the host's is nearly the same.
    out.add(setting, "power by energy", "W", sampler.watts_by_energy(start + settling(), end));
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

 private:
  double settling() const { return context_.scaled(SETTLING_S, 0.0); }

  CUtensorMap map_of(const Case& c) const {
    return field_.map(c.source == Source::DRAM ? Field::WIDE : Field::FLAT, 128, 64, mma::Swizzle::B128);
  }

  Work work_of(const Case& c) const {
    Work work{.stages = c.stages, .pace = c.pace, .cluster = c.cluster};
    work.mma_n = c.mma_n, work.mma_burst = c.burst, work.mma_sleep_ns = c.sleep_ns, work.mma_warpgroups = c.warpgroups;
    const int all = context_.sms(), ctas = all / c.cluster * c.cluster;
    if (c.sms > 0 && c.sms < all) {
      work.roles.assign(static_cast<size_t>(all), 0);
      for (int i = 0; i < c.sms; ++i) work.roles[static_cast<size_t>(i * all / c.sms)] = STREAMS | MULTIPLIES;
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
    return work;
  }

  Context& context_;
  Field field_;
};

}  // namespace

void run_power(Context& context) {
  PowerBench bench(context);
  const int sms = context.sms();
  bench.run({.name = "waiting"});  // CTAs are there, one warp of each sleeps
  bench.run({.name = "mma256", .mma_n = 256, .series = true});
  if (context.quick) {
    bench.run({.name = "l2_mma128", .mma_n = 128, .source = Source::L2, .stages = 2});
    return;
  }
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
  for (const int stages : {1, 4})
    bench.run({.name = format("dram_stages%d", stages), .source = Source::DRAM, .stages = stages});
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
  }
  bench.run({.name = "mma256_again", .mma_n = 256});
}

}  // namespace calibrate
