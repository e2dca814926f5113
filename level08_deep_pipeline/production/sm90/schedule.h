// Which worker computes which work tile of D, on the host and on the device.
//
// Words
//   cluster tile  a tile for each CTA of a cluster, or for each CTA of several single columns of one: what one worker
//                 computes at a time
//   work tile     what a worker takes at a time: a cluster tile, or in the last wave perhaps half of one
//   worker        a persistent cluster, or as many single columns of one, side by side, as a cluster tile is wide.
//                 Worker w takes the work tiles w, w + workers, w + 2 workers, ...
//   wave          the work tiles that are computed at the same time, one by each worker; the last wave is seldom full
//   N remainder   the last columns of D, too narrow for a cluster tile, or all columns of a small D; single columns of
//                 clusters compute it
#pragma once

#include <algorithm>
#include <limits>

#include "level08_deep_pipeline/production/sm90/tile.h"

namespace production {

/// The work tiles of m x n elements of D and their workers: first the cluster tiles that stay whole, then the halves of
/// those that do not. A half is the upper or lower rows of its cluster tile, one after the other.
struct Schedule {
  int m_tiles, n_tiles;  ///< cluster tiles, down and across D
  int whole;             ///< cluster tiles that are taken whole
  int work_tiles;        ///< whole cluster tiles and halves
  int workers;           ///< worker i % workers takes work tile i
  int width;             ///< columns of tiles in a cluster tile; each has cluster_m tiles

  /// Waves until everything is done; a wave of halves counts half.
  constexpr double waves() const {
    return workers == 0 ? 0.0 : (whole + workers - 1) / workers + (work_tiles > whole ? 0.5 : 0.0);
  }
};

/// The schedule of m x n elements of D in cluster tiles of `width` columns of tiles, for at most `most` >= 1 workers.
/// If fewer workers finish in the same number of waves, it has fewer, which leaves more power for the rest.
constexpr Schedule make_schedule(const TileShape& shape, int m, int n, int width, int most) {
  const int rows = shape.cluster_m * shape.block_m, columns = width * shape.block_n;
  const int m_tiles = (m + rows - 1) / rows;
  const int n_tiles = (n + columns - 1) / columns;
  const int tiles = m_tiles * n_tiles;
  const int rest = tiles % most;
  if (shape.cut_last_wave && 2 * rest <= most && rest > 0)
    return {m_tiles, n_tiles, tiles - rest, tiles + rest, std::min(most, tiles + rest), width};
  const int waves = (tiles - 1) / most + 1;
  return {m_tiles, n_tiles, tiles, tiles, (tiles + waves - 1) / waves, width};
}

/// A product's schedules. Large clusters move the fewest bytes but leave some SMs idle: the SMs of a GPC, within which
/// a cluster has to run, are not always a multiple of the cluster's size. Smaller fallback clusters, single columns of
/// the large ones, run there as the workers that are left over, and compute the N remainder.
struct Plan {
  int main_n;                ///< columns of D of the main part; the N remainder has the others
  Schedule main, remainder;  ///< of cluster tiles as wide as a cluster, and as one tile; without workers if empty
  double waves;              ///< of the slower of the two
  int split_k = 1;           ///< slices of K, where the shape splits it: so many clusters share a cluster tile
};

/// With fewer waves all of D is treated as N remainder, since a secondary launch begins some microseconds later.
inline constexpr int MIN_MAIN_WAVES = 3;
/// From this K on, two CTAs side by side share rows of A; below it, starting a cluster costs more than that saves.
inline constexpr int MIN_SHARED_K = 3072;

/// Whether the 128 bytes of a row in any K block lie in one line of L2; and whether in four sectors, a quarter line
/// each.
constexpr bool in_lines(int k) { return k % 64 == 0; }
constexpr bool in_sectors(int k) { return k % 16 == 0; }
/// Whether loads of A and B limit the speed, so that large clusters, which load the fewest rows, are fastest.
constexpr bool rows_limit(int k) {
  constexpr int MIN_K = 1024;
  return !in_lines(k) && k >= MIN_K;
}

/// The most slices of K that are worth it: more slices have fewer K blocks each, but more sums to add up in sequence.
constexpr int max_split_k(int k_blocks) {
  int slices = 1;
  while (2 * (slices + 1) * (slices + 1) <= k_blocks) ++slices;
  return slices;
}

/// Clusters that are resident at the same time: of large ones fewer than the number of SMs allows, since GPCs differ in
/// size.
constexpr int max_resident_clusters(const TileShape& shape, int num_sms) {
  const int sms = shape.cluster() > 2 ? num_sms * 10 / 11 : num_sms;
  return std::max(1, sms / shape.cluster());
}

/// The plan with the fewest waves for a product with m x n elements of D on so many SMs.
constexpr Plan make_plan(const TileShape& shape, int m, int n, int k, int num_sms) {
  const int most = std::max(1, num_sms / shape.cluster());
  const int most_columns = std::max(1, num_sms / shape.cluster_m);
  const int resident = max_resident_clusters(shape, num_sms);
  if (shape.split_k) {  // a worker has one work tile, in as many slices as are resident at once
    const Schedule main = make_schedule(shape, m, n, shape.cluster_n, std::numeric_limits<int>::max());
    const int k_blocks = (k + 63) / 64, parts = std::clamp(resident / main.work_tiles, 1, max_split_k(k_blocks));
    const int longest = (k_blocks - 1) / parts + 1, slices = (k_blocks - 1) / longest + 1;
    return {n, main, {}, 1.0 * ((main.work_tiles * slices - 1) / resident + 1), slices};
  }
  const auto all_main = [&](int workers) {
    const Schedule main = make_schedule(shape, m, n, shape.cluster_n, workers);
    return Plan{n, main, {}, main.waves()};
  };
  if (shape.whole_clusters) return all_main(resident);
  const Schedule columns = make_schedule(shape, m, n, 1, most_columns);
  const Plan all_remainder = {0, {}, columns, columns.waves()};
  if (shape.cluster() <= 2) {  // pairs are resident on all SMs
    if (shape.cluster_n > 1 && (m <= shape.block_m || k < MIN_SHARED_K))
      return all_remainder;  // one row of tiles: L2 merges their loads of A
    return all_main(most);
  }
  const bool few = all_remainder.waves < MIN_MAIN_WAVES;
  if (few && rows_limit(k)) return all_main(resident);
  const int tiles = (n + shape.block_n - 1) / shape.block_n;
  const int main_n = std::min(n, tiles / shape.cluster_n * shape.cluster_n * shape.block_n);
  if (main_n == 0 || few) return all_remainder;
  if (main_n == n) {  // no remainder
    const Plan whole = all_main(most);
    return whole.waves <= all_remainder.waves ? whole : all_remainder;
  }
  Plan best = all_remainder;
  for (int workers = most; workers >= 1; --workers) {
    const Schedule main = make_schedule(shape, m, main_n, shape.cluster_n, workers);
    const int others = (num_sms - main.workers * shape.cluster()) / shape.cluster_m;  // workers for the remainder
    const Schedule remainder = make_schedule(shape, m, n - main_n, 1, others > 0 ? others : most_columns);
    const double waves = others > 0 ? std::max(main.waves(), remainder.waves()) : main.waves() + remainder.waves();
    if (waves < best.waves || (waves == best.waves && best.main_n == 0)) best = {main_n, main, remainder, waves};
  }
  return best;
}

// [L05] The order of the cluster tiles: `full_group` of them one above the other, then the next n. Neighbours in this
// order share their columns (B), and a group as a whole comes back to the same rows (A) while they are still in L2.
// [L08] Serpentine order: every other group runs from the last n to the first, and so begins with the columns at which
// the group before has ended.
struct TileCoordinates {
  int m_block, n_block;
};
__host__ __device__ constexpr TileCoordinates tile_coordinates(int tile, int m_blocks, int n_blocks, int full_group) {
  const int tiles_per_group = full_group * n_blocks;
  const int first_m_block = tile / tiles_per_group * full_group;
  const int rest = m_blocks - first_m_block;
  const int group_size = rest < full_group ? rest : full_group;  // the last may be smaller
  const int tile_in_group = tile % tiles_per_group;
  const int n_block = tile_in_group / group_size;
  return {first_m_block + tile_in_group % group_size,
          tile / tiles_per_group % 2 != 0 ? n_blocks - 1 - n_block : n_block};
}

}  // namespace production
