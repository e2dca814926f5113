// The choice of a tile for a product: the one with the least estimated time.
//
// Units: a *unit* of time is that of the MMAs of one element of D in one K block, a 32nd of a cycle of an SM. Rates of
// bytes are per cycle and SM. All constants were fitted together, over the products in docs/results/h200_choice.csv and
// h100_choice.csv, at which all tiles were timed side by side; the source of each is the measurement that showed the
// effect (docs/tuning_h200.md).
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "level08_deep_pipeline/production/sm90/schedule.h"
#include "level08_deep_pipeline/production/sm90/tile.h"

namespace production {

struct Costs {
  double row_energy = 22.2;       ///< a row of A or B at the power limit, where its energy lowers the clock of the MMAs
  double row = 44.3;              ///< the 128 bytes of a row of A or B out of L2
  double crowded_row = 102;       ///< the same if more than half of the SMs load and K is long
  double row_across_lines = 105;  ///< the same if it crosses a line of L2, but consists of whole sectors
  double row_across_sectors = 144;  ///< the same if it lies across five sectors
  double l2_bytes = 40e6;           ///< bytes of A and B that stay in L2
  double memory_row = 1.19;         ///< the 128 bytes of a row out of memory, if A and B do not fit in L2
  double first_and_last = 0.954;    ///< K blocks that filling the ring and the last tile's D take
  double between_element = 0.376;   ///< an element of D between two tiles, while it leaves the registers
  double d_element = 1.58;          ///< an element of D on its way to memory, a lower bound for a tile
  double start_four = 22'000;       ///< starting clusters of four beside fallback clusters
  double start_eight = 95'000;      ///< starting clusters of eight beside fallback clusters
  double last_slice = 166'000;      ///< finding the last slice to finish, which stores D without TMA
  double sum_element = 5.26;        ///< an element of the sums of a slice, written to L2 and read again
};
inline constexpr Costs COSTS;

/// Units that a K block of a wave of tiles of `block_m` rows takes: the largest of three. They are the MMAs with, at
/// the power limit, the energy of the rows of A and B; these rows out of L2; and memory, if A and B do not fit in L2.
constexpr double k_block_time(const TileShape& shape, int block_m, double mma_cost, const Plan& plan, int m, int n,
                              int k, int num_sms) {
  const int sharers = plan.main_n > 0 ? shape.cluster_n : 1;
  const int rows = block_m / sharers + shape.block_n / shape.cluster_m;
  const int ctas = shape.cluster_m * (plan.main.workers * plan.main.width * plan.split_k + plan.remainder.workers);
  const bool crowded = 2 * ctas > num_sms && k >= MIN_SHARED_K;
  const double row_time = in_lines(k)     ? crowded ? COSTS.crowded_row : COSTS.row
                          : in_sectors(k) ? COSTS.row_across_lines
                                          : COSTS.row_across_sectors;
  const double mma_time = mma_cost * block_m * shape.block_n;
  double memory = 0;
  if (2.0 * (m + n) * k > COSTS.l2_bytes) {  // a wave needs all of A, and its own columns of B
    const Schedule& schedule = plan.main.workers > 0 ? plan.main : plan.remainder;
    const double columns = 1.0 * n * schedule.workers / schedule.work_tiles;
    memory = COSTS.memory_row * (m + columns) * plan.split_k;
  }
  return std::max({mma_time + COSTS.row_energy * rows, row_time * rows, memory});
}

/// Units that a product takes: its K blocks, the gaps before, between and after tiles, and the start and end of the
/// launches. `m` x `n` is D, whether or not the shape swaps A and B.
constexpr double time(const TileShape& shape, double mma_cost, int m, int n, int k, int num_sms) {
  if (shape.swap_ab) std::swap(m, n);
  const Plan plan = make_plan(shape, m, n, k, num_sms);
  const int most_waves = shape.split_k ? 1 : in_lines(k) ? 2 : 4;  // of whole clusters; with more, others are faster
  if (shape.whole_clusters && shape.cluster() > 1 && (plan.waves > most_waves || shape.cluster() > num_sms))
    return std::numeric_limits<double>::infinity();
  const int whole_waves = static_cast<int>(plan.waves), area = shape.block_m * shape.block_n;
  const int k_blocks = ((k + 63) / 64 + plan.split_k - 1) / plan.split_k;
  const double whole = k_block_time(shape, shape.block_m, mma_cost, plan, m, n, k, num_sms);
  const double half = k_block_time(shape, shape.block_m / 2, mma_cost, plan, m, n, k, num_sms);
  double units = whole_waves * std::max(k_blocks * whole, COSTS.d_element * area);
  if (plan.waves > whole_waves) units += k_blocks * half;
  units += COSTS.first_and_last * (whole_waves > 0 ? whole : half);
  units += COSTS.between_element * area * std::max(0.0, plan.waves - 1);
  if (plan.main_n > 0 && shape.cluster() > 2 && !shape.whole_clusters)
    units += shape.cluster() <= 4 ? COSTS.start_four : COSTS.start_eight;
  if (shape.split_k) units += COSTS.last_slice;
  if (plan.split_k > 1) units += COSTS.sum_element * plan.split_k * area;
  return units;
}

/// The index in TILES of the tile for a product on so many SMs.
constexpr int choose_tile(int m, int n, int k, int num_sms) {
  int chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < static_cast<int>(std::size(TILES)); ++i) {
    const double units = time(TILES[i].shape, TILES[i].mma_cost, m, n, k, num_sms);
    if (units < least) least = units, chosen = i;
  }
  return chosen;
}

}  // namespace production
