#include "timing/prediction.h"

#include <cmath>
#include <cstdio>

#include "common/base/json.h"
#include "common/base/text.h"

namespace sim::timing {
namespace {

constexpr int MOST_PASSES = 4;
constexpr int DIGITS = 6;
constexpr double SETTLED_GHZ = 0.004;  // passes end when the clock moves by no more

std::string format(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// What takes most of the time.
std::string limit(const Prediction& p) {
  const Replayed& r = p.replayed;
  if (r.dram_share > 0.85 && r.dram_share > r.tensor_share) return "DRAM bandwidth";
  if (r.tensor_share > 0.85) return "tensor cores";
  if (r.l2_share > 0.9) return "L2 bandwidth";
  return "latency: tensor cores wait for operands, or for the epilogue";
}

}  // namespace

Prediction predict(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& c, const PowerSetting& power,
                   double useful_flops, ReplayLog* log) {
  using Kind = PowerSetting::Kind;
  Prediction p;
  p.gpu = gpu.key, p.sms = gpu.sm_count;
  p.launches = static_cast<int>(launches.size());
  for (const GridDemands& launch : launches) p.clusters += launch.kind_of.size(), p.kinds += launch.kinds.size();
  const bool fixed = power.kind == Kind::None || power.kind == Kind::Clock;
  p.ghz = power.kind == Kind::Clock ? power.ghz : fixed ? c.clock_max : 0.75 * c.clock_max;
  for (int pass = 0; pass < MOST_PASSES; ++pass) {
    p.replayed = replay(launches, gpu, c, p.ghz, log);
    if (fixed) break;
    const double cap = power.kind == Kind::Burst ? c.power_burst_cap : c.power_cap;
    const double next = clock_ghz(c, p.replayed.activity, cap);
    const bool settled = std::fabs(next - p.ghz) <= SETTLED_GHZ;
    p.ghz = next;
    if (settled) break;
  }
  p.watts = watts(c, p.replayed.activity, p.ghz);
  p.seconds = static_cast<double>(p.replayed.activity.cycles) / (p.ghz * 1e9) + c.launch_gap;
  p.tflops = (useful_flops > 0 ? useful_flops : p.replayed.activity.flops) / p.seconds / 1e12;
  return p;
}

std::string to_text(const Prediction& p) {
  const Replayed& r = p.replayed;
  std::string text = "modelled: " + p.gpu + ", " + std::to_string(p.sms) + " SMs, all " + base::grouped(p.clusters) +
                     " clusters replayed, " + std::to_string(p.kinds) + " executed in full\n";
  text += format("  %s cycles   %.3f GHz at %.0f W   %.1f us   %.1f TFLOPS\n",
                 base::grouped(static_cast<uint64_t>(r.activity.cycles)).c_str(), p.ghz, p.watts, p.seconds * 1e6,
                 p.tflops);
  text += format("  tensor cores %.0f %%   L2 %.2f GB read   DRAM %.3f GB read, %.3f GB written   limited by: %s\n",
                 100 * r.tensor_share, static_cast<double>(r.activity.l2_bytes) / 1e9,
                 static_cast<double>(r.dram_read) / 1e9, static_cast<double>(r.dram_written) / 1e9, limit(p).c_str());
  return text;
}

std::string to_json(const Prediction& p) {
  const Replayed& r = p.replayed;
  const auto gigabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  std::string text;
  base::JsonWriter json(text);
  json.object([&] {
    json.member("kernel", p.kernel);
    json.member("gpu", p.gpu);
    json.member("sms", p.sms);
    json.member("launches", p.launches);
    json.member("clusters", p.clusters);
    json.member("executed", p.kinds);
    json.member("cycles", r.activity.cycles);
    json.member("cluster_cycles", r.cluster_cycles);
    json.member("mhz", p.ghz * 1000, DIGITS);
    json.member("watts", p.watts, DIGITS);
    json.member("us", p.seconds * 1e6, DIGITS);
    json.member("tflops", p.tflops, DIGITS);
    json.member("tensor_share", r.tensor_share, DIGITS);
    json.member("l2_share", r.l2_share, DIGITS);
    json.member("dram_share", r.dram_share, DIGITS);
    json.member("l2_gb", gigabytes(r.activity.l2_bytes));
    json.member("received_gb", gigabytes(r.activity.sm_bytes));
    json.member("dram_read_gb", gigabytes(r.dram_read));
    json.member("dram_written_gb", gigabytes(r.dram_written));
    json.member("limit", limit(p));
  });
  return text;
}

}  // namespace sim::timing
