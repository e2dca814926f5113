// Shared-memory matrix descriptors as the tensor core reads them (tcgen05 and wgmma).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "exec/tensor/tile.h"
#include "machine/cta.h"
#include "machine/watcher.h"

namespace sim::tensor {

struct Descriptor {
  uint32_t start = 0;                ///< shared offset in the CTA, bytes
  uint32_t leading = 0, stride = 0;  ///< LBO, SBO, bytes
  uint32_t base_offset = 0;
  Swizzle swizzle = Swizzle::None;
  bool mn_major = false;
  int element = 2;        ///< bytes
  uint32_t k_offset = 0;  ///< bytes of K to skip at the beginning
  int k_bytes = 32;       ///< of K in each row; 16 where tcgen05.cp copies 128 bits
};

/// Decodes the 64 bits. Throws Fault on reserved bits and on encodings of the other generation. `operand` is "A" or
/// "B".
Descriptor decode_tcgen05(uint64_t bits, const char* operand);
Descriptor decode_wgmma(uint64_t bits, const char* operand);

/// Throws Fault if the operand tile of `rows` rows (along M or N) and 32 bytes of K reaches outside the CTA's shared
/// memory, or if TMA wrote the bytes with another swizzle than the descriptor names.
void check_tile(const Cta& cta, const Descriptor& descriptor, int rows, const char* operand);

/// About how many bytes of shared memory lie between the beginning and the end of such a tile, for traces.
inline uint32_t extent(const Descriptor& descriptor, int rows) {
  return std::max(32u, static_cast<uint32_t>((rows + 7) / 8) * descriptor.stride);
}
/// The ranges of shared memory of rows [first, first + rows) of the operand tile.
std::vector<Range> tile_ranges(const Descriptor& descriptor, int first, int rows);

/// The K elements of row `row` of one instruction, gathered to 32 contiguous bytes.
void read_row(const Cta& cta, const Descriptor& descriptor, int row, uint8_t* out);
/// The same of `count` rows from row `first`.
void read_rows(const Cta& cta, const Descriptor& descriptor, int first, int count, Row* out);

}  // namespace sim::tensor
