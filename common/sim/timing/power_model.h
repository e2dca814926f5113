// Clock and power: what a kernel draws at a clock, and the clock that the GPU's limit leaves it.
#pragma once

#include <cstdint>

#include "timing/constants.h"

namespace sim::timing {

/// What a kernel does in so many cycles, all SMs together.
struct Activity {
  int64_t cycles = 0;
  double flops = 0;        ///< by tensor cores
  int64_t l2_bytes = 0;    ///< read from L2
  int64_t sm_bytes = 0;    ///< received by SMs
  int64_t dram_bytes = 0;  ///< read and written
};

/// base to the power of exponent, in our own arithmetic: libraries differ in the last digit. `base` is from 0.1 to 10.
double power(double base, double exponent);

/// Watts at this clock.
double watts(const Constants& constants, const Activity& activity, double ghz);
/// The highest clock whatever it draws: lower while tensor cores work.
double highest_ghz(const Constants& constants, const Activity& activity);
/// The highest clock, in whole MHz, at which it draws no more than the limit.
double clock_ghz(const Constants& constants, const Activity& activity, double cap);

}  // namespace sim::timing
