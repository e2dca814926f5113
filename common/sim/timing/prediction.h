// The answer of the timing model: how long a call takes, at which clock, and what limits it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "timing/contention.h"
#include "timing/power_setting.h"

namespace sim::timing {

struct Prediction {
  std::string kernel, gpu;
  std::string power;  ///< the requested setting: cap, burst, none, or a clock
  int sms = 0, launches = 1;
  double ghz = 0, watts = 0;
  double seconds = 0;      ///< from the start of one call to the start of the next
  double power_share = 0;  ///< of the time: what a clock below the highest costs
  double tflops = 0;       ///< from the useful FLOP that the program announced, or else those executed
  double error = 0;        ///< of the model's TFLOPS, compared with measured ones: a mean, not a bound
  PredictedTimes times;
  uint64_t clusters = 0;
  size_t kinds = 0;
  std::set<std::string> uncounted;  ///< operations of the kernel that the figures leave out
};

/// One prediction for each setting. Clusters contend at a few clocks; results between these are interpolated.
/// `log`: of the pass at the first setting's clock.
std::vector<Prediction> predict(std::span<const GridDemands> launches, const Gpu& gpu, const Constants& constants,
                                std::span<const PowerSetting> settings, double useful_flops,
                                ContentionLog* log = nullptr);

/// A few lines of text.
std::string to_text(const Prediction& prediction);
/// One line of JSON.
std::string to_json(const Prediction& prediction);

}  // namespace sim::timing
