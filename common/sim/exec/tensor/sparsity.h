// Structured sparsity: which elements of a row are stored, as metadata say it. The same for all tensor-core instructions.
#pragma once

#include <cstdint>

#include "exec/tensor/tile.h"

namespace sim::tensor {

/// Where the two stored elements of four (of FP4: the two stored pairs of eight) belong: two 2-bit indices.
struct Selection {
  int first, second;
  explicit Selection(uint32_t nibble) : first(nibble & 3), second(nibble >> 2 & 3) {}
};
/// Throws Fault: both indices are the same.
[[noreturn]] void equal_indices(uint32_t nibble);
/// Of two elements of 32 bits one is stored: which, as 0b0100 and 0b1110 say it.
constexpr uint8_t kFirstOfTwo = 0x4, kSecondOfTwo = 0xE;
/// Throws Fault: it is neither.
[[noreturn]] void neither_of_two(uint32_t nibble);

/// Spreads a row's stored elements over the K elements that they are of: calls place(stored, to) for each. `nibbles` are in
/// the order of k. Those of zeros need not mean anything, and may be 0 (CUTLASS): wherever zeros belong, is_zero(stored).
template <class Z, class F>
void spread(Format format, int k, const uint8_t* nibbles, Z is_zero, F place) {
  if (format == Format::TF32) {
    for (int i = 0; i < k / 2; ++i) {
      if (nibbles[i] != kFirstOfTwo && nibbles[i] != kSecondOfTwo && !is_zero(i)) neither_of_two(nibbles[i]);
      place(i, 2 * i + (nibbles[i] == kSecondOfTwo));
    }
    return;
  }
  const int together = format == Format::E2M1x2 ? 2 : 1;  // FP4 comes in pairs
  for (int i = 0; i < k / (4 * together); ++i) {
    const Selection where(nibbles[i]);
    for (int j = 0; j < together; ++j) {
      const int first = 2 * together * i + j, second = first + together;
      if (where.first == where.second && !(is_zero(first) && is_zero(second))) equal_indices(nibbles[i]);
      place(first, 4 * together * i + together * where.first + j);
      place(second, 4 * together * i + together * where.second + j);
    }
  }
}

}  // namespace sim::tensor
