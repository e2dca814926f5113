// The kernel behind most experiments. Every CTA streams through memory by TMA, in a ring like those of the levels,
// while its tensor core multiplies what lies in shared memory; each as much as the experiment says.
#pragma once

#include <optional>

#include "calibrate.h"

namespace calibrate {

/// How a CTA walks through memory. A stage of its ring holds boxes of two operands, `slabs` side by side of each; the
/// two begin at the rows that the CTA's tile names.
struct Walk {
  int k_blocks = 1;              ///< stages per tile
  int x_step = 0, row_step = 0;  ///< elements and rows from one stage to the next
  int box_rows = 128, box_cols = 64;
  int slabs = 1;

  __host__ __device__ constexpr int box_bytes() const { return box_rows * box_cols * 2; }
  __host__ __device__ constexpr int boxes() const { return 2 * slabs; }
  __host__ __device__ constexpr int stage_bytes() const { return boxes() * box_bytes(); }
};

enum Role : uint8_t { STREAMS = 1, MULTIPLIES = 2 };

/// What one CTA did.
struct CtaRecord {
  uint32_t sm;
  int64_t begin_ns, end_ns;  ///< of the timed stages, or of the multiplications if there are none
  int64_t begin_cycle, end_cycle;
  int64_t blocks;                       ///< timed stages
  int64_t multiplications, mma_cycles;  ///< 64 columns of K, by one warpgroup or thread
};

/// The two clocks at one moment.
struct ClockSample {
  int64_t nanoseconds, cycle;
};

/// What a launch is to do; one CTA per SM.
struct Work {
  Walk walk;
  std::vector<int2>
      tiles;           ///< first rows of the two operands: CTA c begins with tiles[c], goes on with tiles[ctas + c]
  bool by_sm = false;  ///< c is the number of the CTA's SM instead
  int repeat = 1;      ///< how often the list of tiles is walked
  int stages = 4;
  int pace = 0;                ///< cycles for which a stage is used before it is given back
  int warm_blocks = 8;         ///< first stages that are not timed; at least 1
  int cluster = 1;             ///< CTAs; each loads its share of the boxes, for all of them
  std::vector<uint8_t> roles;  ///< by SM; empty: all do everything
  int mma_n = 0;               ///< columns of a multiplication: 0 (none), 128, 192 or 256
  int mma_warpgroups = 2;      ///< Hopper
  int mma_burst = 32;          ///< multiplications in a row
  int mma_sleep_ns = 0;        ///< after a burst
  int64_t mma_ns = 0;          ///< how long to multiply where nothing is streamed
  int sample_ns = 0;           ///< how often CTA 0 reads the clocks; 0: never
};

struct WorkResult {
  std::vector<CtaRecord> ctas;  ///< of those that did anything
  std::vector<ClockSample> samples;

  double seconds() const;                          ///< from the first beginning to the last end
  double bytes_per_cycle(const Walk& walk) const;  ///< mean per CTA
  double mhz() const;                              ///< mean clock
};

/// Does the work on the context's stream and waits for it. `operands`: what is multiplied.
WorkResult do_work(const Context& context, const Work& work, const CUtensorMap& map, const Field& operands);

}  // namespace calibrate
