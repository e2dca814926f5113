#include "common/mma/k_major.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/mma/smem_descriptor.h"
#include "support.h"

namespace mma {
namespace {

/// A tile of 128 rows and one of 64, 64 elements of K each, worked out by hand.
TEST(KMajorTile, WorkedValues) {
  struct Row {
    Swizzle swizzle;
    int rows, span, box_cols, slabs, slab_bytes, bytes;
    uint32_t stride, leading, row_64, k_bytes[4];
  };
  for (const Row& row : {
           Row{Swizzle::None, 128, 16, 8, 8, 2048, 16'384, 128, 2048, 1024, {0, 4096, 8192, 12'288}},
           Row{Swizzle::B32, 128, 32, 16, 4, 4096, 16'384, 256, 0, 2048, {0, 4096, 8192, 12'288}},
           Row{Swizzle::B64, 128, 64, 32, 2, 8192, 16'384, 512, 0, 4096, {0, 32, 8192, 8224}},
           Row{Swizzle::B128, 128, 128, 64, 1, 16'384, 16'384, 1024, 0, 8192, {0, 32, 64, 96}},
           Row{Swizzle::None, 64, 16, 8, 8, 1024, 8192, 128, 1024, 1024, {0, 2048, 4096, 6144}},
           Row{Swizzle::B32, 64, 32, 16, 4, 2048, 8192, 256, 0, 2048, {0, 2048, 4096, 6144}},
           Row{Swizzle::B64, 64, 64, 32, 2, 4096, 8192, 512, 0, 4096, {0, 32, 4096, 4128}},
           Row{Swizzle::B128, 64, 128, 64, 1, 8192, 8192, 1024, 0, 8192, {0, 32, 64, 96}},
       }) {
    SCOPED_TRACE(testing::Message() << "span " << row.span << ", " << row.rows << " rows");
    const KMajorTile tile{row.swizzle, row.rows, 64};
    EXPECT_EQ(tile.span(), row.span);
    EXPECT_EQ(tile.box_cols(), row.box_cols);
    EXPECT_EQ(tile.slabs(), row.slabs);
    EXPECT_EQ(tile.slab_bytes(), row.slab_bytes);
    EXPECT_EQ(tile.bytes(), row.bytes);
    EXPECT_EQ(tile.stride_byte_offset(), row.stride);
    EXPECT_EQ(tile.leading_byte_offset(), row.leading);
    EXPECT_EQ(tile.row_bytes(0), 0u);
    EXPECT_EQ(tile.row_bytes(64), row.row_64);
    for (int kk = 0; kk < 4; ++kk) EXPECT_EQ(tile.k_bytes(kk), row.k_bytes[kk]) << "step " << kk;
  }
}

/// Fills a tile as TMA would: one box per slab, rows packed, chunks permuted as drawn. Each cell holds its row * K + k.
std::vector<int> as_tma_writes(const KMajorTile& tile, uint32_t start) {
  std::vector<int> memory((start + static_cast<uint32_t>(tile.bytes())) / 2, -1);
  for (int slab = 0; slab < tile.slabs(); ++slab) {
    for (int row = 0; row < tile.rows; ++row) {
      for (int col = 0; col < tile.box_cols(); ++col) {
        const uint32_t linear = start + slab * tile.slab_bytes() + (row * tile.box_cols() + col) * 2;
        memory[drawn_address(tile.swizzle, linear) / 2] = row * tile.k + slab * tile.box_cols() + col;
      }
    }
  }
  return memory;
}

/// Where the tensor core looks for row `row` of an operand and element `k` (0..15) of an MMA, from the fields of its
/// descriptor: the K-major address formulas of the PTX ISA, linear address first, swizzle after.
uint32_t as_mma_reads(uint64_t descriptor, Swizzle swizzle, int row, int k) {
  const uint32_t start = static_cast<uint32_t>(descriptor & 0x3FFF) * 16;
  const uint32_t leading = static_cast<uint32_t>(descriptor >> 16 & 0x3FFF) * 16;
  const uint32_t stride = static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) * 16;
  const uint32_t down = start + static_cast<uint32_t>(row / 8) * stride;
  switch (swizzle) {
    case Swizzle::None: return down + row % 8 * 16 + k % 8 * 2 + static_cast<uint32_t>(k / 8) * leading;
    case Swizzle::B32: return drawn_address(swizzle, down + row % 8 * 32 + k * 2);
    case Swizzle::B64: return drawn_address(swizzle, down + row % 8 * 64 + k * 2);
    case Swizzle::B128: return drawn_address(swizzle, down + row % 8 * 128 + k * 2);
  }
  return 0;
}

/// The reason why all these functions exist: what TMA has written, the MMAs find, element by element.
TEST(KMajorTile, MmaFindsWhatTmaHasWritten) {
  constexpr uint32_t START = 0x1400;  // on the boundary of every pattern
  for (const Swizzle swizzle : SWIZZLES) {
    for (const int rows : {64, 88, 128, 256}) {
      for (const int k : {64, 128}) {
        const KMajorTile tile{swizzle, rows, k};
        const std::vector<int> memory = as_tma_writes(tile, START);
        const uint64_t sm100 =
            SmemDescriptorSm100{START, tile.leading_byte_offset(), tile.stride_byte_offset(), swizzle}.encode();
        const uint64_t sm90 =
            SmemDescriptorSm90{START, tile.leading_byte_offset(), tile.stride_byte_offset(), swizzle}.encode();
        for (int kk = 0; kk < k / 16; ++kk) {
          for (const int first_row : {0, rows / 16 * 8}) {  // a second MMA further down starts row_bytes later
            const uint32_t bytes = tile.k_bytes(kk) + tile.row_bytes(first_row);
            for (int row = first_row; row < rows; ++row) {
              for (int j = 0; j < 16; ++j) {
                for (const uint64_t descriptor : {sm100, sm90}) {
                  const uint32_t address = as_mma_reads(advance(descriptor, bytes), swizzle, row - first_row, j);
                  ASSERT_EQ(memory.at(address / 2), row * k + kk * 16 + j)
                      << "span " << tile.span() << ", " << rows << " rows, step " << kk << ", row " << row << ", " << j;
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mma
