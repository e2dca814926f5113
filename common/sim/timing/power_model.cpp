#include "timing/power_model.h"

namespace sim::timing {

double power(double base, double exponent) {
  // exp(exponent * ln(base)) by series; base is near 1.
  double ln = 0, y = (base - 1) / (base + 1), term = y;
  for (int i = 1; i < 40; i += 2, term *= y * y) ln += 2 * term / i;
  double x = exponent * ln, sum = 1, part = 1;
  for (int i = 1; i < 30; ++i) sum += part *= x / i;
  return sum;
}

double watts(const Constants& c, const Activity& a, double ghz) {
  const double seconds = static_cast<double>(a.cycles) / (ghz * 1e9);
  const double core = a.flops * c.power_flop + static_cast<double>(a.l2_bytes) * c.power_l2_byte +
                      static_cast<double>(a.sm_bytes) * c.power_sm_byte;
  const double dram = static_cast<double>(a.dram_bytes) * c.power_dram_byte;
  // Energy grows with the voltage's square, and the voltage with the clock.
  return c.power_idle + (core * power(ghz / c.power_clock, c.power_exponent) + dram) / seconds;
}

double highest_ghz(const Constants& c, const Activity& a) { return a.flops > 0 ? c.clock_max_mma : c.clock_max; }

}  // namespace sim::timing
