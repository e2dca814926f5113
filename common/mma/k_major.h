// How a K-major operand tile lies in shared memory, for each swizzle: what TMA is asked for, and what the descriptor
// says.
//
// A tile is `rows` x `k` BF16 elements (rows along M or N). One row of a TMA box is at most one span of the swizzle
// long (16, 32, 64 or 128 bytes). So the tile is cut along K into slabs of `rows` x span bytes, one box and one TMA
// instruction each, one slab after the other. Inside a slab a row follows the one before at once, so 8 rows take 8
// spans.
#pragma once

#include <cstdint>

#include "common/mma/host_device.h"
#include "common/mma/swizzle.h"

namespace mma {

struct KMajorTile {
  Swizzle swizzle;
  int rows;  ///< along M or N: a multiple of 8
  int k;     ///< elements along K: a multiple of 64, so that every span divides it

  /// The swizzle's span: bytes in a row of a slab.
  MMA_HOST_DEVICE constexpr int span() const { return swizzle_span_bytes(swizzle); }
  /// Elements in a row of a slab: the box is `rows` high and this wide.
  MMA_HOST_DEVICE constexpr int box_cols() const { return span() / 2; }
  /// TMA instructions per tile: 8, 4, 2 or 1 for k = 64.
  MMA_HOST_DEVICE constexpr int slabs() const { return k / box_cols(); }
  /// From one slab to the next.
  MMA_HOST_DEVICE constexpr int slab_bytes() const { return rows * span(); }
  MMA_HOST_DEVICE constexpr int bytes() const { return rows * k * 2; }

  /// SBO: from one group of 8 rows to the next.
  MMA_HOST_DEVICE constexpr uint32_t stride_byte_offset() const { return 8 * span(); }
  /// LBO: from one 16-byte column of K to the next. Ignored in the swizzled layouts, where one MMA stays inside a span.
  MMA_HOST_DEVICE constexpr uint32_t leading_byte_offset() const { return swizzle == Swizzle::None ? slab_bytes() : 0; }
  /// From the tile's first row to row `row`, a multiple of 8.
  MMA_HOST_DEVICE constexpr uint32_t row_bytes(int row) const { return row * span(); }
  /// From the tile's start to the operand of MMA number `kk` along K, 16 elements = 32 bytes each: whole slabs first,
  /// then inside the span (the XOR is applied to the final address, so this is a plain addition).
  MMA_HOST_DEVICE constexpr uint32_t k_bytes(int kk) const {
    return kk * 32 / span() * slab_bytes() + kk * 32 % span();
  }
};

// A tile of 128 x 64, worked out.
static_assert(KMajorTile{Swizzle::None, 128, 64}.slabs() == 8 && KMajorTile{Swizzle::B32, 128, 64}.slabs() == 4 &&
              KMajorTile{Swizzle::B64, 128, 64}.slabs() == 2 && KMajorTile{Swizzle::B128, 128, 64}.slabs() == 1);
static_assert(KMajorTile{Swizzle::B128, 128, 64}.k_bytes(3) == 96);                // inside the one slab
static_assert(KMajorTile{Swizzle::B64, 128, 64}.k_bytes(3) == 128 * 64 + 32);      // second half of the second slab
static_assert(KMajorTile{Swizzle::B32, 128, 64}.k_bytes(3) == 3 * 128 * 32);       // the fourth slab
static_assert(KMajorTile{Swizzle::None, 128, 64}.k_bytes(3) == 3 * 2 * 128 * 16);  // slabs 6 and 7, LBO apart
static_assert(KMajorTile{Swizzle::None, 128, 64}.leading_byte_offset() == 128 * 16);

}  // namespace mma
