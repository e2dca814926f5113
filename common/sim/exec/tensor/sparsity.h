// Structured sparsity: metadata select the stored elements of a row, in the same way for all tensor-core instructions.
#pragma once

#include <cstdint>

#include "exec/tensor/tile.h"

namespace sim::tensor {

/// Positions of the two stored elements of four (of FP4: the two stored pairs of eight): two 2-bit indices.
struct Selection {
  int first, second;
  explicit Selection(uint32_t nibble) : first(nibble & 3), second(nibble >> 2 & 3) {}
};
/// Throws Fault: both indices are the same.
[[noreturn]] void equal_indices(uint32_t nibble);
/// Of two elements of 32 bits one is stored: 0b0100 selects the first, 0b1110 the second.
constexpr uint8_t kFirstOfTwo = 0x4, kSecondOfTwo = 0xE;
/// Throws Fault: it is neither.
[[noreturn]] void neither_of_two(uint32_t nibble);

/// Spreads a row's stored elements over K: calls place(stored, to) for each. `nibbles` are in the order of k. Nibbles
/// of zero elements may be invalid, such as 0 (CUTLASS); is_zero(stored) identifies these elements.
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
