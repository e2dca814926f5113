#include "exec/tensor/metadata.h"

#include <algorithm>
#include <cstring>

#include "exec/tensor/sparsity.h"

namespace sim::tensor {

Nibbles read_metadata(const MetadataLayout& layout, const uint32_t* words) {
  const int per_lane = layout.is_small ? 8 : 4;
  // The lanes that share in a row.
  const int lanes = layout.per_row / per_lane * (layout.is_small ? 2 : 1);
  Nibbles nibbles{};
  for (int row = 0; row < 16; ++row) {
    const int half = row / 8;
    for (int i = 0; i < layout.per_row; ++i) {
      const int part = i / per_lane, lane = lanes * layout.selector + (layout.is_small ? 2 * part + half : part);
      const int at = i % per_lane + (layout.is_small ? 0 : 4 * half);
      nibbles[static_cast<size_t>(row)][static_cast<size_t>(i)] = words[4 * (row % 8) + lane] >> 4 * at & 15;
    }
  }
  return nibbles;
}

void spread_lanes(Format format, int k, const Nibbles& nibbles, size_t first_row, const LaneTile& stored,
                  DeepLaneTile* out) {
  std::memset(out->value, 0, static_cast<size_t>(k) * sizeof out->value[0]);
  std::fill_n(out->exponent[0], k * kLanes, kAbsentExponent);
  for (size_t row = 0; row < 8; ++row) {
    const auto is_zero = [&](int from) { return stored.value[from][4 * row] == 0; };
    spread(format, k, nibbles[first_row + row].data(), is_zero, [&](int from, int to) {
      std::memcpy(&out->value[to][4 * row], &stored.value[from][4 * row], 4 * sizeof(float));
      std::memcpy(&out->exponent[to][4 * row], &stored.exponent[from][4 * row], 4 * sizeof(int16_t));
    });
  }
}

void pack_deep_quads(const Packing& how, const Row* first, const Row* second, int count, DeepQuadTile* out) {
  const int per_row = static_cast<int>(sizeof(Row)) / element_bytes(how.format);
  QuadTile tiles[2];
  for (int from = 0; from < how.k; from += per_row) {
    Packing part = how;
    part.k = std::min(how.k - from, per_row);
    for (int column = 0; column < count; column += 8) {
      kernels().pack_quads(part, (from == 0 ? first : second) + column, 8, tiles);
      for (int i = 0; i < 2; ++i) {
        DeepQuadTile& to = out[column / 4 + i];
        std::memcpy(to.value[from], tiles[i].value, static_cast<size_t>(part.k) * sizeof to.value[0]);
        std::memcpy(to.exponent[from], tiles[i].exponent, static_cast<size_t>(part.k) * sizeof to.exponent[0]);
      }
    }
  }
}

bool has_specials(const DeepQuadTile* tiles, int count, int k) {
  for (int i = 0; i < count; ++i) {
    const int16_t* const exponents = tiles[i].exponent[0];
    if (std::find(exponents, exponents + 4 * k, kSpecialExponent) != exponents + 4 * k) return true;
  }
  return false;
}

}  // namespace sim::tensor
