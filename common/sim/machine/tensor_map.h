// A CUtensorMap as the simulated device stores it. The real content of the 128 bytes is opaque, so this one is ours.
#pragma once

#include <cstdint>

namespace sim {

/// Written by cuTensorMapEncodeTiled (runtime/), read by TMA (exec/async/). All enums hold the driver API's values.
struct TensorMap {
  static constexpr uint32_t MAGIC = 0x54'4D'41'50;  // "TMAP"

  uint64_t address;          ///< global address of element (0, 0, ...), in bytes
  uint8_t data_type;         ///< CUtensorMapDataType
  uint8_t rank;              ///< 1..5
  uint8_t unused;            ///< bit 21 of the second word: some libraries clear it for small tensors
  uint8_t element_bytes;     ///< 1, 2, 4, 8
  uint32_t magic;            ///< MAGIC: anything else is not a tensor map
  uint64_t strides[4];       ///< bytes, dimensions 1..rank-1
  uint32_t dims_minus_1[5];  ///< elements, innermost first; a dimension may be 2^32
  uint16_t box[5];           ///< elements, 1..256
  uint8_t element_strides[5];
  uint8_t interleave;    ///< CUtensorMapInterleave
  uint8_t swizzle;       ///< CUtensorMapSwizzle: 0 none, 1 32B, 2 64B, 3 128B, 4.. atoms
  uint8_t oob_fill;      ///< CUtensorMapFloatOOBfill: 0 zeros, 1 NaN
  uint8_t l2_promotion;  ///< no effect
  uint8_t padding[128 - 8 - 8 - 32 - 20 - 10 - 5 - 4];
};
static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) <= 64);

}  // namespace sim
