// Structured sparsity: which elements of a row are stored, as metadata say it. The same for all tensor-core instructions.
#pragma once

#include <cstdint>

#include "exec/tensor/tile.h"

namespace sim::tensor {

/// Where the two stored elements of four (of FP4: the two stored pairs of eight) belong: two 2-bit indices.
struct Selection {
  int first, second;
};
/// Throws Fault where both are the same place.
Selection selected(uint32_t nibble);
/// Of two elements of 32 bits one is stored: which. Throws Fault on other nibbles than 0b0100 and 0b1110.
int selected_of_two(uint32_t nibble);

/// Spreads a row's stored elements over the K elements that they are of: calls place(stored, to) for each. `nibbles` are in
/// the order of k.
template <class F>
void spread(Format format, int k, const uint8_t* nibbles, F place) {
  if (format == Format::TF32) {
    for (int i = 0; i < k / 2; ++i) place(i, 2 * i + selected_of_two(nibbles[i]));
    return;
  }
  const int together = format == Format::E2M1x2 ? 2 : 1;  // FP4 comes in pairs
  for (int i = 0; i < k / (4 * together); ++i) {
    const Selection where = selected(nibbles[i]);
    for (int j = 0; j < together; ++j) {
      place(2 * together * i + j, 4 * together * i + together * where.first + j);
      place(2 * together * i + together + j, 4 * together * i + together * where.second + j);
    }
  }
}

}  // namespace sim::tensor
