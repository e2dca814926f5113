// mma.sync.m8n8k4 with F16: four products of 8 x 8 x 4, one for each quad pair (lanes 4 p to 4 p + 3, and those 16
// further on). GPUs since Ampere have no such tensor core: each product and sum is an FP32 instruction.
#include <array>
#include <cmath>

#include "exec/arithmetic/numeric.h"
#include "exec/core/op.h"
#include "exec/tensor/mma.h"
#include "exec/tensor/types.h"

namespace sim {
namespace {

using ptx::Type;

struct QuadPairMma {
  bool a_by_rows = true, b_by_rows = false;
  bool d_is_half = false, c_is_half = false;
  std::vector<int32_t> d, a, b, c;  ///< slots
};

/// The lane with number 0 to 7 in quad pair `pair`.
size_t lane_of(size_t pair, size_t number) { return 4 * pair + number % 4 + 16 * (number / 4); }

float element(Warp& w, const std::vector<int32_t>& slots, size_t lane, size_t i) {
  return f16_to_float(static_cast<uint16_t>(lanes<uint32_t>(w, slots[i / 2])[lane] >> 16 * (i % 2)));
}

/// The position of element (row, column) of C or D: lane of the quad pair, and index in that lane.
struct ElementPlace {
  size_t number, i;
};
ElementPlace place_of(bool is_half, size_t row, size_t column) {
  if (is_half) return {row, column};
  return {row / 4 * 4 + (column & 2) + (row & 1), (column & 4) + (row & 2) + (column & 1)};
}

/// The order of hardware's sums: for an F32 result first the products in order, then C; for an F16 result C plus the
/// sum of two products, then plus the sum of the other two.
float sum_of(const std::array<float, 4>& a, const std::array<float, 4>& b, float c, bool d_is_half) {
  if (d_is_half) return (c + std::fma(a[1], b[1], a[0] * b[0])) + std::fma(a[3], b[3], a[2] * b[2]);
  float sum = 0;
  for (size_t k = 0; k < 4; ++k) sum = std::fma(a[k], b[k], sum);
  return c + sum;
}

Flow mma_quad_pairs(Warp& w, const QuadPairMma& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  std::array<std::array<uint32_t, 32>, 8> results{};
  for (size_t pair = 0; pair < 4; ++pair) {
    for (size_t row = 0; row < 8; ++row) {
      for (size_t column = 0; column < 8; ++column) {
        std::array<float, 4> a, b;
        for (size_t k = 0; k < 4; ++k) {
          // With A in row order a lane holds a row, otherwise one k of four rows; for B the reverse.
          a[k] = o.a_by_rows ? element(w, o.a, lane_of(pair, row), k)
                             : element(w, o.a, lane_of(pair, row / 4 * 4 + k), row % 4);
          b[k] = o.b_by_rows ? element(w, o.b, lane_of(pair, column / 4 * 4 + k), column % 4)
                             : element(w, o.b, lane_of(pair, column), k);
        }
        const ElementPlace from = place_of(o.c_is_half, row, column), to = place_of(o.d_is_half, row, column);
        const size_t lane = lane_of(pair, from.number);
        const float c = o.c_is_half ? element(w, o.c, lane, from.i) : lanes<float>(w, o.c[from.i])[lane];
        const float sum = canonical(sum_of(a, b, c, o.d_is_half));
        uint32_t& result = results[o.d_is_half ? to.i / 2 : to.i][lane_of(pair, to.number)];
        result |= o.d_is_half ? uint32_t{float_to_f16_rn(sum)} << 16 * (to.i % 2) : std::bit_cast<uint32_t>(sum);
      }
    }
  }
  for (size_t i = 0; i < o.d.size(); ++i) std::memcpy(lanes<uint32_t>(w, o.d[i]), results[i].data(), sizeof results[i]);
  tensor::count_multiply_adds(cluster_of(w), 4 * 8 * 8 * 4);
  return Flow::Next;
}

}  // namespace

void tensor::decode_mma_quad_pairs(Decoder& d) {
  QuadPairMma o;
  std::vector<bool> by_rows;
  d.for_modifiers([&](const std::string& modifier) {
    if (modifier == "row" || modifier == "col") by_rows.push_back(modifier == "row");
    return modifier == "m8n8k4" || modifier == "row" || modifier == "col";
  });
  const std::vector<Type> types = tensor::types_of(d);
  if (types.size() != 4 || by_rows.size() != 2 || types[1] != Type::F16 || types[2] != Type::F16)
    d.unsupported(faults::unknown_form);
  o.a_by_rows = by_rows[0], o.b_by_rows = by_rows[1];
  o.d_is_half = types[0] == Type::F16, o.c_is_half = types[3] == Type::F16;
  o.d = d.destinations(d.operand(0), 4);
  o.a = d.sources(d.operand(1), Type::B32);
  o.b = d.sources(d.operand(2), Type::B32);
  o.c = d.sources(d.operand(3), Type::B32);
  if (o.a.size() != 2 || o.b.size() != 2 || o.c.size() != (o.c_is_half ? 4 : 8) || o.d.size() != (o.d_is_half ? 4 : 8))
    d.unsupported(faults::registers_of_shape);
  d.emit<mma_quad_pairs>(std::move(o));
}

}  // namespace sim
