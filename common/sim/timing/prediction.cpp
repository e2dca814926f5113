#include "timing/prediction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/base/json.h"
#include "common/base/text.h"

namespace sim::timing {
namespace {

constexpr int kMostPasses = 3;  // of a limit
constexpr int kDigits = 6;
constexpr double kFirstGuess = 0.7;     // of the highest clock
constexpr double kNear = 0.01;          // of a clock: closer ones share a result
constexpr double kLeastSpacing = 0.03;  // of a clock: between results that are used for extrapolation

bool uses_tensor_cores(const Prediction& p) { return p.times.activity.flops > 0; }

/// The limiting resource.
std::string limit(const Prediction& p) {
  const PredictedTimes& r = p.times;
  if (!uses_tensor_cores(p)) {
    const std::pair<double, const char*> shares[] = {{r.dram_share, "DRAM bandwidth"},
                                                     {r.issue_share, "instructions that SMs can issue"},
                                                     {r.shared_share, "bandwidth of shared memory and L1"},
                                                     {r.lines_share, "cache lines between SMs and L2"},
                                                     {r.l2_share, "L2 bandwidth"}};
    const auto& most = *std::max_element(std::begin(shares), std::end(shares));
    return most.first > 0.8 ? most.second : "latency: warps wait for memory, or for one another";
  }
  if (r.dram_share > 0.85 && r.dram_share > r.tensor_share) return "DRAM bandwidth";
  if (r.tensor_share > 0.85) return "tensor cores";
  if (r.link_share > 0.85) return "the link between the halves of L2";
  if (r.l2_share > 0.9) return "L2 bandwidth";
  return "latency: tensor cores wait for operands, or for the epilogue";
}

std::string listed(const std::set<std::string>& all) {
  std::string text;
  for (const std::string& each : all) text += (text.empty() ? "" : "; ") + each;
  return text;
}

bool multiplies(std::span<const GridDemands> launches) {
  return std::any_of(launches.begin(), launches.end(),
                     [](const GridDemands& each) { return !each.forms.mmas.empty(); });
}

/// The parts of the account that are there, in percent: a line for each group.
std::string account_text(const Prediction& p) {
  std::string text = "  tensor cores' time, in percent:";
  std::string_view group;
  bool is_first = true;
  for (size_t i = 0; i < kParts; ++i) {
    const double percent = 100 * p.times.account.share(static_cast<Part>(i));
    if (percent < 0.05) continue;
    const std::string_view title = kPartNames[i].title;
    const size_t name = title.find(": ") == std::string_view::npos ? 0 : title.find(": ") + 2;
    const bool continues = !std::exchange(is_first, false) && group == title.substr(0, name);
    group = title.substr(0, name);
    text.append(continues ? ", " : "\n    ").append(continues ? "" : group).append(title.substr(name));
    text += base::format(" %.1f", percent);
  }
  if (p.power_share > 0.0005)
    text += base::format("\n    the power limit lowers the clock: %.1f %% of the time", 100 * p.power_share);
  return text + "\n";
}

/// The results that may be added and scaled.
template <class Result, class F>
void each_number(Result& r, F&& f) {
  f(r.activity.cycles), f(r.activity.flops), f(r.activity.l2_bytes), f(r.activity.sm_bytes), f(r.activity.dram_bytes);
  f(r.tensor_share), f(r.l2_share), f(r.link_share), f(r.dram_share), f(r.issue_share), f(r.shared_share),
      f(r.lines_share), f(r.dram_read), f(r.dram_written), f(r.link_bytes), f(r.cluster_cycles);
}

/// Results of the same launches at several clocks, with interpolation between them.
class TimesByClock {
 public:
  TimesByClock(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& c)
      : launches_(launches), gpu_(gpu), c_(c) {}

  using Found = std::pair<double, PredictedTimes>;
  /// The clock at the power limit under constant load, and the results at that clock.
  const Found& sustained() {
    if (!sustained_) sustained_ = within(c_.power_cap);
    return *sustained_;
  }
  /// The same in a burst. It starts from the result under load, so that figures do not depend on the order of requests.
  const Found& burst() {
    sustained();
    if (!burst_) burst_ = within(c_.power_burst_cap);
    return *burst_;
  }

 private:
  using Known = std::map<double, PredictedTimes>;

  /// At a power limit, the clocks of the GPCs differ.
  void contend_at(double ghz) { known_.emplace(ghz, contend(launches_, gpu_, c_, {ghz, c_.gpc_clock_spread})); }

  Found within(double cap) {
    if (known_.empty()) contend_at(kFirstGuess * c_.clock_max);
    const double highest = highest_ghz(c_, known_.begin()->second.activity);
    for (int pass = 0;; ++pass) {
      double ghz = 0;
      // The activity depends on the clock, and the clock on the activity.
      for (double low = 0.3, high = highest; high - low > 1e-4;) {
        ghz = (low + high) / 2;
        (watts(c_, about(ghz).activity, ghz) <= cap ? low : high) = ghz;
      }
      ghz = std::min(std::floor(ghz * 1000 + 0.5) / 1000, highest);
      if (pass == kMostPasses || std::fabs(nearest(ghz)->first - ghz) <= kNear * ghz) return {ghz, about(ghz)};
      contend_at(ghz);
    }
  }

  Known::const_iterator nearest(double ghz, double but = 0) const {
    auto best = known_.end();
    for (auto each = known_.begin(); each != known_.end(); ++each) {
      if (but != 0 && std::fabs(each->first - but) < kLeastSpacing * but) continue;
      if (best == known_.end() || std::fabs(each->first - ghz) < std::fabs(best->first - ghz)) best = each;
    }
    return best;
  }

  /// Linear interpolation between the results below and above, or through the two nearest, or the only result.
  PredictedTimes about(double ghz) const {
    auto one = nearest(ghz), other = nearest(ghz, one->first);
    const auto above = known_.upper_bound(ghz);
    if (above != known_.begin() && above != known_.end()) one = std::prev(above), other = above;
    PredictedTimes result = one->second;
    if (other == known_.end() || one->first == ghz) return result;
    const double weight = (ghz - one->first) / (other->first - one->first);
    std::vector<double> changes;
    each_number(other->second, [&](auto value) { changes.push_back(static_cast<double>(value)); });
    size_t i = 0;
    each_number(one->second, [&](auto value) { changes[i++] -= static_cast<double>(value); });
    i = 0;
    each_number(result, [&](auto& value) {
      value = static_cast<std::decay_t<decltype(value)>>(static_cast<double>(value) + weight * changes[i++]);
    });
    return result;
  }

  std::span<const GridDemands> launches_;
  const Gpu& gpu_;
  const Constants& c_;
  Known known_;
  std::optional<Found> sustained_, burst_;
};

}  // namespace

std::vector<Prediction> predict(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& c,
                                std::span<const PowerSetting> settings, double useful_flops, ContentionLog* log) {
  using Kind = PowerSetting::Kind;
  TimesByClock by_clock(launches, gpu, c);
  std::vector<Prediction> all;
  for (const PowerSetting& power : settings) {
    Prediction& p = all.emplace_back();
    for (const GridDemands& launch : launches) p.uncounted.insert(launch.uncounted.begin(), launch.uncounted.end());
    p.gpu = gpu.key, p.sms = gpu.sm_count, p.power = power.text();
    p.launches = static_cast<int>(launches.size());
    for (const GridDemands& launch : launches) p.clusters += launch.kind_of.size(), p.kinds += launch.kinds.size();
    if (power.kind == Kind::None || power.kind == Kind::Clock) {
      p.ghz = power.kind == Kind::Clock ? power.ghz : multiplies(launches) ? c.clock_max_mma : c.clock_max;
      p.times = contend(launches, gpu, c, {p.ghz, 0}, std::exchange(log, nullptr));
    } else {
      std::tie(p.ghz, p.times) = power.kind == Kind::Burst ? by_clock.burst() : by_clock.sustained();
      // The results at this clock may be interpolated.
      if (ContentionLog* const wanted = std::exchange(log, nullptr))
        contend(launches, gpu, c, {p.ghz, c.gpc_clock_spread}, wanted);
    }
    p.watts = watts(c, p.times.activity, p.ghz);
    p.seconds = static_cast<double>(p.times.activity.cycles) / (p.ghz * 1e9) + c.launch_gap;
    p.tflops = (useful_flops > 0 ? useful_flops : p.times.activity.flops) / p.seconds / 1e12;
    p.times.account.only_useful(useful_flops, p.times.activity.flops);
    p.power_share = 1 - p.ghz / highest_ghz(c, p.times.activity);
    p.error = c.model_error;
  }
  return all;
}

std::string to_text(const Prediction& p) {
  const PredictedTimes& r = p.times;
  std::string text = "modelled: " + p.gpu + ", " + std::to_string(p.sms) + " SMs, all " + base::grouped(p.clusters) +
                     " clusters timed, " + std::to_string(p.kinds) + " executed in full\n";
  text += base::format("  %s cycles   %.3f GHz at %.0f W (power: %s)   %.1f us",
                       base::grouped(static_cast<uint64_t>(r.activity.cycles)).c_str(), p.ghz, p.watts, p.power.c_str(),
                       p.seconds * 1e6);
  if (p.tflops > 0) text += base::format("   %.1f TFLOPS", p.tflops);
  text += uses_tensor_cores(p) ? base::format(" (error of this model: %.0f %%)\n", 100 * p.error)
                               : "   (its error is not known for kernels without wgmma or tcgen05.mma)\n";
  text += uses_tensor_cores(p) ? base::format("  tensor cores %.0f %%", 100 * r.tensor_share)
                               : base::format("  issue %.0f %%   shared memory and L1 %.0f %%", 100 * r.issue_share,
                                              100 * r.shared_share);
  text += base::format("   L2 %.2f GB read   DRAM %.3f GB read, %.3f GB written",
                       static_cast<double>(r.activity.l2_bytes) / 1e9, static_cast<double>(r.dram_read) / 1e9,
                       static_cast<double>(r.dram_written) / 1e9);
  if (!uses_tensor_cores(p))
    text += base::format(" (%.2f TB/s)", static_cast<double>(r.activity.dram_bytes) / p.seconds / 1e12);
  text += "   limited by: " + limit(p) + "\n";
  if (uses_tensor_cores(p)) text += account_text(p);
  if (!p.uncounted.empty()) text += "  not in this figure: " + listed(p.uncounted) + "\n";
  return text;
}

std::string to_json(const Prediction& p) {
  const PredictedTimes& r = p.times;
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
    json.member("power", p.power);
    json.member("error", p.error, kDigits);
    json.member("mhz", p.ghz * 1000, kDigits);
    json.member("watts", p.watts, kDigits);
    json.member("us", p.seconds * 1e6, kDigits);
    json.member("tflops", p.tflops, kDigits);
    json.member("tensor_share", r.tensor_share, kDigits);
    json.member("l2_share", r.l2_share, kDigits);
    json.member("link_share", r.link_share, kDigits);
    json.member("dram_share", r.dram_share, kDigits);
    json.member("l2_gb", gigabytes(r.activity.l2_bytes));
    json.member("link_gb", gigabytes(r.link_bytes));
    json.member("received_gb", gigabytes(r.activity.sm_bytes));
    json.member("dram_read_gb", gigabytes(r.dram_read));
    json.member("dram_written_gb", gigabytes(r.dram_written));
    json.member("issue_share", r.issue_share, kDigits);
    json.member("power_share", p.power_share, kDigits);
    json.object("account", [&] {
      for (size_t i = 0; uses_tensor_cores(p) && i < kParts; ++i)
        json.member(kPartNames[i].key, r.account.share(static_cast<Part>(i)), kDigits);
    });
    json.member("limit", limit(p));
    json.member("not_counted", listed(p.uncounted));
  });
  return text;
}

}  // namespace sim::timing
