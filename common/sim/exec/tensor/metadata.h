// Sparsity metadata of mma.sp and wgmma.mma_async.sp: four bits for each two stored elements, in registers of the lanes
// that the selector chooses; and the tiles of sparse operands.
#pragma once

#include <array>

#include "exec/tensor/kernels.h"

namespace sim::tensor {

inline constexpr size_t kMaxNibbles = 16;
/// The nibbles of each of a warp's 16 rows, in the order of k.
using Nibbles = std::array<std::array<uint8_t, kMaxNibbles>, 16>;

/// How the lanes of a group of four, which share the rows g and g + 8, hold their metadata. A row has 4, 8 or 16
/// nibbles (`per_row`), held by one lane, two or all four.
///   elements of 16 and 32 bits   a lane has four nibbles of row g, then those of row g + 8
///   smaller ones                 a lane has eight nibbles of one row: the even lanes of row g, the odd ones of g + 8
struct MetadataLayout {
  bool is_small = false;  ///< elements of 8 and 4 bits
  int per_row = 8;
  int selector = 0;  ///< the lane, or the pair of them
};
/// Register `words` of 32 lanes.
Nibbles read_metadata(const MetadataLayout& layout, const uint32_t* words);

/// Half of a warp's rows of A: `stored`, a tile of eight rows for four lanes each, becomes one of `k` elements of K.
/// Nibbles are those of row `first_row` and the seven behind it. Positions without a stored element are not multiplied.
/// `format` says what a nibble selects. Throws Fault if one selects nothing.
void spread_lanes(Format format, int k, const Nibbles& nibbles, size_t first_row, const LaneTile& stored,
                  DeepLaneTile* out);

/// Columns of B with up to 64 bytes of K: the first 32 of each, and the others. Two tiles for every eight, as
/// pack_quads makes them.
void pack_deep_quads(const Packing& how, const Row* first, const Row* second, int count, DeepQuadTile* out);

/// Whether a tile contains an infinity or a NaN. Valid only if exponents were packed.
bool has_specials(const DeepQuadTile* tiles, int count, int k);

}  // namespace sim::tensor
