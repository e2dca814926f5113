// Tensor memory of one CTA: 128 lanes x 512 columns of 32 bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sim {

struct OrderQueue;

class Tmem {
 public:
  static constexpr int kLanes = 128;
  static constexpr int kColumns = 512;
  static constexpr uint32_t kPoison = 0xFFFF'FFFF;  ///< NaN: uninitialised, or about to be written

  /// The 128 cells of a column. Columns are contiguous: a warp's 32x32b load and a tensor core's update both iterate
  /// over lanes.
  uint32_t* column(int index) { return &cells()[static_cast<size_t>(index) * kLanes]; }

  /// First fit of `columns` (a power of two) columns; -1 if they are not free.
  int allocate(int columns);
  /// False if [first, first + columns) is not exactly one allocation.
  bool release(int first, int columns);
  /// Was it an allocation, none of whose columns has been allocated again since its release?
  bool was_released(int first, int columns) const;
  /// Do all columns of [first, first + count) belong to live allocations?
  bool allocated(int first, int count) const;
  int live_columns() const;
  std::string describe() const;  ///< "columns 0..127"

  bool permit_relinquished = false;

  /// A tcgen05.st that has still to take effect: its cells are poisoned.
  struct Store {
    int quarter, first, count;  ///< of the lanes; columns
    OrderQueue* order;          ///< the warp's: stores take effect in its order
  };
  std::vector<Store> stores;

 private:
  uint32_t* cells();
  struct Range {
    int first, count;
  };
  std::vector<Range> live_, released_;
  std::unique_ptr<uint32_t[]> cells_;  // allocated on first use: most kernels use no tensor memory
};

}  // namespace sim
