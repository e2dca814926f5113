// The box of a tensor that one TMA instruction moves: its geometry in global and in shared memory.
#pragma once

#include <algorithm>
#include <array>

#include "exec/core/decoder.h"
#include "machine/tensor_map.h"

namespace sim {

/// [map, {x, y, ...}], and with .im2col {offset, ...}
struct TensorOperand {
  Address map;
  std::array<int32_t, 5> coordinates{-1, -1, -1, -1, -1};  ///< slots
  std::array<int32_t, 3> offsets{-1, -1, -1};              ///< slots; -1: none
  uint8_t dimensions = 0;                                  ///< of the tensor
  bool is_im2col = false;
  bool takes_rows = false;  ///< tile::gather4, tile::scatter4: the coordinates are {x, y0, y1, y2, y3}

  static TensorOperand decode(Decoder& d, const ptx::Operand& operand);
  /// With .im2col, the last operand holds the offsets in the filter.
  void decode_offsets(Decoder& d, size_t index);
};

struct Box {
  TensorMap map;
  uint64_t map_address = 0;  ///< in global memory; 0: among the parameters, where it cannot change
  uint8_t dimensions = 0;    ///< of the instruction
  bool is_im2col = false, is_store = false;
  std::array<int64_t, 5> coordinate{};
  std::array<int64_t, 3> offset{};  ///< im2col: position in the filter, width first
  std::array<uint32_t, 5> count{};  ///< elements per dimension: ceil(box / element stride)
  /// Bounds of the iteration over the outer dimensions; the second dimension varies fastest. im2col: the bounds are the
  /// same for every load, wherever it starts, and the number of images is unbounded.
  std::array<int64_t, 5> begin{}, end{};
  bool takes_rows = false;                               ///< row i of four is the tensor's row coordinate[1 + i]
  uint32_t inner_bytes = 0;                              ///< of one row of the box in global memory
  uint32_t shared_bytes = 0;                             ///< of one row in shared memory; more if elements are spread
  uint32_t pitch = 0;                                    ///< distance between rows in shared memory
  uint32_t rows = 0;                                     ///< product of the outer counts; im2col: pixels
  uint32_t bytes() const { return inner_bytes * rows; }  ///< what an mbarrier counts
  /// Size of its range of shared memory, in bytes.
  uint32_t footprint() const { return rows * (map.swizzle_mode() == Swizzle::None ? shared_bytes : pitch); }
  /// Offset of its rows in the rows of the tensor, in bytes.
  int64_t start() const { return coordinate[0] * map.bits() / 8; }
  /// Its bytes and its part of the tensor, for traces.
  Footprint outline() const {
    return {.bytes = bytes(),
            .tensor = map.address,
            .coordinates = {coordinate.begin(), coordinate.begin() + (takes_rows ? 5 : map.rank)},
            .extent = {count.begin(), count.begin() + map.rank}};
  }
};

/// The box of a lane's operands. Throws Fault if the tensor map or the coordinates are invalid.
Box make_box(Warp& warp, const TensorOperand& operand, int lane, bool is_store);
/// Called when the operation takes effect. In all schedules except the default one, a map in global memory is read only
/// now, so that a map that was modified since the issue has consequences.
void reread_map(Cluster& cluster, Box& box);

/// The swizzled position of the byte at this shared offset.
uint32_t swizzled(Swizzle mode, uint32_t address);

/// Calls f(row's global address or 0 if the row lies outside, shared offset of the row, first valid byte, end of valid
/// bytes) for every row of the box. Valid bytes are relative to the row's start in the box.
template <class F>
void for_rows(const Box& box, F f) {
  const TensorMap& map = box.map;
  const int64_t start = box.start();
  const int64_t width = (int64_t{map.dims_minus_1[0]} + 1) * map.bits() / 8;
  const int64_t first = std::max<int64_t>(0, -start), last = std::min<int64_t>(box.inner_bytes, width - start);
  std::array<int64_t, 5> at = box.coordinate;
  for (uint32_t row = 0; row < box.rows; ++row) {
    bool inside = true;
    if (box.takes_rows) at[1] = box.coordinate[1 + row];
    int64_t address = static_cast<int64_t>(map.address) + start;
    for (size_t i = 1; i < map.rank; ++i) {
      const int64_t x = at[i] + (i <= box.offset.size() ? box.offset[i - 1] : 0);
      inside &= x >= 0 && x <= int64_t{map.dims_minus_1[i]};
      address += x * static_cast<int64_t>(map.strides[i - 1]);
    }
    f(inside ? static_cast<uint64_t>(address) : 0, row * box.pitch, first, last);
    for (size_t i = 1; i < map.rank; ++i) {
      at[i] += map.element_strides[i];
      if (at[i] < box.end[i]) break;
      at[i] = box.begin[i];
    }
  }
}

/// Copies a row of the box in 16-byte chunks, from `row` in the layout of global memory to its swizzled position at
/// `offset`, or back. The gaps between spread elements keep their contents; elements of six bits in bytes of their own
/// are packed on the way back.
void row_to_shared(Cta& cta, const Box& box, uint32_t offset, const uint8_t* row);
void row_from_shared(const Cta& cta, const Box& box, uint32_t offset, uint8_t* row);

/// The ranges of shared memory that the box occupies at `offset`, and those of global memory inside the tensor. A
/// store's rows end at a multiple of 16 bytes.
std::vector<Range> shared_ranges(const Box& box, uint32_t offset);
std::vector<Range> global_ranges(const Box& box, bool is_store);

}  // namespace sim
