// Shared-memory matrix descriptors: 64 bits that tell the tensor core where an operand tile lies and how its rows are
// swizzled. Blackwell (tcgen05) and Hopper (wgmma) share the address fields and differ in the rest.
//
// The fields LBO and SBO ("leading" and "stride dimension byte offset") for the K-major tiles of this project: SBO is
// the distance from one group of 8 rows to the next. LBO is used without swizzle only: the distance from one 16-byte
// column of K to the next. To advance along K inside a swizzle span, add the bytes to the start address: the XOR is
// applied to the final address.
#pragma once

#include <cstdint>

#include "common/mma/host_device.h"
#include "common/mma/swizzle.h"

namespace mma {

/// Descriptor of tcgen05.mma (PTX ISA 9.7.16.5, "Shared memory descriptor"). All lengths in bytes, multiples of 16.
struct SmemDescriptorSm100 {
  uint32_t start_address;            ///< shared-memory address; the CTA's rank in bits 31..24 is dropped
  uint32_t leading_byte_offset = 0;  ///< LBO
  uint32_t stride_byte_offset;       ///< SBO
  Swizzle swizzle;

  MMA_HOST_DEVICE constexpr uint64_t encode() const {
    uint64_t layout = 0;  // bits 61..63
    switch (swizzle) {
      case Swizzle::None: layout = 0; break;
      case Swizzle::B32: layout = 6; break;
      case Swizzle::B64: layout = 4; break;
      case Swizzle::B128: layout = 2; break;
    }
    return uint64_t{(start_address & 0x3FFFF) >> 4}                // bits 0..13
           | uint64_t{(leading_byte_offset & 0x3FFFF) >> 4} << 16  // bits 16..29
           | uint64_t{(stride_byte_offset & 0x3FFFF) >> 4} << 32   // bits 32..45
           | uint64_t{1} << 46                                     // bits 46..48: the constant 0b001
                                                                   // bits 49..51: base offset, 0
                                                                   // bit 52: LBO mode, 0 = relative
           | layout << 61;
  }
};

/// Descriptor of wgmma (PTX ISA 9.7.15.5.1, "Matrix descriptor"). Same fields, other codes, no constant.
struct SmemDescriptorSm90 {
  uint32_t start_address;
  uint32_t leading_byte_offset = 0;
  uint32_t stride_byte_offset;
  Swizzle swizzle;

  MMA_HOST_DEVICE constexpr uint64_t encode() const {
    uint64_t layout = 0;  // bits 62..63
    switch (swizzle) {
      case Swizzle::None: layout = 0; break;
      case Swizzle::B32: layout = 3; break;
      case Swizzle::B64: layout = 2; break;
      case Swizzle::B128: layout = 1; break;
    }
    return uint64_t{(start_address & 0x3FFFF) >> 4}                // bits 0..13
           | uint64_t{(leading_byte_offset & 0x3FFFF) >> 4} << 16  // bits 16..29
           | uint64_t{(stride_byte_offset & 0x3FFFF) >> 4} << 32   // bits 32..45
           | layout << 62;
  }
};

/// A descriptor moved on by `bytes` (a multiple of 16) of shared memory: the start address is the low field, in units
/// of 16 bytes, so this is one addition. No shared-memory address overflows the field: adding to the low word alone
/// spares the compiler a carry.
MMA_HOST_DEVICE constexpr uint64_t advance(uint64_t descriptor, uint32_t bytes) {
  return (descriptor >> 32 << 32) | static_cast<uint32_t>(descriptor + (bytes >> 4));
}

}  // namespace mma
