// A CUtensorMap as the simulated device stores it. NVIDIA does not document the 128 bytes; this layout is our own.
#pragma once

#include <array>
#include <cstdint>

namespace sim {

/// CUtensorMapSwizzle: how 16-byte chunks (with atoms: larger ones) are permuted in shared memory.
enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128, Bytes128Atom32, Bytes128Atom32Flip8, Bytes128Atom64 };

/// CUtensorMapDataType. Elements of the last three are packed in global memory, by sixteen. In shared memory, `Four`
/// stays packed; with the others, each sixteen elements begin at a multiple of 16 bytes.
enum class TensorDataType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  Four,        ///< 16U4_ALIGN8B
  FourSpread,  ///< 16U4_ALIGN16B
  SixSpread,   ///< 16U6_ALIGN16B
};

/// Written by cuTensorMapEncodeTiled (runtime/), read by TMA (exec/async/) and edited by tensormap.replace, which may
/// also start from 128 zero bytes. Enums are bytes with the driver API's values.
struct TensorMap {
  static constexpr uint32_t kMagic = 0x54'4D'41'50;  // "TMAP"

  uint64_t address;          ///< global address of element (0, 0, ...), in bytes
  uint8_t data_type;         ///< TensorDataType
  uint8_t rank;              ///< 1..5
  uint8_t unused;            ///< bit 21 of the second word: some libraries clear it for small tensors
  uint8_t atomicity;         ///< of 128-byte swizzles, as tensormap.replace numbers it: 16, 32, 32 with flip, 64 bytes
  uint32_t magic;            ///< kMagic in every valid map
  uint64_t strides[4];       ///< bytes, dimensions 1..rank-1
  uint32_t dims_minus_1[5];  ///< elements, innermost first; a dimension may be 2^32
  uint16_t box[5];           ///< elements, 1..256
  uint8_t element_strides[5];
  uint8_t interleave;    ///< CUtensorMapInterleave: 0 none
  uint8_t swizzle;       ///< Swizzle
  uint8_t oob_fill;      ///< CUtensorMapFloatOOBfill: 0 zeros, 1 NaN
  uint8_t l2_promotion;  ///< CUtensorMapL2promotion: 0 none, then 64, 128, 256 bytes; only the timing model uses it
  /// Of an im2col map: dimensions are channels, up to three spatial ones (width first), images. box[0] is the number of
  /// channels per pixel. In each spatial dimension, the filter's base goes from `lower` to the last position plus
  /// `upper`.
  bool is_im2col;
  int16_t lower[3], upper[3];  ///< elements, width first
  uint16_t pixels;             ///< of a load, 1..1024
  uint8_t padding[128 - 8 - 8 - 32 - 20 - 10 - 5 - 4 - 1 - 12 - 2];

  Swizzle swizzle_mode() const { return static_cast<Swizzle>(swizzle); }
  TensorDataType element_type() const { return static_cast<TensorDataType>(data_type); }
  bool fills_with_nan() const { return oob_fill != 0; }
  bool is_packed() const { return element_type() >= TensorDataType::Four; }
  bool is_spread() const { return element_type() >= TensorDataType::FourSpread; }
  /// Bits of an element in global memory.
  uint32_t bits() const {
    constexpr std::array<uint8_t, 16> kBits{8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
    return kBits[data_type % kBits.size()];
  }
};
static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) <= 64);

}  // namespace sim
