// Production, Hopper, on the host: which tile a problem gets, and which CTA computes what of D. Numbers only: the kernel and its
// launches are in kernel_sm90.cuh.
//
// Words
//   patch     a tile for each CTA of a cluster, or for each of a column of one: what is computed at a time in one place
//   item      what a place takes in turn: a patch, or in the last wave perhaps half of one
//   place     where items are worked on: a cluster, or side by side as many columns of one as a patch is wide. Item i is done
//             at place i % places
//   wave      the items that are worked on at the same time, one at each place; the last wave is seldom full
//   main part, strip   the columns of D that are cut in patches of whole clusters; and the other columns, or all of a small D,
//             which go to single columns of clusters
//   slice     a part of K, where K is cut: so many clusters (or CTAs) have the same patch, and add up what they have of it
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

// Options, for example nvcc -DCLUSTER_CTAS=2. The defaults are the level; the README shows what each of the others is worth.
#ifndef CLUSTER_CTAS  // 2: pairs, which share B only; 1: no clusters, each CTA loads everything for itself
#define CLUSTER_CTAS 4
#endif
#ifndef CUT_LAST_WAVE  // 0: tiles are never cut in two
#define CUT_LAST_WAVE 1
#endif
#ifndef NUM_STAGES  // 0: as many as each shape's figures say
#define NUM_STAGES 0
#endif
#ifndef SWIZZLE_GROUP_SIZE  // 0: as each shape's figures say; otherwise rows of patches
#define SWIZZLE_GROUP_SIZE 0
#endif
static_assert(CLUSTER_CTAS == 1 || CLUSTER_CTAS == 2 || CLUSTER_CTAS == 4, "CLUSTER_CTAS is 1, 2 or 4");

namespace production {

// --------------------------------------------------------------------------------------------------------- tile shapes

/// What the kernel is compiled for: the tile of a CTA, and the cluster that shares what it loads.
struct TileShape {
  int block_m, block_n;      ///< rows and columns of D per CTA
  int stages;                ///< of the ring
  int cluster_m, cluster_n;  ///< CTAs of a cluster one above the other, which share B, and side by side, which share A
  int group;                 ///< rows of patches that are covered before n advances
  bool cut_last_wave;        ///< whether tiles of the last wave may be cut in two
  bool whole = false;        ///< whether only whole clusters work on D, as many as find room, and nothing beside them
  bool cut_k = false;        ///< and whether K is cut in slices, one for each cluster that a patch gets
  bool in_turns = false;     ///< whether two consumers work in turns, on a tile each
  bool swap_ab = false;      ///< whether A and B change places: the transpose of D is computed, as B * A^T

  constexpr int cluster() const { return cluster_m * cluster_n; }
  /// The same tile for a cluster of one column: for SMs and for columns of D that are left over.
  constexpr TileShape column() const {
    TileShape shape = *this;
    shape.cluster_n = 1;
    return shape;
  }
  /// The same tile with A and B swapped: its rows are columns of D, its columns rows.
  constexpr TileShape swapped() const {
    TileShape shape = *this;
    shape.swap_ab = true;
    return shape;
  }
  /// The same tile with a consumer for every other one, so that one's epilogue takes no time from the other's MMAs.
  constexpr TileShape turns() const {
    TileShape shape = *this;
    shape.in_turns = true;
    return shape;
  }
  /// The same tile for whole clusters only.
  constexpr TileShape alone() const {
    TileShape shape = *this;
    shape.whole = true;
    return shape;
  }
  /// The same tile with K cut in slices.
  constexpr TileShape sliced() const {
    TileShape shape = *this;
    shape.whole = shape.cut_k = true;
    return shape;
  }
};

/// Fewest bytes per product.
inline constexpr TileShape TALL = {.block_m = 256,
                                   .block_n = 192,
                                   .stages = NUM_STAGES ? NUM_STAGES : 4,
                                   .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                   .cluster_n = CLUSTER_CTAS > 2 ? 2 : 1,
                                   .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 4,
                                   .cut_last_wave = CUT_LAST_WAVE};
/// The same for eight CTAs, which load a quarter fewer rows, where as many of these clusters as there is room for are all at work.
inline constexpr TileShape BROAD = {.block_m = 256,
                                    .block_n = 192,
                                    .stages = NUM_STAGES ? NUM_STAGES : 4,
                                    .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                    .cluster_n = CLUSTER_CTAS > 2 ? 4 : 1,
                                    .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                    .cut_last_wave = false};
/// Three bands of 64 rows, a consumer for each: what 256 rows cut badly, 192 may fit. Square, so of few bytes for its size.
inline constexpr TileShape SQUARE = {.block_m = 192,
                                     .block_n = 192,
                                     .stages = NUM_STAGES ? NUM_STAGES : 4,
                                     .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                     .cluster_n = 1,
                                     .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                     .cut_last_wave = false};
/// Narrower, for what is a little more than 128 or 256 rows of D.
inline constexpr TileShape HIGH = {.block_m = 192,
                                   .block_n = 128,
                                   .stages = NUM_STAGES ? NUM_STAGES : 5,
                                   .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                   .cluster_n = CLUSTER_CTAS > 2 ? 2 : 1,
                                   .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 6,
                                   .cut_last_wave = false};
/// Fits power-of-two sizes without a ragged last wave, patches of eight tiles too.
inline constexpr TileShape WIDE = {.block_m = 128,
                                   .block_n = 256,
                                   .stages = NUM_STAGES ? NUM_STAGES : 4,
                                   .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                   .cluster_n = CLUSTER_CTAS > 2 ? 4 : 1,
                                   .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                   .cut_last_wave = false};
/// A little narrower: for sizes that are no power of two, and rows of A that few clusters are to load.
inline constexpr TileShape ODD = {.block_m = 128,
                                  .block_n = 224,
                                  .stages = NUM_STAGES ? NUM_STAGES : 4,
                                  .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                  .cluster_n = CLUSTER_CTAS > 2 ? 4 : 1,
                                  .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                  .cut_last_wave = false};
/// Between TALL and SLIM, for sizes that neither of them fits.
inline constexpr TileShape MIDDLE = {.block_m = 256,
                                     .block_n = 160,
                                     .stages = NUM_STAGES ? NUM_STAGES : 4,
                                     .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                     .cluster_n = CLUSTER_CTAS > 2 ? 4 : 1,
                                     .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                     .cut_last_wave = CUT_LAST_WAVE};
/// Narrower still; clusters of eight load the fewest rows, which counts where these lie across two lines of L2.
inline constexpr TileShape SLIM = {.block_m = 256,
                                   .block_n = 144,
                                   .stages = NUM_STAGES ? NUM_STAGES : 4,
                                   .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                   .cluster_n = CLUSTER_CTAS > 2 ? 4 : 1,
                                   .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 4,
                                   .cut_last_wave = CUT_LAST_WAVE};
/// Many tiles where the others would leave SMs without one.
inline constexpr TileShape SMALL = {.block_m = 128,
                                    .block_n = 128,
                                    .stages = NUM_STAGES ? NUM_STAGES : 6,
                                    .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                    .cluster_n = 1,
                                    .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                    .cut_last_wave = false};
/// Still more of them.
inline constexpr TileShape NARROW = {.block_m = 128,
                                     .block_n = 64,
                                     .stages = 8,
                                     .cluster_m = 1,
                                     .cluster_n = CLUSTER_CTAS > 1 ? 2 : 1,
                                     .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                     .cut_last_wave = false};
/// For so few rows of A that all CTAs read the same ones: L2 sends them to many at a time, as long as they are not multicast. So
/// pairs share B, and the tile of a CTA is one band high.
inline constexpr TileShape FLAT = {.block_m = 64,
                                   .block_n = 128,
                                   .stages = 8,
                                   .cluster_m = CLUSTER_CTAS > 1 ? 2 : 1,
                                   .cluster_n = 1,
                                   .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                   .cut_last_wave = false};
/// For fewer rows still, one band at most: no rows to share, and a tile for every SM. And where tiles are few and K is long: what
/// is not multicast is merged.
inline constexpr TileShape TINY = {.block_m = 64,
                                   .block_n = 64,
                                   .stages = 12,
                                   .cluster_m = 1,
                                   .cluster_n = 1,
                                   .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
                                   .cut_last_wave = false};
/// The shapes above are the ideas. What is left is to fit: a D of any size once or twice into 132 SMs. Single CTAs, pairs and
/// clusters in more widths: with a `cluster_n` of two or four they share rows of A, with a `cluster_m` of that rows of B.
constexpr TileShape fitting(int block_m, int block_n, int stages, int cluster_m, int cluster_n) {
  cluster_m = std::min(cluster_m, CLUSTER_CTAS);
  return {.block_m = block_m,
          .block_n = block_n,
          .stages = stages,
          .cluster_m = cluster_m,
          .cluster_n = std::min(cluster_n, CLUSTER_CTAS > 2 ? 4 : std::max(1, CLUSTER_CTAS / cluster_m)),
          .group = SWIZZLE_GROUP_SIZE ? SWIZZLE_GROUP_SIZE : 8,
          .cut_last_wave = false};
}
/// A tile for each of two consumers, in turns: where K is short, what it takes to write one D is as long as the MMAs of another.
inline constexpr TileShape BUSY = fitting(128, 160, 5, 2, 1).turns();
/// Small tiles in clusters of eight, which load half the rows of pairs: where a D of one wave has rows that lie across two lines of
/// L2, or a long K.
inline constexpr TileShape LEAN = fitting(128, 112, 6, 2, 4).alone();
inline constexpr TileShape LEAN_HIGH = fitting(192, 96, 5, 4, 2).alone();
inline constexpr TileShape LEAN_SMALL = fitting(64, 96, 10, 4, 2).alone();
/// Where K is long and so few tiles that SMs would have none: K is cut in slices, of which each CTA, pair or cluster has one. (Or
/// in one, where these tiles are just as many as there are SMs.)
inline constexpr TileShape CUT_TINY = fitting(64, 64, 12, 2, 1).sliced();
inline constexpr TileShape CUT_ODD = fitting(128, 160, 6, 1, 1).sliced();
inline constexpr TileShape CUT_LEAN = fitting(128, 96, 8, 2, 4).sliced();
/// Tiles come in steps of 64 rows, but in steps of 8 columns. With A and B swapped it is the other way round, which fits a few
/// hundred rows better: three times 192, twice 224 or 160.
inline constexpr TileShape MIDDLE_SWAPPED = MIDDLE.swapped();
inline constexpr TileShape SQUARE_SWAPPED = SQUARE.swapped();
inline constexpr TileShape ODD_SWAPPED = ODD.swapped();
#undef NUM_STAGES  // from here on these are members of the kernel's Config
#undef SWIZZLE_GROUP_SIZE

// ------------------------------------------------------------------------------------------------------------ schedule

/// Items of m x n elements of D and the places that take them: first the patches that stay whole, then the halves of those
/// that do not. A half is the upper or lower rows of its patch, one after the other.
struct Schedule {
  int m_blocks, n_blocks;  ///< patches, down and across D
  int whole;               ///< patches that are taken whole
  int items;               ///< whole patches and halves
  int places;              ///< item i is done at place i % places
  int patch_n;             ///< tiles of a patch side by side; cluster_m of them stand one above the other

  /// Until everything is done; a wave of halves counts half.
  constexpr double waves() const {
    return places == 0 ? 0.0 : (whole + places - 1) / places + (items > whole ? 0.5 : 0.0);
  }
};

/// The schedule of m x n elements of D in patches `patch_n` tiles wide, at no more than `most` >= 1 places. If all of these
/// need as many waves as a few less, the few stay dark, which leaves their power to the others.
constexpr Schedule make_schedule(const TileShape& shape, int m, int n, int patch_n, int most) {
  const int patch_rows = shape.cluster_m * shape.block_m, patch_cols = patch_n * shape.block_n;
  const int m_blocks = (m + patch_rows - 1) / patch_rows;
  const int n_blocks = (n + patch_cols - 1) / patch_cols;
  const int patches = m_blocks * n_blocks;
  const int rest = patches % most;
  if (shape.cut_last_wave && 2 * rest <= most && rest > 0)
    return {m_blocks, n_blocks, patches - rest, patches + rest, std::min(most, patches + rest), patch_n};
  const int waves = (patches - 1) / most + 1;
  return {m_blocks, n_blocks, patches, patches, (patches + waves - 1) / waves, patch_n};
}

// ---------------------------------------------------------------------------------------------------------------- plan

/// Who computes what of D. Large clusters move the fewest bytes, and leave SMs over: those of a GPC (a group of SMs, which a
/// cluster cannot leave) are not always a multiple of that. So pairs take some places, one for each column of a patch.
/// And where a last column of tiles is too narrow for a patch, it is a strip, a problem of its own for pairs.
struct Plan {
  int main_n;            ///< columns of D of the main part; the strip has the others
  Schedule main, strip;  ///< of patches as wide as a cluster, and as one tile. No places: there is nothing
  double waves;          ///< of the slower of the two
  int slices = 1;        ///< of K, where the shape cuts it: so many clusters have the same patch
};

/// With fewer waves everything is strip: what runs beside other launches begins some microseconds later.
inline constexpr int MIN_PATCH_WAVES = 3;
/// Of K, where a tile is so small that it waits for its rows of A: from here on pairs share them. Before, what a cluster takes to
/// start is more than that.
inline constexpr int MIN_SHARED_K = 3072;
/// Whether 128 bytes of a row lie in one line of L2, wherever in K they begin; and whether in four sectors, a quarter line each.
constexpr bool in_lines(int k) { return k % 64 == 0; }
constexpr bool in_sectors(int k) { return k % 16 == 0; }
/// Whether rows of A and B are what takes time, so that those who load the fewest of them are the fastest.
constexpr bool rows_count(int k) {
  constexpr int MIN_K = 1024;
  return !in_lines(k) && k >= MIN_K;
}

/// Of K: no more than so many, since each is to be added up, one after the other, while the others have fewer K blocks.
constexpr int most_slices(int k_blocks) {
  int slices = 1;
  while (2 * (slices + 1) * (slices + 1) <= k_blocks) ++slices;
  return slices;
}

/// Clusters that find room at the same time: of large ones a few less than there are SMs for, since some GPCs are no multiple.
constexpr int room_for(const TileShape& shape, int num_sms) {
  const int sms = shape.cluster() > 2 ? num_sms * 10 / 11 : num_sms;
  return std::max(1, sms / shape.cluster());
}

/// The plan with the fewest waves for a product with m x n elements of D on so many SMs.
constexpr Plan make_plan(const TileShape& shape, int m, int n, int k, int num_sms) {
  const int most = std::max(1, num_sms / shape.cluster());
  const int most_columns = std::max(1, num_sms / shape.cluster_m);
  const int room = room_for(shape, num_sms);
  if (shape.cut_k) {  // one item each, and as many slices as find room; with more items than places, others come later
    const Schedule main = make_schedule(shape, m, n, shape.cluster_n, std::numeric_limits<int>::max());
    const int k_blocks = (k + 63) / 64, parts = std::clamp(room / main.items, 1, most_slices(k_blocks));
    const int longest = (k_blocks - 1) / parts + 1, slices = (k_blocks - 1) / longest + 1;
    return {n, main, {}, 1.0 * ((main.items * slices - 1) / room + 1), slices};
  }
  const auto all_main = [&](int places) {
    const Schedule main = make_schedule(shape, m, n, shape.cluster_n, places);
    return Plan{n, main, {}, main.waves()};
  };
  if (shape.whole) return all_main(room);
  const Schedule all_strip = make_schedule(shape, m, n, 1, most_columns);
  const Plan as_strip = {0, {}, all_strip, all_strip.waves()};
  if (shape.cluster() <= 2) {  // no SMs are left over: pairs find room everywhere
    if (shape.cluster_n > 1 && (m <= shape.block_m || k < MIN_SHARED_K))
      return as_strip;  // one row of tiles: L2 merges
    return all_main(most);
  }
  const bool few = all_strip.waves() < MIN_PATCH_WAVES;
  if (few && rows_count(k)) return all_main(room);
  const int tiles = (n + shape.block_n - 1) / shape.block_n;
  const int main_n = std::min(n, tiles / shape.cluster_n * shape.cluster_n * shape.block_n);
  if (main_n == 0 || few) return as_strip;
  if (main_n == n) {  // no strip
    const Plan whole = all_main(most);
    return whole.waves <= as_strip.waves ? whole : as_strip;
  }
  Plan best = as_strip;
  for (int places = most; places >= 1; --places) {
    const Schedule main = make_schedule(shape, m, main_n, shape.cluster_n, places);
    const int others = (num_sms - main.places * shape.cluster()) / shape.cluster_m;  // for the strip
    const Schedule strip = make_schedule(shape, m, n - main_n, 1, others > 0 ? others : most_columns);
    const double waves = others > 0 ? std::max(main.waves(), strip.waves()) : main.waves() + strip.waves();
    if (waves < best.waves || (waves == best.waves && best.main_n == 0)) best = {main_n, main, strip, waves};
  }
  return best;
}

// -------------------------------------------------------------------------------------------------------------- choice

/// Time of a K block of a wave of tiles of `block_m` rows, in that of the MMAs of one element of D, which is a 32nd of a cycle. At
/// the power limit time is energy: that of the MMAs, and that of the rows of A and B which come through L2. Or these rows take
/// longer than both: longer if more than half of the SMs ask for them, unless K is so short that most of it is in the rings at
/// once, and a little less if none are multicast, since L2 merges some then; longest if their 128 bytes lie across two lines, and
/// by half longer still across five sectors. Or what arrives at an SM does, with all that is multicast or merged; or eight CTAs
/// that wait for one another. Or memory, if A and B do not fit in L2, which must be asked by all SMs to give all it has, and needs
/// some of the MMAs' power. Measured on an H200 and an H100, as is what the MMAs of each shape cost beside TALL's.
constexpr double k_block_time(const TileShape& shape, int block_m, double mma_cost, const Plan& plan, int m, int n,
                              int k, int num_sms) {
  constexpr int ROW_ENERGY = 20, ARRIVAL_TIME = 30;                         // 137 bytes a cycle
  constexpr double TURN_TIME = 6500;                                        // 200 cycles
  constexpr double L2_BYTES = 40e6, MEMORY_TIME = 2, SM_MEMORY_TIME = 190;  // 2,048 bytes a cycle, 22 of them for an SM
  const int sharers = plan.main_n > 0 ? shape.cluster_n : 1;
  const bool short_k = k < MIN_SHARED_K;
  // One row of tiles, or of FLAT's pairs: L2 merges what all ask for, unless it lies across lines.
  const bool one_row = in_lines(k) && m <= std::max(shape.block_m, 128);
  const int rows = (one_row ? 0 : block_m / sharers) + shape.block_n / shape.cluster_m;
  const int ctas = shape.cluster_m * (plan.main.places * plan.main.patch_n * plan.slices + plan.strip.places);
  const bool multicasts = shape.cluster() > 1, crowded = 2 * ctas > num_sms && !short_k;
  const double crowded_time = multicasts ? 105 : shape.block_m > 64 ? 95 : 80;      // 39 bytes a cycle, 43, 51
  const double across_time = (multicasts ? 175 : 155) / (in_sectors(k) ? 1.5 : 1);  // 23, 26
  const double row_time = !in_lines(k) ? across_time : crowded ? crowded_time : 60;
  const double mma_time = mma_cost * block_m * shape.block_n;
  const double arrivals = ARRIVAL_TIME * (std::min(block_m, m) + shape.block_n);
  const double turn = shape.cluster() > 4 ? TURN_TIME : 0;
  double memory = 0;
  if (2.0 * (m + n) * k > L2_BYTES) {  // a wave needs A, and columns of B as far as it goes
    const Schedule& schedule = plan.main.places > 0 ? plan.main : plan.strip;
    const double columns = 1.0 * n * schedule.places / schedule.items;
    memory = std::max(MEMORY_TIME, SM_MEMORY_TIME / ctas) * (m + columns) * plan.slices + mma_time / 10;
  }
  return std::max({mma_time + ROW_ENERGY * rows, row_time * rows, arrivals, turn, memory});
}

/// Of a whole product. Filling the ring and storing the last D take as long as a few K blocks more. Between two tiles the MMAs
/// wait until D has left the registers; those of consumers in turns do not. And if there are only a few K blocks, D is what
/// takes time: 46 bytes a cycle, 12 if it leaves half by half. Clusters of four, which others run beside, begin two
/// microseconds later; clusters of eight three if they are alone, and otherwise four. Slices have fewer K blocks each; but no
/// TMA stores D for them, the last of them has to be known, and has the sums of all to read, at 40 bytes a cycle. `m` x `n` is
/// D, whatever the shape swaps.
constexpr double time(const TileShape& shape, double mma_cost, int m, int n, int k, int num_sms) {
  constexpr double FIRST_AND_LAST = 2.5, BETWEEN_TIME = 1.03, D_TIME = 1.4, TURNS_D_TIME = 5.4, LAST_TIME = 180'000,
                   SUM_TIME = 3.2;
  if (shape.swap_ab) std::swap(m, n);
  const Plan plan = make_plan(shape, m, n, k, num_sms);
  const int most_waves = shape.cut_k ? 1 : in_lines(k) ? 2 : 4;  // beyond, others are faster
  if (shape.whole && shape.cluster() > 1 && (plan.waves > most_waves || shape.cluster() > num_sms))
    return std::numeric_limits<double>::infinity();
  const double start_time = shape.cluster() <= 4 ? 100'000 : shape.whole ? 150'000 : 200'000;
  const int whole_waves = static_cast<int>(plan.waves), area = shape.block_m * shape.block_n;
  const int k_blocks = ((k + 63) / 64 + plan.slices - 1) / plan.slices;
  const double whole = k_block_time(shape, shape.block_m, mma_cost, plan, m, n, k, num_sms);
  const double half = k_block_time(shape, shape.block_m / 2, mma_cost, plan, m, n, k, num_sms);
  const double between = shape.in_turns ? 0 : BETWEEN_TIME * area * std::max(0.0, plan.waves - 1);
  const double d_time = (shape.in_turns ? TURNS_D_TIME : D_TIME) * area;
  return whole_waves * std::max(k_blocks * whole, d_time) + (plan.waves > whole_waves ? k_blocks * half : 0) +
         FIRST_AND_LAST * (whole_waves > 0 ? whole : half) + between +
         (plan.main_n > 0 && shape.cluster() > 2 ? start_time : 0) + (shape.cut_k ? LAST_TIME : 0) +
         (plan.slices > 1 ? SUM_TIME * plan.slices * area : 0);
}

/// When a tile is asked at all.
enum class When {
  ALWAYS,
  FLAT,  ///< D is at least twice as wide as it is high: of two small tiles, the one that does not multicast what most want
  NOT_FLAT,  ///< the other one
  TINY,  ///< up to 64 rows, a K that is not short, or an SM for each tile: elsewhere it takes longer than `time` says
};

/// A configuration of the level.
struct Tile {
  const char* name;  ///< rows and columns of D; then CTAs of a cluster, down and across D, where large ones work alone
  TileShape shape;
  double mma_cost;  ///< what its MMAs cost beside those of the first, for each element of D
  When when = When::ALWAYS;
};
inline constexpr Tile TILES[] = {
    {"256x192", TALL, 1.005},
    {"256x192-eights", BROAD, 1.000},
    {"256x160", MIDDLE, 1.035},
    {"256x144", SLIM, 1.055},
    {"192x192", SQUARE, 0.965},
    {"192x128", HIGH, 1.070},
    {"128x256", WIDE, 1.015},
    {"128x224", ODD, 1.000},
    {"128x128", SMALL, 0.980},
    {"128x64", NARROW, 0.980, When::NOT_FLAT},
    {"64x128", FLAT, 1.050, When::FLAT},
    {"64x64", TINY, 1.050, When::TINY},
    {"192x160", fitting(192, 160, 4, 1, 2), 0.950},
    {"192x112", fitting(192, 112, 5, 1, 2), 1.020},
    {"128x80", fitting(128, 80, 8, 1, 2), 1.050},
    {"160x256-swapped", MIDDLE_SWAPPED, 1.045},
    {"192x192-swapped", SQUARE_SWAPPED, 0.965},
    {"224x128-swapped", ODD_SWAPPED, 1.020},
    {"208x128-swapped", fitting(128, 208, 5, 2, 4).swapped(), 1.020},
    {"112x128-swapped", fitting(128, 112, 7, 1, 2).swapped(), 0.915},
    {"80x128-swapped", fitting(128, 80, 8, 1, 2).swapped(), 1.040},
    {"128x160-turns", BUSY, 0.930},
    {"128x176-turns", fitting(128, 176, 4, 2, 1).turns(), 1.010},
    {"128x192-eights-turns", fitting(128, 192, 4, 2, 4).turns(), 1.000},
    {"160x128-turns-swapped", BUSY.swapped(), 0.930},
    {"192x128-turns-swapped", fitting(128, 192, 4, 2, 1).turns().swapped(), 0.990},
    {"192x128-eights-turns-swapped", fitting(128, 192, 4, 2, 4).turns().swapped(), 1.020},
    {"128x112-2x4", LEAN, 1.050},
    {"192x96-4x2", LEAN_HIGH, 1.050},
    {"64x96-4x2", LEAN_SMALL, 1.650},
    {"96x128-2x4-swapped", fitting(128, 96, 7, 4, 2).alone().swapped(), 1.070},
    {"160x128-4x2-swapped", fitting(128, 160, 5, 2, 4).alone().swapped(), 1.040},
    {"128x160-slices", CUT_ODD, 1.090},
    {"64x64-slices", CUT_TINY, 1.040},
    {"160x64-1x4-slices-swapped", fitting(64, 160, 8, 4, 1).sliced().swapped(), 1.040},
    {"96x64-2x4-slices-swapped", fitting(64, 96, 11, 4, 2).sliced().swapped(), 1.040},
    {"128x96-2x4-slices", CUT_LEAN, 0.860},
    {"128x96-4x2-slices", fitting(128, 96, 8, 4, 2).sliced(), 0.950},
    {"96x128-4x2-slices-swapped", CUT_LEAN.swapped(), 0.960},
    {"128x80-2x4-slices", fitting(128, 80, 8, 2, 4).sliced(), 0.960},
    {"80x128-4x2-slices-swapped", fitting(128, 80, 8, 2, 4).sliced().swapped(), 0.980},
    {"64x128-4x2-slices-swapped", fitting(128, 64, 9, 2, 4).sliced().swapped(), 1.040},
};

/// Which of TILES a product gets on so many SMs.
constexpr int choose_tile(int m, int n, int k, int num_sms) {
  constexpr int MIN_TINY_K = 1024;
  const auto in_bands = [](int rows) { return (rows + TINY.block_m - 1) / TINY.block_m; };
  const bool flat = 2 * m <= n;
  const bool tiny = m <= TINY.block_m || (m > 128 && (k >= MIN_TINY_K || in_bands(m) * in_bands(n) <= num_sms));
  int chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < static_cast<int>(std::size(TILES)); ++i) {
    const auto& [name, shape, mma_cost, when] = TILES[i];
    if ((when == When::FLAT && !flat) || (when == When::NOT_FLAT && flat) || (when == When::TINY && !tiny)) continue;
    const double takes = time(shape, mma_cost, m, n, k, num_sms);
    if (takes < least) least = takes, chosen = i;
  }
  return chosen;
}

}  // namespace production
