#include "exec/tensor/descriptor.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "exec/core/op.h"
#include "exec/core/report.h"

namespace sim::tensor {
namespace {

int span(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return 16;
    case Swizzle::Bytes32: return 32;
    case Swizzle::Bytes64: return 64;
    default: return 128;
  }
}

/// The XOR of address bits, with the row bits taken relative to `base_offset` (measured on Hopper).
struct Permutation {
  uint32_t base, mask = 0, shift = 4;
  explicit Permutation(const Descriptor& d) : base(d.base_offset) {
    switch (d.swizzle) {
      case Swizzle::Bytes32: mask = 1; break;
      case Swizzle::Bytes64: mask = 3; break;
      case Swizzle::Bytes128: mask = 7; break;
      case Swizzle::Bytes128Atom32: mask = 3, shift = 5; break;
      default: break;
    }
  }
  uint32_t operator()(uint32_t linear) const { return linear ^ (((linear >> 7) - base) & mask) << shift; }
};

/// Linear addresses of the 16-byte chunks of rows, K-major.
struct ChunkWalk {
  uint32_t first, row_pitch, group_pitch, chunk_pitch;
  explicit ChunkWalk(const Descriptor& d)
      : row_pitch(static_cast<uint32_t>(span(d.swizzle))),
        group_pitch(d.stride),
        chunk_pitch(d.swizzle == Swizzle::None ? d.leading : 16) {
    first = d.start + d.k_offset / 16 * chunk_pitch;
  }
  uint32_t operator()(int row, int chunk) const {
    const auto r = static_cast<uint32_t>(row);
    return first + r % 8 * row_pitch + r / 8 * group_pitch + static_cast<uint32_t>(chunk) * chunk_pitch;
  }
};

/// Linear address of element (row, k), MN-major: `row` runs along the contiguous direction. An atom holds 8 values of
/// k, the one with 32-byte atoms 4.
uint32_t element_address(const Descriptor& d, int row, int k) {
  const auto r = static_cast<uint32_t>(row), bytes = static_cast<uint32_t>(d.element),
             kk = static_cast<uint32_t>(k) + d.k_offset / bytes;
  const uint32_t per_span = static_cast<uint32_t>(span(d.swizzle)) / bytes,
                 deep = d.swizzle == Swizzle::Bytes128Atom32 ? 4 : 8;
  if (d.swizzle == Swizzle::None)
    return d.start + r % per_span * bytes + r / per_span * d.stride + kk % 8 * 16 + kk / 8 * d.leading;
  return d.start + r % per_span * bytes + r / per_span * d.leading +
         kk % deep * static_cast<uint32_t>(span(d.swizzle)) + kk / deep * d.stride;
}

Descriptor decode_fields(uint64_t bits) {
  Descriptor d;
  d.start = static_cast<uint32_t>(bits & 0x3FFF) << 4;
  d.leading = static_cast<uint32_t>(bits >> 16 & 0x3FFF) << 4;
  d.stride = static_cast<uint32_t>(bits >> 32 & 0x3FFF) << 4;
  d.base_offset = static_cast<uint32_t>(bits >> 49 & 7);
  return d;
}

const char* layout_name(uint8_t layout) {
  const char* const names[] = {"unknown",     "no swizzle",   "32B swizzle",
                               "64B swizzle", "128B swizzle", "128B_ATOM_32B swizzle"};
  return layout < 6 ? names[layout] : "another swizzle";
}

}  // namespace

Descriptor decode_tcgen05(uint64_t bits, const char* operand) {
  Descriptor d = decode_fields(bits);
  const auto constant = static_cast<uint32_t>(bits >> 46 & 7);
  if (constant != 1) {
    throw Fault{constant == 0 ? faults::descriptor_of_wgmma : faults::descriptor_constant, {operand, bits, constant}};
  }
  if (bits >> 14 & 3 || bits >> 30 & 3 || bits >> 53 & 0xFF)
    throw Fault{faults::descriptor_reserved_bits, {operand, bits}};
  if (bits >> 52 & 1) throw Fault{faults::descriptor_absolute_mode, {operand, bits}};
  switch (bits >> 61) {
    case 0: d.swizzle = Swizzle::None; break;
    case 1: d.swizzle = Swizzle::Bytes128Atom32; break;
    case 2: d.swizzle = Swizzle::Bytes128; break;
    case 4: d.swizzle = Swizzle::Bytes64; break;
    case 6: d.swizzle = Swizzle::Bytes32; break;
    default: throw Fault{faults::descriptor_swizzle, {operand, bits, bits >> 61}};
  }
  return d;
}

Descriptor decode_wgmma(uint64_t bits, const char* operand) {
  Descriptor d = decode_fields(bits);
  if (bits >> 14 & 3 || bits >> 30 & 3 || bits >> 46 & 7 || bits >> 52 & 0x3FF) {
    throw Fault{bits >> 46 & 7 ? faults::descriptor_of_tcgen05 : faults::wgmma_descriptor_reserved_bits,
                {operand, bits}};
  }
  switch (bits >> 62) {
    case 0: d.swizzle = Swizzle::None; break;
    case 1: d.swizzle = Swizzle::Bytes128; break;
    case 2: d.swizzle = Swizzle::Bytes64; break;
    default: d.swizzle = Swizzle::Bytes32; break;
  }
  return d;
}

void check_tile(const Cta& cta, const Descriptor& d, int rows, const char* operand) {
  const Permutation physical(d);
  const ChunkWalk chunks(d);
  const uint8_t expected = layout_of(d.swizzle);
  const auto outside = [&](uint32_t linear) {
    const uint32_t at = physical(linear);
    return at < Gpu::smem_reserved || at + 16 > cta.smem.size();
  };
  const auto laid_out_otherwise = [&](uint32_t linear) {
    const uint8_t wrote = cta.layout[physical(linear) / 128];
    return wrote != kLayoutUnknown && wrote != expected;
  };
  // The first of the tile's 16-byte chunks for which f is true; only the first chunks of each 8 rows are tested.
  const auto find = [&](bool all, auto f) -> std::optional<uint32_t> {
    if (!d.mn_major) {
      for (int row = 0; row < rows; row += all ? 1 : 8) {
        const uint32_t begin = chunks(row, 0);
        for (int chunk = 0; chunk < d.k_bytes / 16; ++chunk) {
          const uint32_t linear = begin + static_cast<uint32_t>(chunk) * chunks.chunk_pitch;
          const bool same_line = chunk > 0 && (linear ^ begin) < 128;  // its layout has been checked
          if (!(same_line && !all) && f(linear)) return physical(linear);
        }
      }
      return {};
    }
    for (int k = 0; k < d.k_bytes / d.element; k += all ? 1 : 4) {
      for (int row = 0; row < rows; row += 16 / d.element) {
        if (f(element_address(d, row, k))) return physical(element_address(d, row, k));
      }
    }
    return {};
  };
  // Addresses grow with the row and with k, and the swizzle stays within 128 bytes.
  const uint32_t last =
      d.mn_major ? element_address(d, rows - 1, d.k_bytes / d.element - 1) : chunks(rows - 1, d.k_bytes / 16 - 1);
  if (d.start < Gpu::smem_reserved || (last | 127u) >= cta.smem.size()) {
    if (const auto at = find(true, outside))
      throw Fault{faults::operand_outside_shared, {operand, *at, name_of(cta), Gpu::smem_reserved, cta.smem.size()}};
  }
  if (cta.layout.empty()) return;
  if (const auto at = find(false, laid_out_otherwise))
    throw Fault{
        faults::operand_with_other_swizzle,
        {operand, layout_name(expected), name_of_shared(cta, *at), name_of(cta), layout_name(cta.layout[*at / 128])}};
}

std::vector<Range> tile_ranges(const Descriptor& d, int first, int rows) {
  std::vector<Range> ranges;
  const Permutation physical(d);
  const ChunkWalk chunks(d);
  const auto add = [&](uint32_t linear) {
    const uint64_t at = physical(linear);
    if (!ranges.empty() && ranges.back().end == at)
      ranges.back().end += 16;
    else
      ranges.push_back({at, at + 16});
  };
  if (!d.mn_major) {
    for (int row = first; row < first + rows; ++row) {
      for (int chunk = 0; chunk < d.k_bytes / 16; ++chunk) add(chunks(row, chunk));
    }
    return ranges;
  }
  for (int k = 0; k < d.k_bytes / d.element; ++k) {
    for (int row = first; row < first + rows; row += 16 / d.element) add(element_address(d, row, k));
  }
  return ranges;
}

void read_row(const Cta& cta, const Descriptor& d, int row, uint8_t* out) {
  Row bytes;
  read_rows(cta, d, row, 1, &bytes);
  std::memcpy(out, bytes.data(), bytes.size());
}

void read_rows(const Cta& cta, const Descriptor& descriptor, int first, int count, Row* out) {
  const Descriptor d = descriptor;  // a copy: no write through `out` can change it
  const Permutation physical(d);
  const uint8_t* const memory = cta.smem.data();
  if (!d.mn_major) {
    const ChunkWalk chunks(d);
    const bool has_two = d.k_bytes > 16;
    const auto copy = [&](int row, uint32_t linear) {
      std::memcpy(out[row].data(), memory + physical(linear), 16);
      if (has_two) std::memcpy(out[row].data() + 16, memory + physical(linear + chunks.chunk_pitch), 16);
    };
    int row = 0;
    for (; first % 8 == 0 && row + 8 <= count; row += 8) {
      uint32_t linear = chunks(first + row, 0);
      for (int i = 0; i < 8; ++i, linear += chunks.row_pitch) copy(row + i, linear);
    }
    for (; row < count; ++row) copy(row, chunks(first + row, 0));
    return;
  }
  // 16 bytes hold as many rows of one k as there are elements in them.
  const auto size = static_cast<size_t>(d.element);
  const int chunk = 16 / d.element;
  for (int k = 0; k < d.k_bytes / d.element; ++k) {
    for (int row = first; row < first + count; row = row / chunk * chunk + chunk) {
      const uint8_t* const from = memory + physical(element_address(d, row, k));
      const int here = std::min(chunk - row % chunk, first + count - row);
      for (int i = 0; i < here; ++i) {
        uint8_t* const to = out[row - first + i].data() + static_cast<size_t>(k) * size;
        std::memcpy(to, from + static_cast<size_t>(i) * size, size);
      }
    }
  }
}

}  // namespace sim::tensor
