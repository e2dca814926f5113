#include "exec/tensor/tcgen05/operands.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "exec/tensor/kernels.h"
#include "exec/tensor/sparsity.h"

namespace sim::tcgen05 {

using tensor::kLanes;

std::vector<Strip> strips_of(const InstructionDescriptor& in, int group, bool stationary, uint32_t address) {
  const int lane = tmem_lane(address), column = tmem_column(address);
  std::vector<Strip> strips;
  const auto full = [&](int row, int n, int count, int at_lane) {
    strips.push_back({row, n, count, at_lane, column, kAllLanes});
  };
  if (in.m / group == 128) {  // layouts A and D: row = lane
    for (int row = 0; row < 128; row += 32) full(row, 0, in.n, row);
  } else if (stationary) {  // layouts E and G: as many parts of N one above the other as fit the lanes
    const int parts = 128 / in.m;
    for (int part = 0; part < parts; ++part) {
      for (int row = 0; row < in.m; row += 32) full(row, part * in.n / parts, in.n / parts, in.m * part + row);
    }
  } else if (group == 2) {  // layout B: 64 rows, the halves of N one above the other
    for (int half = 0; half < 2; ++half) {
      for (int row = 0; row < 64; row += 32) full(row, half * in.n / 2, in.n / 2, 64 * half + row);
    }
  } else {  // layout F: 16 rows in each quarter of the lanes, at offset 0 or 16
    for (int quarter = 0; quarter < 4; ++quarter)
      strips.push_back({16 * quarter, 0, in.n, 32 * quarter, column, 0xFFFFu << (lane & 16)});
  }
  return strips;
}

std::vector<tensor::Descriptor> Operands::b_parts() const {
  std::vector<tensor::Descriptor> parts{b};
  if (in.sparse) {
    parts.push_back(b);
    parts.back().k_offset = 32;
  }
  return parts;
}

std::vector<Columns> Operands::sources() const {
  std::vector<Columns> all;
  if (a_in_tmem) all.push_back({"A", tmem_column(a_tmem), 8});
  if (in.sparse) all.push_back({"the metadata", metadata_column(), metadata_columns()});
  if (in.factors != 0) {
    all.push_back({"the factors of A", tmem_column(a_factors), factor_columns(rows())});
    all.push_back({"the factors of B", tmem_column(b_factors), factor_columns(in.n)});
  }
  return all;
}

void read_a(Cta& cta, const Operands& o, const Strip& strip, tensor::Row* lanes) {
  const int shift = strip.mask == 0xFFFF'0000u ? 16 : 0;
  const int count = std::min(std::popcount(strip.mask), o.rows() - strip.first_row);
  std::fill_n(lanes, kLanes, tensor::Row{});
  if (!o.a_in_tmem) return tensor::read_rows(cta, o.a, strip.first_row, count, lanes + shift);
  for (int column = 0; column < 8; ++column) {
    const uint32_t* const cells = cta.tmem.column(tmem_column(o.a_tmem) + column) + strip.lane;
    for (int lane = shift; lane < shift + count; ++lane) std::memcpy(lanes[lane].data() + 4 * column, &cells[lane], 4);
  }
}

namespace {

using Nibbles = std::array<uint8_t, 16>;

/// The metadata of one row of A, in the order of k.
Nibbles read_metadata(Cta& cta, const Operands& o, int row) {
  Nibbles nibbles{};
  const int column = o.metadata_column();
  if (o.metadata_columns() == 2) {  // row = lane, eight nibbles to a cell
    for (int i = 0; i < 16; ++i)
      nibbles[static_cast<size_t>(i)] = cta.tmem.column(column + i / 8)[row] >> 4 * (i % 8) & 15u;
    return nibbles;
  }
  // A cell holds half of the metadata of two rows eight apart; the other half is eight lanes on.
  for (int i = 0; i < 8; ++i) {
    const int lane = row / 16 * 16 + i / 4 * 8 + row % 8;
    nibbles[static_cast<size_t>(i)] = cta.tmem.column(column)[lane] >> (row / 8 % 2 * 16 + 4 * (i % 4)) & 15u;
  }
  return nibbles;
}

tensor::Packing packing(tensor::Format format, bool negate) {
  return {.format = format, .k = tensor::instruction_k(format), .negate = negate, .exponents = true};
}

float fp4_value(const tensor::Row& row, int i, bool negate) {
  const uint32_t code = tensor::code_at(tensor::Format::E2M1x2, row.data(), i);
  return tensor::values_of(tensor::Format::E2M1x2)[code ^ (negate ? 8u : 0u)];
}

void fold(const Factor& factor, float& value, int16_t& exponent) {
  if (exponent == tensor::kAbsentExponent) return;
  value *= factor.value;
  if (factor.exponent == tensor::kSpecialExponent)
    exponent = tensor::kSpecialExponent;
  else if (exponent != tensor::kZeroExponent && exponent != tensor::kSpecialExponent)
    exponent = static_cast<int16_t>(exponent + factor.exponent);
}

template <class Tile>
void fold_lanes(const InstructionDescriptor& in, const FactorCodes* codes, Tile* tile) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const Factor factor = factor_of(codes[lane][0], in.ue8m0);
    for (int k = 0; k < in.k; ++k) fold(factor, tile->value[k][lane], tile->exponent[k][lane]);
  }
}
template <class Tile>
void fold_column(const InstructionDescriptor& in, const FactorCodes& codes, Tile* tile) {
  const Factor factor = factor_of(codes[0], in.ue8m0);
  for (int k = 0; k < in.k; ++k) fold(factor, tile->value[k], tile->exponent[k]);
}

}  // namespace

void pack_a(Cta& cta, const Operands& o, const Strip& strip, tensor::LaneTile* out) {
  std::array<tensor::Row, kLanes> rows;
  read_a(cta, o, strip, rows.data());
  tensor::kernels().pack_lanes(packing(o.in.a, o.in.negate_a), rows.data(), 1, out);
}

void pack_a(Cta& cta, const Operands& o, const Strip& strip, tensor::DeepLaneTile* out) {
  tensor::LaneTile stored;
  pack_a(cta, o, strip, &stored);
  for (int k = 0; k < o.in.k; ++k) {
    std::fill_n(out->value[k], kLanes, 0.0f);
    std::fill_n(out->exponent[k], kLanes, tensor::kAbsentExponent);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const Nibbles nibbles = read_metadata(cta, o, strip.first_row + lane);
    const auto is_zero = [&](int from) { return stored.value[from][lane] == 0; };
    tensor::spread(o.in.a, o.in.k, nibbles.data(), is_zero, [&](int from, int to) {
      out->value[to][lane] = stored.value[from][lane];
      out->exponent[to][lane] = stored.exponent[from][lane];
    });
  }
}

void pack_a(Cta& cta, const Operands& o, const Strip& strip, tensor::Fp4Lanes* out) {
  std::array<tensor::Row, kLanes> rows;
  read_a(cta, o, strip, rows.data());
  for (int lane = 0; lane < kLanes; ++lane) {
    const tensor::Row& row = rows[static_cast<size_t>(lane)];
    if (!o.in.sparse) {
      for (int k = 0; k < o.in.k; ++k) out->value[k][lane] = fp4_value(row, k, o.in.negate_a);
      continue;
    }
    for (int k = 0; k < o.in.k; ++k) out->value[k][lane] = 0;
    const Nibbles nibbles = read_metadata(cta, o, strip.first_row + lane);
    const auto value = [&](int from) { return fp4_value(row, from, o.in.negate_a); };
    tensor::spread(
        o.in.a, o.in.k, nibbles.data(), [&](int from) { return value(from) == 0; },
        [&](int from, int to) { out->value[to][lane] = value(from); });
  }
}

void pack_b(Cta& cta, const Operands& o, tensor::ColumnTile* out) {
  std::array<tensor::Row, 256> rows;
  tensor::read_rows(cta, o.b, 0, o.columns(), rows.data());
  tensor::kernels().pack_columns(packing(o.in.b, o.in.negate_b), rows.data(), o.columns(), out);
}

void pack_b(Cta& cta, const Operands& o, tensor::DeepColumnTile* out) {
  static thread_local std::array<tensor::ColumnTile, 256> half;
  const int k = o.in.k / 2;
  for (int part = 0; part < 2; ++part) {
    Operands one = o;
    one.b = o.b_parts()[static_cast<size_t>(part)];
    pack_b(cta, one, half.data());
    for (int n = 0; n < o.columns(); ++n) {
      std::copy_n(half[static_cast<size_t>(n)].value, k, out[n].value + part * k);
      std::copy_n(half[static_cast<size_t>(n)].exponent, k, out[n].exponent + part * k);
    }
  }
}

void pack_b(Cta& cta, const Operands& o, tensor::Fp4Column* out) {
  std::array<tensor::Row, 256> rows;
  int first = 0;
  for (const tensor::Descriptor& part : o.b_parts()) {
    tensor::read_rows(cta, part, 0, o.columns(), rows.data());
    for (int n = 0; n < o.columns(); ++n) {
      const tensor::Row& row = rows[static_cast<size_t>(n)];
      for (int k = 0; k < 64; ++k) out[n].value[first + k] = fp4_value(row, k, o.in.negate_b);
    }
    first += 64;
  }
}

void apply_factors(const InstructionDescriptor& in, const FactorCodes* codes, tensor::LaneTile* tile) {
  fold_lanes(in, codes, tile);
}
void apply_factors(const InstructionDescriptor& in, const FactorCodes* codes, tensor::DeepLaneTile* tile) {
  fold_lanes(in, codes, tile);
}
void apply_factors(const InstructionDescriptor& in, const FactorCodes& codes, tensor::ColumnTile* tile) {
  fold_column(in, codes, tile);
}
void apply_factors(const InstructionDescriptor& in, const FactorCodes& codes, tensor::DeepColumnTile* tile) {
  fold_column(in, codes, tile);
}

void apply_factors(const InstructionDescriptor& in, const FactorCodes* codes, tensor::Fp4Lanes* tile) {
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int block = 0; block < tensor::kFp4Blocks; ++block) {
      const Factor factor =
          factor_of(codes[lane][static_cast<size_t>(block * in.factors / tensor::kFp4Blocks)], in.ue8m0);
      tile->factor[block][lane] = factor.value, tile->exponent[block][lane] = factor.exponent;
    }
  }
}
void apply_factors(const InstructionDescriptor& in, const FactorCodes& codes, tensor::Fp4Column* tile) {
  for (int block = 0; block < tensor::kFp4Blocks; ++block) {
    const Factor factor = factor_of(codes[static_cast<size_t>(block * in.factors / tensor::kFp4Blocks)], in.ue8m0);
    tile->factor[block] = factor.value, tile->exponent[block] = factor.exponent;
  }
}

}  // namespace sim::tcgen05
