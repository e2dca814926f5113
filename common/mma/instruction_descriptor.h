// The instruction descriptor of tcgen05.mma: 32 bits that fix types and shape (PTX ISA 9.7.16.4, table 42).
#pragma once

#include <cstdint>

#include "common/mma/host_device.h"

namespace mma {

/// Type codes of kind::f16. BF16 is 1, not 3: 3 is no type of this kind.
enum class F16Format : uint32_t { F16 = 0, BF16 = 1 };
/// Accumulator codes of kind::f16.
enum class AccumulatorFormat : uint32_t { F16 = 0, F32 = 1 };

/// Dense tcgen05.mma.kind::f16, both operands K-major, no negation. K is 16 for these types.
struct InstructionDescriptor {
  int m;  ///< rows of D; with cta_group::2 those of the pair together: 128 or 256
  int n;  ///< columns of D: a multiple of 16 up to 256
  F16Format a = F16Format::BF16;
  F16Format b = F16Format::BF16;
  AccumulatorFormat d = AccumulatorFormat::F32;

  MMA_HOST_DEVICE constexpr uint32_t encode() const {
    return static_cast<uint32_t>(d) << 4           // bits 4..5
           | static_cast<uint32_t>(a) << 7         // bits 7..9
           | static_cast<uint32_t>(b) << 10        // bits 10..12
                                                   // bits 13..16: negate A, B = 0; transpose A, B = 0 (K-major)
           | static_cast<uint32_t>(n >> 3) << 17   // bits 17..22
           | static_cast<uint32_t>(m >> 4) << 24;  // bits 24..28
  }
};

}  // namespace mma
