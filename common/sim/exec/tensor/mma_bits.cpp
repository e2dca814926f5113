// mma.sync with elements of one bit: D = C + the number of positions with a one in both operands (.and), or in exactly
// one of them (.xor).
#include <bit>

#include "exec/core/op.h"
#include "exec/tensor/mma.h"
#include "exec/tensor/types.h"

namespace sim {
namespace {

using ptx::Type;

struct BitMma {
  size_t rows = 16, k = 128;
  bool is_xor = false;
  std::vector<int32_t> d, a, b, c;  ///< slots
};

// Fragments as those of larger elements (mma.cpp): four lanes hold 128 bits of a row of A or of a column of B.
Flow mma_bits(Warp& w, const BitMma& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  const size_t halves = o.rows / 8;
  uint32_t results[4][32];
  for (size_t i = 0; i < o.c.size(); ++i) {
    const auto* const c = lanes<uint32_t>(w, o.c[i]);
    for (size_t lane = 0; lane < 32; ++lane) {
      const size_t column = 2 * (lane % 4) + i % 2;
      uint32_t sum = c[lane];
      for (size_t part = 0; part < o.b.size(); ++part) {
        const auto* const a = lanes<uint32_t>(w, o.a[halves * part + i / 2]) + lane / 4 * 4;
        const auto* const b = lanes<uint32_t>(w, o.b[part]) + 4 * column;
        for (size_t q = 0; q < 4; ++q)
          sum += static_cast<uint32_t>(std::popcount(o.is_xor ? a[q] ^ b[q] : a[q] & b[q]));
      }
      results[i][lane] = sum;
    }
  }
  for (size_t i = 0; i < o.d.size(); ++i) std::memcpy(lanes<uint32_t>(w, o.d[i]), results[i], sizeof results[i]);
  tensor::count_multiply_adds(cluster_of(w), o.rows * 8 * o.k);
  return Flow::Next;
}

}  // namespace

void tensor::decode_mma_bits(Decoder& d) {
  d.ignore({"row", "col", "s32", "b1", "popc"});
  BitMma o;
  d.for_modifiers(
      [&](const std::string& modifier) { return std::sscanf(modifier.c_str(), "m%zun8k%zu", &o.rows, &o.k) == 2; });
  o.is_xor = d.which({"and", "xor"}) == 1;
  o.d = d.destinations(d.operand(0), 4);
  o.a = d.sources(d.operand(1), Type::B32);
  o.b = d.sources(d.operand(2), Type::B32);
  o.c = d.sources(d.operand(3), Type::B32);
  if ((o.rows != 8 && o.rows != 16) || o.b.size() != o.k / 128 || o.a.size() != o.rows / 8 * o.b.size() ||
      o.c.size() != o.rows / 4 || o.d.size() != o.c.size())
    d.unsupported(faults::unknown_shape);
  d.emit<mma_bits>(std::move(o));
}

}  // namespace sim
