// mma.sync: the warp-level tensor-core instruction, for programs that are older than wgmma or mix the two.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>

#include "exec/core/families.h"
#include "exec/tensor/types.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

struct Mma {
  int k = 0;  ///< elements
  Format a_format = Format::F16, b_format = Format::F16;
  tensor::Result result = tensor::Result::F32;
  std::vector<int32_t> d, a, b, c;  ///< slots
};

// All shapes here are m16n8kK. Fragments, in units of 32-bit registers and with t = lane / 4, q = lane % 4:
//   A register i: row t + 8 (i % 2), bytes of K from 16 (i / 2) + 4 q      (K of 32 bytes; half for the short shapes)
//   B register i: column t, bytes of K from 16 i + 4 q
//   C, D: row t + 8 (i / 2), column 2 q + i % 2
Flow mma(Warp& w, const Mma& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  const uint64_t multiply_adds = 16ull * 8 * static_cast<uint64_t>(o.k);
  tensor::Arithmetic how;
  how.exact = cluster.exact_arithmetic(multiply_adds);
  how.k = o.k;
  how.result = o.result;
  const bool half = o.result == tensor::Result::F16;

  // Four lanes hold 16 bytes of a row of A, or of a column of B, one after the other.
  const tensor::Kernels& kernels = tensor::kernels();
  std::array<std::array<tensor::Row, 8>, 2> a_rows{};
  std::array<tensor::Row, 8> b_columns{};
  const auto gather_rows = [&](int32_t slot, size_t part, std::array<tensor::Row, 8>& rows) {
    const auto* const words = lanes<uint32_t>(w, slot);
    for (size_t row = 0; row < 8; ++row) std::memcpy(rows[row].data() + 16 * part, words + 4 * row, 16);
  };
  for (size_t i = 0; i < o.a.size(); ++i) gather_rows(o.a[i], i / 2, a_rows[i % 2]);
  for (size_t i = 0; i < o.b.size(); ++i) gather_rows(o.b[i], i, b_columns);
  tensor::LaneTile a[2];
  tensor::QuadTile b[2];
  for (size_t h = 0; h < 2; ++h)
    kernels.pack_lanes({.format = o.a_format, .k = o.k, .exponents = how.exact}, a_rows[h].data(), 4, &a[h]);
  kernels.pack_quads({.format = o.b_format, .k = o.k, .exponents = how.exact}, b_columns.data(), 8, b);

  alignas(64) uint32_t results[4][32];
  uint32_t* const cells[4] = {results[0], results[1], results[2], results[3]};
  for (size_t i = 0; i < 4; ++i) {
    const auto* const c = lanes<uint32_t>(w, o.c[half ? i / 2 : i]);
    for (size_t lane = 0; lane < 32; ++lane)
      results[i][lane] = !half ? c[lane] : i % 2 ? c[lane] >> 16 : c[lane] & 0xFFFF;
  }
  kernels.fragments(how, a, b, cells, 1, true);
  for (size_t i = 0; i < o.d.size(); ++i) {
    auto* const d = lanes<uint32_t>(w, o.d[i]);
    for (size_t lane = 0; lane < 32; ++lane)
      d[lane] = half ? results[2 * i][lane] | results[2 * i + 1][lane] << 16 : results[i][lane];
  }
  tensor::count_multiply_adds(cluster, multiply_adds);
  return Flow::Next;
}

// ---- FP64: m8n8k4, and m16n8k4, 8 and 16. One fused multiply-add per product, in the order of k.

struct DoubleMma {
  size_t rows = 8, k = 4;
  int rounding = FE_TONEAREST;
  std::vector<int32_t> d, a, b, c;  ///< slots
};

// Fragments, with t = lane / 4 and q = lane % 4. `h`: 1 if there are 8 rows, 2 if 16.
//   A register i: row t + 8 (i % h), k = 4 (i / h) + q
//   B register i: column t, k = 4 i + q
//   C, D register i: row t + 8 (i / 2), column 2 q + i % 2
//
// The products are a function of their own, so that none of them is moved to where the host rounds otherwise.
[[gnu::noinline]] void multiply_f64(const double (*a)[16], const double (*b)[16], size_t depth, size_t registers,
                                    double (*sums)[32]) {
  for (size_t i = 0; i < registers; ++i) {
    for (size_t lane = 0; lane < 32; ++lane) {
      const double* const row = a[lane / 4 + 8 * (i / 2)];
      const double* const column = b[2 * (lane % 4) + i % 2];
      for (size_t k = 0; k < depth; ++k) sums[i][lane] = std::fma(row[k], column[k], sums[i][lane]);
    }
  }
}
Flow mma_f64(Warp& w, const DoubleMma& o, Mask m) {
  if (!gather(w, kAllLanes, &m)) return Flow::Block;
  const size_t halves = o.rows / 8;
  double a[16][16], b[8][16];
  for (size_t lane = 0; lane < 32; ++lane) {
    const size_t t = lane / 4, q = lane % 4;
    for (size_t i = 0; i < o.a.size(); ++i)
      a[t + 8 * (i % halves)][4 * (i / halves) + q] = lanes<double>(w, o.a[i])[lane];
    for (size_t i = 0; i < o.b.size(); ++i) b[t][4 * i + q] = lanes<double>(w, o.b[i])[lane];
  }
  double results[4][32];
  for (size_t i = 0; i < o.c.size(); ++i) std::copy_n(lanes<double>(w, o.c[i]), 32, results[i]);
  const int before = std::fegetround();
  std::fesetround(o.rounding);
  multiply_f64(a, b, o.k, o.c.size(), results);
  std::fesetround(before);
  for (size_t i = 0; i < o.d.size(); ++i) std::copy_n(results[i], 32, lanes<double>(w, o.d[i]));
  tensor::count_multiply_adds(cluster_of(w), o.rows * 8 * o.k);
  return Flow::Next;
}

void decode_mma_f64(Decoder& d) {
  if (tensor::types_of(d).size() != 4) d.unsupported("four types are required");
  DoubleMma o;
  d.for_modifiers(
      [&](const std::string& modifier) { return std::sscanf(modifier.c_str(), "m%zun8k%zu", &o.rows, &o.k) == 2; });
  constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  if (const int rounding = d.which({"rn", "rz", "rm", "rp"}); rounding >= 0) o.rounding = kModes[rounding];
  o.d = d.destinations(d.operand(0), 8);
  o.a = d.sources(d.operand(1), Type::F64);
  o.b = d.sources(d.operand(2), Type::F64);
  o.c = d.sources(d.operand(3), Type::F64);
  const bool known = (o.rows == 8 && o.k == 4) || (o.rows == 16 && (o.k == 4 || o.k == 8 || o.k == 16));
  if (!known || o.a.size() != o.rows * o.k / 32 || o.b.size() != o.k / 4 || o.c.size() != o.rows / 4 ||
      o.d.size() != o.rows / 4)
    d.unsupported("this shape");
  d.emit<mma_f64>(std::move(o));
}

void decode_mma(Decoder& d) {
  if (!d.has("row") || !d.has("col")) d.unsupported("only A by rows and B by columns");
  if (d.last_type() == Type::F64) return decode_mma_f64(d);
  Mma o;
  d.for_modifiers([&](const std::string& modifier) { return std::sscanf(modifier.c_str(), "m16n8k%d", &o.k) == 1; });
  const std::vector<Type> types = tensor::types_of(d);
  if (types.size() != 4) d.unsupported("four types are required");
  o.a_format = tensor::format_of(d, types[1]), o.b_format = tensor::format_of(d, types[2]);
  o.result = tensor::result_of(types[0]);
  const auto k_bytes = static_cast<size_t>(o.k * tensor::element_bytes(o.a_format));
  if (k_bytes != 32 && k_bytes != 16) d.unsupported("this shape");
  o.d = d.destinations(d.operand(0), 4);
  o.a = d.sources(d.operand(1), Type::B32);
  o.b = d.sources(d.operand(2), Type::B32);
  o.c = d.sources(d.operand(3), Type::B32);
  const size_t accumulators = o.result == tensor::Result::F16 ? 2 : 4;
  if (o.a.size() != k_bytes / 8 || o.b.size() != k_bytes / 16 || o.c.size() != accumulators ||
      o.d.size() != accumulators)
    d.unsupported("the number of registers does not match the shape");
  d.emit<mma>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {{"mma", decode_mma}};
constexpr std::string_view kIgnored[] = {"sync", "aligned"};

}  // namespace

constinit const Family families::mma{kMnemonics, kIgnored};

}  // namespace sim
