// Clock and power: a kernel's power at a clock, and its clock at the GPU's power limit.
#pragma once

#include <cstdint>

#include "timing/constants.h"

namespace sim::timing {

/// Work of a kernel in a number of cycles, all SMs together.
struct Activity {
  int64_t cycles = 0;
  double flops = 0;        ///< by tensor cores
  int64_t l2_bytes = 0;    ///< read from L2
  int64_t sm_bytes = 0;    ///< received by SMs
  int64_t dram_bytes = 0;  ///< read and written
};

/// base to the power of exponent, in arithmetic of our own, since libraries differ in the last digit. `base` is from
/// 0.1 to 10.
double power(double base, double exponent);

/// Watts at this clock.
double watts(const Constants& constants, const Activity& activity, double ghz);
/// The highest clock without a power limit: lower while tensor cores work.
double highest_ghz(const Constants& constants, const Activity& activity);

}  // namespace sim::timing
