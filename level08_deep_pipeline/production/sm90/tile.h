// The tiles that the kernel is compiled for.
#pragma once

namespace production {

/// The tile of a CTA, and the cluster that shares what it loads.
struct TileShape {
  int block_m, block_n;      ///< rows and columns of D per CTA
  int stages;                ///< of the ring
  int cluster_m, cluster_n;  ///< CTAs of a cluster one above the other, which share B, and side by side, which share A
  int group = 8;             ///< rows of cluster tiles that are covered before n advances
  bool cut_last_wave = false;   ///< whether tiles of the last wave may be cut in two
  bool whole_clusters = false;  ///< whether only whole clusters run, as many as are resident, without fallback clusters
  bool split_k = false;         ///< whether K is split into slices, one for each cluster that works on a cluster tile
  bool swap_ab = false;         ///< whether A and B change places: the transpose of D is computed, as B * A^T

  constexpr int cluster() const { return cluster_m * cluster_n; }
  /// The same tile for a cluster of one column: a fallback cluster.
  constexpr TileShape column() const {
    TileShape shape = *this;
    shape.cluster_n = 1;
    return shape;
  }
  /// The same tile with A and B swapped: its rows are columns of D, its columns rows. Rows of a tile come in steps of
  /// 64, columns in steps of 8; swapped, it is the other way round for D.
  constexpr TileShape swapped() const {
    TileShape shape = *this;
    shape.swap_ab = true;
    return shape;
  }
  /// The same tile for whole clusters only.
  constexpr TileShape whole() const {
    TileShape shape = *this;
    shape.whole_clusters = true;
    return shape;
  }
  /// The same tile with K split.
  constexpr TileShape split() const {
    TileShape shape = whole();
    shape.split_k = true;
    return shape;
  }
  /// The same tile with the last wave cut.
  constexpr TileShape cut() const {
    TileShape shape = *this;
    shape.cut_last_wave = true;
    return shape;
  }
};

/// A configuration: what `--config` selects.
struct Tile {
  const char* name;  ///< rows and columns of D, then what distinguishes it from others of that size
  TileShape shape;
  double mma_cost;  ///< a factor on the time of its MMAs for an element of D; fitted, see choice.h
};

inline constexpr Tile TILES[] = {
    {"256x192", TileShape{256, 192, 4, 2, 2, 4}.cut(), 0.916},
    {"256x192-eights", TileShape{256, 192, 4, 2, 4}, 0.924},
    {"256x160", TileShape{256, 160, 4, 2, 4}.cut(), 0.945},
    {"256x144", TileShape{256, 144, 4, 2, 4, 4}.cut(), 0.972},
    {"192x192", TileShape{192, 192, 4, 2, 1}, 0.840},
    {"192x128", TileShape{192, 128, 5, 2, 2, 6}, 0.967},
    {"128x256", TileShape{128, 256, 4, 2, 4}, 0.901},
    {"128x224", TileShape{128, 224, 4, 2, 4}, 0.908},
    {"128x128", TileShape{128, 128, 6, 2, 1}, 1.088},
    {"128x64", TileShape{128, 64, 8, 1, 2}, 1.016},
    {"64x128", TileShape{64, 128, 8, 2, 1}, 1.321},
    {"64x64", TileShape{64, 64, 12, 1, 1}, 1.246},
    {"192x160", TileShape{192, 160, 4, 1, 2}, 0.847},
    {"192x112", TileShape{192, 112, 5, 1, 2}, 0.958},
    {"224x128-swapped", TileShape{128, 224, 4, 2, 4}.swapped(), 0.920},
    {"208x128-swapped", TileShape{128, 208, 5, 2, 4}.swapped(), 0.918},
    {"112x128-swapped", TileShape{128, 112, 7, 1, 2}.swapped(), 0.840},
    {"80x128-swapped", TileShape{128, 80, 8, 1, 2}.swapped(), 1.219},
    {"128x112-2x4", TileShape{128, 112, 6, 2, 4}.whole(), 1.064},
    {"96x128-2x4-swapped", TileShape{128, 96, 7, 4, 2}.whole().swapped(), 0.967},
    {"160x128-4x2-swapped", TileShape{128, 160, 5, 2, 4}.whole().swapped(), 1.041},
    {"64x64-slices", TileShape{64, 64, 12, 2, 1}.split(), 1.087},
    {"96x64-2x4-slices-swapped", TileShape{64, 96, 11, 4, 2}.split().swapped(), 1.419},
    {"128x96-2x4-slices", TileShape{128, 96, 8, 2, 4}.split(), 0.885},
    {"128x96-4x2-slices", TileShape{128, 96, 8, 4, 2}.split(), 0.881},
    {"96x128-4x2-slices-swapped", TileShape{128, 96, 8, 2, 4}.split().swapped(), 0.883},
    {"128x80-2x4-slices", TileShape{128, 80, 8, 2, 4}.split(), 0.975},
};

}  // namespace production
