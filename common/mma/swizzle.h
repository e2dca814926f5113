// Swizzle: how TMA and the tensor core permute 16-byte chunks in shared memory so that a column of a tile does not fall
// into a single bank.
#pragma once

#include <cstdint>

#include "common/mma/host_device.h"

namespace mma {

/// The four patterns, named by their span: the bytes of one row that the pattern permutes.
enum class Swizzle { None, B32, B64, B128 };

/// Bytes of one row of a box: 16 (no swizzle: one chunk), 32, 64 or 128.
MMA_HOST_DEVICE constexpr int swizzle_span_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return 16;
    case Swizzle::B32: return 32;
    case Swizzle::B64: return 64;
    case Swizzle::B128: return 128;
  }
  return 0;
}

/// The pattern whose span is so many bytes.
MMA_HOST_DEVICE constexpr Swizzle swizzle_of_span(int bytes) {
  return bytes == 128 ? Swizzle::B128 : bytes == 64 ? Swizzle::B64 : bytes == 32 ? Swizzle::B32 : Swizzle::None;
}

/// Where the byte with linear shared-memory address `address` really is. Bits 4, 5 and 6 number the 16-byte chunk in a
/// 128-byte line, bits 7, 8 and 9 the line: one, two or three bits of the chunk are XORed with those of the line.
/// The bits are those of the absolute shared-memory address, so a tile that starts on its pattern's boundary (256, 512,
/// 1,024 bytes) can be computed with relative to its start.
MMA_HOST_DEVICE constexpr uint32_t swizzle_address(Swizzle swizzle, uint32_t address) {
  switch (swizzle) {
    case Swizzle::None: return address;
    case Swizzle::B32: return address ^ ((address >> 3) & 0x10);
    case Swizzle::B64: return address ^ ((address >> 3) & 0x30);
    case Swizzle::B128: return address ^ ((address >> 3) & 0x70);
  }
  return address;
}

}  // namespace mma
