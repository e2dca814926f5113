// mma.sync and mma.sp: the warp-level tensor-core instruction, for programs that are older than wgmma or mix the two.
// This file has the shapes with 8 columns whose rows are 16 or 32 bytes of K, or half of 32 or 64 if A is sparse.
#include "exec/tensor/mma.h"

#include <algorithm>
#include <array>

#include "exec/arithmetic/numeric.h"
#include "exec/core/families.h"
#include "exec/tensor/metadata.h"
#include "exec/tensor/types.h"

namespace sim {
namespace {

using ptx::Type;
using tensor::Format;
using tensor::Row;

struct Mma {
  size_t rows = 16;
  int k = 0;  ///< elements of B's columns; A's rows have half of them if it is sparse
  Format a_format = Format::F16, b_format = Format::F16;
  bool has_nibbles = false;  ///< elements are the four bits of these formats' signedness
  tensor::ResultFormat result = tensor::ResultFormat::F32;
  bool saturates = false;  ///< of integers
  bool is_sparse = false;
  tensor::MetadataLayout layout;
  int32_t metadata = -1;
  std::vector<int32_t> d, a, b, c;  ///< slots

  /// Tensor cores with mma.sync multiply FP8 as F16.
  bool is_fp8() const { return a_format == Format::E4M3 || a_format == Format::E5M2; }
  bool is_integer() const { return result == tensor::ResultFormat::S32; }
};

/// The operands of one step of the tensor core: up to 32 bytes of each row of A, and as many of each column of B, or
/// twice as many if A is sparse.
struct MmaStep {
  std::array<std::array<Row, 8>, 2> a{};  ///< rows 0 to 7, 8 to 15
  std::array<std::array<Row, 8>, 2> b{};  ///< first 32 bytes of K, the others
  tensor::Nibbles nibbles{};
  Format a_format = Format::F16, b_format = Format::F16;
  int k = 16;  ///< of B
};

// Fragments, in units of 32-bit registers and with t = lane / 4, q = lane % 4. `h`: 1 if there are 8 rows, 2 if 16.
//   A register i: row t + 8 (i % h), bytes of K from 16 (i / h) + 4 q
//   B register i: column t, bytes of K from 16 i + 4 q
//   C, D register i: row t + 8 (i / 2), column 2 q + i % 2; a pair of them in a register if they are F16.
// So four lanes hold 16 bytes of a row of A, or of a column of B, one after the other.

/// One step with operands that need no conversion.
MmaStep step_of(Warp& w, const Mma& o) {
  MmaStep step{.a_format = o.a_format, .b_format = o.b_format, .k = o.k};
  const size_t halves = o.rows / 8;
  const auto gather_rows = [&](int32_t slot, size_t part, std::array<Row, 8>& rows) {
    const auto* const words = lanes<uint32_t>(w, slot);
    for (size_t row = 0; row < 8; ++row) std::memcpy(rows[row].data() + 16 * part, words + 4 * row, 16);
  };
  for (size_t i = 0; i < o.a.size(); ++i) gather_rows(o.a[i], i / halves, step.a[i % halves]);
  for (size_t i = 0; i < o.b.size(); ++i) gather_rows(o.b[i], i % 2, step.b[i / 2]);
  if (o.is_sparse) step.nibbles = tensor::read_metadata(o.layout, lanes<uint32_t>(w, o.metadata));
  return step;
}

using Bytes = std::array<uint8_t, 128>;
/// The two operands as bytes along K, with a byte for each element of four bits: for operands that need conversion.
struct MmaSyncOperands {
  std::array<Bytes, 16> a{};
  std::array<Bytes, 8> b{};
  tensor::Nibbles nibbles{};
};

MmaSyncOperands operands_of(Warp& w, const Mma& o) {
  MmaSyncOperands all;
  const size_t halves = o.rows / 8;
  for (size_t i = 0; i < o.a.size(); ++i) {
    for (size_t row = 0; row < 8; ++row)
      std::memcpy(&all.a[row + 8 * (i % halves)][16 * (i / halves)], lanes<uint32_t>(w, o.a[i]) + 4 * row, 16);
  }
  for (size_t i = 0; i < o.b.size(); ++i) {
    for (size_t column = 0; column < 8; ++column)
      std::memcpy(&all.b[column][16 * i], lanes<uint32_t>(w, o.b[i]) + 4 * column, 16);
  }
  if (o.is_sparse) all.nibbles = tensor::read_metadata(o.layout, lanes<uint32_t>(w, o.metadata));
  if (o.has_nibbles) {
    const auto unpack = [](Bytes& bytes, Format format) {
      for (size_t i = 64; i-- > 0;) {
        const uint8_t both = bytes[i], low = both & 15, high = both >> 4;
        const auto widened = [&](uint8_t four) {
          return format == Format::S8 ? static_cast<uint8_t>((four ^ 8) - 8) : four;
        };
        bytes[2 * i] = widened(low), bytes[2 * i + 1] = widened(high);
      }
    };
    for (Bytes& row : all.a) unpack(row, o.a_format);
    for (Bytes& column : all.b) unpack(column, o.b_format);
  }
  return all;
}

/// One step of the first 32 bytes of A's rows and 64 of B's columns.
MmaStep whole(const Mma& o, const MmaSyncOperands& all) {
  MmaStep step{.nibbles = all.nibbles, .a_format = o.a_format, .b_format = o.b_format, .k = o.k};
  for (size_t row = 0; row < 16; ++row) std::memcpy(step.a[row / 8][row % 8].data(), all.a[row].data(), 32);
  for (size_t i = 0; i < 16; ++i) std::memcpy(step.b[i / 8][i % 8].data(), &all.b[i % 8][32 * (i / 8)], 32);
  return step;
}

/// Elements of four bits have become as many bytes as two steps hold.
std::vector<MmaStep> steps_of_nibbles(const Mma& o, const MmaSyncOperands& all) {
  const size_t b_bytes = o.is_sparse ? 64 : 32;
  std::vector<MmaStep> steps;
  for (size_t from = 0; from < static_cast<size_t>(o.k); from += b_bytes) {
    MmaSyncOperands part = all;
    for (Bytes& row : part.a)
      std::copy_n(row.begin() + static_cast<ptrdiff_t>(from / (o.is_sparse ? 2 : 1)), 32, row.begin());
    for (Bytes& column : part.b) std::copy_n(column.begin() + static_cast<ptrdiff_t>(from), b_bytes, column.begin());
    for (auto& row : part.nibbles) std::copy_n(row.begin() + static_cast<ptrdiff_t>(from / 8), 8, row.begin());
    steps.push_back(whole(o, part));
    steps.back().k = static_cast<int>(std::min(b_bytes, static_cast<size_t>(o.k) - from));
  }
  return steps;
}

/// FP8 is multiplied as F16, in two steps: the lower halves of the registers of A, then the upper ones.
std::vector<MmaStep> steps_of_fp8(const Mma& o, const MmaSyncOperands& all) {
  const auto put = [](Format format, Row& row, size_t at, uint8_t element) {
    const uint16_t half =
        format == Format::E5M2 ? static_cast<uint16_t>(element << 8) : float_to_f16_rn(e4m3_to_float(element));
    std::memcpy(&row[2 * at], &half, 2);
  };
  const auto k = static_cast<size_t>(o.k), stored = o.is_sparse ? k / 2 : k;
  std::vector<MmaStep> steps(2);
  for (size_t part = 0; part < 2; ++part) {
    MmaStep& step = steps[part];
    step.k = o.k / 2;
    for (size_t i = 0; i < stored / 2; ++i) {
      const size_t from = i / 2 * 4 + 2 * part + i % 2;
      for (size_t row = 0; row < 16; ++row) put(o.a_format, step.a[row / 8][row % 8], i, all.a[row][from]);
    }
    for (size_t i = 0; i < k / 2; ++i) {
      const size_t from = o.is_sparse ? i / 4 * 8 + 4 * part + i % 4 : i / 2 * 4 + 2 * part + i % 2;
      for (size_t column = 0; column < 8; ++column)
        put(o.b_format, step.b[i / 16][column], i % 16, all.b[column][from]);
    }
    for (size_t row = 0; row < 16; ++row) {
      for (size_t i = 0; i < 8; ++i) step.nibbles[row][i] = all.nibbles[row][2 * i + part];
    }
  }
  return steps;
}

void multiply(const Mma& o, const MmaStep& step, tensor::Arithmetic how, uint32_t* const* cells, bool accumulate) {
  const tensor::Kernels& kernels = tensor::kernels();
  how.k = step.k;
  const int stored = o.is_sparse ? step.k / 2 : step.k;
  tensor::LaneTile a[2];
  for (size_t h = 0; h < 2; ++h) {
    kernels.pack_lanes({.format = step.a_format, .k = stored, .exponents = how.exact || o.is_sparse}, step.a[h].data(),
                       4, &a[h]);
  }
  if (!o.is_sparse) {
    tensor::QuadTile b[2];
    kernels.pack_quads({.format = step.b_format, .k = step.k, .exponents = how.exact}, step.b[0].data(), 8, b);
    return kernels.fragments(how, a, b, cells, 1, accumulate);
  }
  tensor::DeepLaneTile deep_a[2];
  tensor::DeepQuadTile deep_b[2];
  for (size_t h = 0; h < 2; ++h)
    tensor::spread_lanes(o.has_nibbles ? Format::E2M1x2 : step.a_format, step.k, step.nibbles, 8 * h, a[h], &deep_a[h]);
  tensor::pack_deep_quads({.format = step.b_format, .k = step.k}, step.b[0].data(), step.b[1].data(), 8, deep_b);
  // Fast arithmetic also multiplies by the zeros between A's elements.
  how.exact |= tensor::has_specials(deep_b, 2, step.k);
  kernels.deep_fragments(how, deep_a, deep_b, cells, 1, accumulate);
}

/// Adds C to the sum of the products, as a separate instruction would.
uint32_t plus(const Mma& o, uint32_t sum, uint32_t c) {
  if (o.is_integer()) {
    const int64_t exact = int64_t{static_cast<int32_t>(sum)} + static_cast<int32_t>(c);
    return static_cast<uint32_t>(o.saturates ? std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX) : exact);
  }
  if (o.result == tensor::ResultFormat::F32)
    return std::bit_cast<uint32_t>(canonical(std::bit_cast<float>(c) + std::bit_cast<float>(sum)));
  return float_to_f16_rn(f16_to_float(static_cast<uint16_t>(c)) + f16_to_float(static_cast<uint16_t>(sum)));
}

Flow mma(Warp& w, const Mma& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  const uint64_t multiply_adds = o.rows * 8 * static_cast<uint64_t>(o.is_sparse ? o.k / 2 : o.k);
  const tensor::Arithmetic how{.exact = cluster.exact_arithmetic(multiply_adds), .result = o.result};
  const bool half = o.result == tensor::ResultFormat::F16, adds_last = o.is_fp8() || o.is_integer();

  alignas(64) uint32_t c[4][32]{}, results[4][32];
  for (size_t i = 0; i < o.rows / 4; ++i) {
    const auto* const from = lanes<uint32_t>(w, o.c[half ? i / 2 : i]);
    for (size_t lane = 0; lane < 32; ++lane)
      c[i][lane] = !half ? from[lane] : i % 2 ? from[lane] >> 16 : from[lane] & 0xFFFF;
  }
  std::memcpy(results, c, sizeof c);
  uint32_t* const cells[4] = {results[0], results[1], results[2], results[3]};

  if (o.has_nibbles || o.is_fp8()) {
    const MmaSyncOperands all = operands_of(w, o);
    const std::vector<MmaStep> steps = o.has_nibbles ? steps_of_nibbles(o, all) : steps_of_fp8(o, all);
    for (const MmaStep& step : steps) multiply(o, step, how, cells, &step != steps.data() || !adds_last);
  } else {
    multiply(o, step_of(w, o), how, cells, !adds_last);
  }
  if (adds_last) {
    for (size_t i = 0; i < 4; ++i) {
      for (size_t lane = 0; lane < 32; ++lane) results[i][lane] = plus(o, results[i][lane], c[i][lane]);
    }
  }

  for (size_t i = 0; i < o.d.size(); ++i) {
    auto* const d = lanes<uint32_t>(w, o.d[i]);
    for (size_t lane = 0; lane < 32; ++lane)
      d[lane] = half ? results[2 * i][lane] | results[2 * i + 1][lane] << 16 : results[i][lane];
  }
  tensor::count_multiply_adds(cluster, multiply_adds);
  return Flow::Next;
}

void decode_mma(Decoder& d) {
  if (d.last_type() == Type::F64) return tensor::decode_mma_f64(d);
  if (d.has("b1")) return tensor::decode_mma_bits(d);
  if (d.has("m8n8k4")) return tensor::decode_mma_quad_pairs(d);
  if (d.has("block_scale")) d.unsupported(faults::scaled_products);
  if (!d.has("row") || !d.has("col")) d.unsupported(faults::only_row_col);
  d.ignore({"kind::f8f6f4"});
  Mma o;
  d.for_modifiers(
      [&](const std::string& modifier) { return std::sscanf(modifier.c_str(), "m%zun8k%d", &o.rows, &o.k) == 2; });
  std::vector<Format> fours;
  d.for_modifiers([&](const std::string& modifier) {
    if (modifier == "s4") fours.push_back(Format::S8);
    if (modifier == "u4") fours.push_back(Format::U8);
    return modifier == "s4" || modifier == "u4";
  });
  const std::vector<Type> types = tensor::types_of(d);
  o.has_nibbles = fours.size() == 2;
  if (types.size() != (o.has_nibbles ? 2 : 4)) d.unsupported(faults::four_types_required);
  o.a_format = o.has_nibbles ? fours[0] : tensor::format_of(d, types[1]);
  o.b_format = o.has_nibbles ? fours[1] : tensor::format_of(d, types[2]);
  o.result = tensor::result_of(types[0]);
  o.saturates = d.has("satfinite");
  o.is_sparse = d.which({"sp", "sp::ordered_metadata"}) >= 0;
  o.d = d.destinations(d.operand(0), 4);
  o.a = d.sources(d.operand(1), Type::B32);
  o.b = d.sources(d.operand(2), Type::B32);
  o.c = d.sources(d.operand(3), Type::B32);

  // Bytes in a row of A.
  const size_t b_bytes = static_cast<size_t>(o.k * tensor::element_bytes(o.a_format)) / (o.has_nibbles ? 2 : 1),
               a_bytes = o.is_sparse ? b_bytes / 2 : b_bytes;
  const size_t accumulators = o.rows / (o.result == tensor::ResultFormat::F16 ? 8 : 4);
  if ((a_bytes != 32 && a_bytes != 16) || (o.rows != 16 && o.rows != 8)) d.unsupported(faults::unknown_shape);
  if (o.a.size() != a_bytes * o.rows / 128 || o.b.size() != b_bytes / 16 || o.c.size() != accumulators ||
      o.d.size() != accumulators)
    d.unsupported(faults::registers_of_shape);
  if (o.is_sparse) {
    const int elements = o.a_format == Format::TF32 ? 2 : o.has_nibbles ? 8 : 4;  // of B, for each nibble
    o.layout = {.is_small = tensor::element_bytes(o.a_format) == 1,
                .per_row = o.k / elements,
                .selector = static_cast<int>(d.immediate(5))};
    o.metadata = d.source(4, Type::B32);
  }
  d.emit<mma>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {{"mma", decode_mma}};
constexpr std::string_view kIgnored[] = {"sync", "aligned"};

}  // namespace

constinit const Family families::mma{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Carries, .cost = CostClass::SyncMma}};

}  // namespace sim
