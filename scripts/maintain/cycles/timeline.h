// What the notes of all CTAs tell: lengths of launches, stages and tiles, and how far CTAs drift apart.
#pragma once

#include <vector>

#include "record.h"

namespace cycles {

/// A set of values in three numbers: the middle one, and those with a tenth of all below and above. NaN without values.
struct Summary {
  double median, low, high;
};
Summary summarise(std::vector<double> values);

/// Of the products that a recorder has seen, without the first, which begins on an idle GPU.
struct Timeline {
  double mhz = 0;            ///< mean clock of an SM
  double period_ns = 0;      ///< from the first CTA of a product to the first of the next: as they follow one another
  double busy_cycles = 0;    ///< from the beginning of the busiest SM's first CTA to the last that it noted
  Summary first_stage{};     ///< cycles from a CTA's beginning to its first load
  Summary stage{}, tile{};   ///< cycles from one to the next on an SM
  Summary spread_stages{};   ///< how far apart CTAs are that issue the same stage, first to last, in stages
  int ctas = 0, stages = 0;  ///< of one product; of its busiest SM
};

/// `begins`, `tiles`, `stages`: the recorder's tables in host memory, for `sms` SMs; `products` have run. Throws
/// std::runtime_error if they cannot be what that many products noted.
Timeline read_timeline(const Recorder& tables, int sms, int products);

}  // namespace cycles
