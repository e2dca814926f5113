// wmma: matrix fragments with an unspecified layout, loads and stores of them, and their products.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "exec/core/families.h"
#include "exec/memory/operand.h"
#include "exec/tensor/types.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

/// A fragment of rows x columns elements: element e = row * columns + column is in lane e / per_lane, at position e %
/// per_lane of that lane's registers. Fragments with more room than elements hold them repeatedly.
struct Fragment {
  int rows, columns, bits;
  size_t per_lane() const { return static_cast<size_t>(rows) * static_cast<size_t>(columns) / 32; }
};

uint64_t element(Warp& w, const std::vector<int32_t>& slots, int bits, size_t lane, size_t position) {
  if (bits == 64) return lanes<uint64_t>(w, slots[position])[lane];
  const size_t per_register = 32 / static_cast<size_t>(bits);
  const uint32_t word = lanes<uint32_t>(w, slots[position / per_register])[lane];
  return word >> (position % per_register * static_cast<size_t>(bits)) & ((uint64_t{1} << bits) - 1);
}

void set_element(Warp& w, const std::vector<int32_t>& slots, int bits, size_t lane, size_t position, uint64_t value) {
  if (bits == 64) {
    lanes<uint64_t>(w, slots[position])[lane] = value;
    return;
  }
  const size_t per_register = 32 / static_cast<size_t>(bits);
  const size_t shift = position % per_register * static_cast<size_t>(bits);
  const auto mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
  uint32_t& word = lanes<uint32_t>(w, slots[position / per_register])[lane];
  word = (word & ~(mask << shift)) | static_cast<uint32_t>(value) << shift;
}

// ---- load, store

struct Transfer {
  Fragment fragment{};
  MemoryOperand at;
  int32_t stride = -1;     ///< slot: elements from row to row, or from column to column
  int32_t addresses = -1;  ///< scratch slot for the addresses of elements
  bool column_major = false, stores = false;
  std::vector<int32_t> registers;
};
Flow transfer(Warp& w, const Transfer& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  const Fragment& fragment = o.fragment;
  const auto bytes = static_cast<uint32_t>(fragment.bits / 8);
  const size_t per_lane = fragment.per_lane();
  const size_t positions = o.registers.size() * (fragment.bits == 64 ? 1 : 32 / static_cast<size_t>(fragment.bits));
  MemoryOperand elements = o.at;
  elements.address.slot = o.addresses;
  for (size_t p = 0; p < per_lane; ++p) {
    for (size_t lane = 0; lane < 32; ++lane) {
      const int e = static_cast<int>(lane * per_lane + p), row = e / fragment.columns, column = e % fragment.columns;
      const int64_t stride = lanes<uint32_t>(w, o.stride)[lane];
      const int64_t at = o.column_major ? column * stride + row : row * stride + column;
      if (o.at.address.wide)
        lanes<uint64_t>(w, o.addresses)[lane] =
            lanes<uint64_t>(w, o.at.address.slot)[lane] + static_cast<uint64_t>(at * bytes);
      else
        lanes<uint32_t>(w, o.addresses)[lane] =
            lanes<uint32_t>(w, o.at.address.slot)[lane] + static_cast<uint32_t>(at * bytes);
    }
    Access access;
    resolve(w, elements, bytes, kAllLanes, o.stores ? AccessKind::Store : AccessKind::Load, &access);
    for (size_t lane = 0; lane < 32; ++lane) {
      uint64_t value = 0;
      if (o.stores) {
        value = element(w, o.registers, fragment.bits, lane, p);
        std::memcpy(access.host[lane], &value, bytes);
      } else {
        std::memcpy(&value, access.host[lane], bytes);
        for (size_t q = p; q < positions; q += per_lane) set_element(w, o.registers, fragment.bits, lane, q, value);
      }
    }
  }
  if (o.stores) note_effect(w);
  return Flow::Next;
}

// ---- mma

struct Multiply {
  int rows = 0, columns = 0, k = 0;
  Format a_format = Format::F16, b_format = Format::F16;
  tensor::ResultFormat result = tensor::ResultFormat::F32;
  bool is_double = false;
  std::vector<int32_t> d, a, b, c;  ///< slots
};
Flow multiply(Warp& w, const Multiply& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  const auto get = [&](const std::vector<int32_t>& slots, const Fragment& fragment, int row, int column) {
    const auto e = static_cast<size_t>(row * fragment.columns + column);
    return element(w, slots, fragment.bits, e / fragment.per_lane(), e % fragment.per_lane());
  };
  const Fragment a{o.rows, o.k, o.is_double ? 64 : 8 * tensor::element_bytes(o.a_format)};
  const Fragment b{o.k, o.columns, o.is_double ? 64 : 8 * tensor::element_bytes(o.b_format)};
  const Fragment d{o.rows, o.columns, o.is_double ? 64 : o.result == tensor::ResultFormat::F16 ? 16 : 32};
  const auto multiply_adds =
      static_cast<uint64_t>(o.rows) * static_cast<uint64_t>(o.columns) * static_cast<uint64_t>(o.k);
  if (o.is_double) {
    std::array<double, 64> results;  // m8n8k4
    for (int row = 0; row < o.rows; ++row) {
      for (int column = 0; column < o.columns; ++column) {
        auto sum = std::bit_cast<double>(get(o.c, d, row, column));
        for (int i = 0; i < o.k; ++i) {
          sum =
              std::fma(std::bit_cast<double>(get(o.a, a, row, i)), std::bit_cast<double>(get(o.b, b, i, column)), sum);
        }
        results[static_cast<size_t>(row * o.columns + column)] = sum;
      }
    }
    for (size_t e = 0; e < results.size(); ++e)
      set_element(w, o.d, 64, e / d.per_lane(), e % d.per_lane(), std::bit_cast<uint64_t>(results[e]));
    tensor::count_multiply_adds(cluster, multiply_adds);
    return Flow::Next;
  }
  tensor::Arithmetic how;
  how.k = o.k;
  how.result = o.result;
  how.exact = cluster.exact_arithmetic(multiply_adds);

  // A lane for each row of A; columns of B one after the other.
  std::array<tensor::Row, tensor::kLanes> a_rows{}, b_columns{};
  const auto put = [&](Format format, tensor::Row& row, int i, uint64_t bits) {
    const auto size = static_cast<size_t>(tensor::element_bytes(format));
    std::memcpy(row.data() + static_cast<size_t>(i) * size, &bits, size);
  };
  for (int i = 0; i < o.k; ++i) {
    for (int row = 0; row < o.rows; ++row) put(o.a_format, a_rows[static_cast<size_t>(row)], i, get(o.a, a, row, i));
    for (int column = 0; column < o.columns; ++column)
      put(o.b_format, b_columns[static_cast<size_t>(column)], i, get(o.b, b, i, column));
  }
  const tensor::Kernels& kernels = tensor::kernels();
  tensor::LaneTile lane_tile;
  std::array<tensor::ColumnTile, tensor::kLanes> column_tiles;
  kernels.pack_lanes({.format = o.a_format, .k = o.k, .exponents = how.exact}, a_rows.data(), 1, &lane_tile);
  kernels.pack_columns({.format = o.b_format, .k = o.k, .exponents = how.exact}, b_columns.data(), o.columns,
                       column_tiles.data());
  alignas(64) uint32_t cells[tensor::kLanes][tensor::kLanes];
  uint32_t* columns[tensor::kLanes];
  for (int column = 0; column < o.columns; ++column) {
    columns[column] = cells[column];
    for (int row = 0; row < o.rows; ++row) cells[column][row] = static_cast<uint32_t>(get(o.c, d, row, column));
  }
  kernels.columns(how, &lane_tile, column_tiles.data(), columns, o.columns, true,
                  static_cast<uint32_t>((uint64_t{1} << o.rows) - 1));
  for (int row = 0; row < o.rows; ++row) {
    for (int column = 0; column < o.columns; ++column) {
      const auto e = static_cast<size_t>(row * o.columns + column);
      set_element(w, o.d, d.bits, e / d.per_lane(), e % d.per_lane(), cells[column][row]);
    }
  }
  tensor::count_multiply_adds(cluster, multiply_adds);
  return Flow::Next;
}

// ---- decoding

struct Shape {
  int m = 0, n = 0, k = 0;
};
Shape shape_of(Decoder& d) {
  Shape shape;
  d.for_modifiers([&](const std::string& modifier) {
    return std::sscanf(modifier.c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) == 3;
  });
  if (shape.k == 0) d.unsupported(faults::shape_required);
  return shape;
}

/// The registers of operand `index`, which must have room for a fragment.
std::vector<int32_t> registers_of(Decoder& d, size_t index, const Fragment& fragment, bool are_destinations) {
  const bool wide = fragment.bits == 64;
  const Operand& operand = d.operand(index);
  std::vector<int32_t> slots =
      are_destinations ? d.destinations(operand, wide ? 8 : 4) : d.sources(operand, wide ? Type::B64 : Type::B32);
  const size_t room = slots.size() * (wide ? 1 : 32 / static_cast<size_t>(fragment.bits));
  if (room < fragment.per_lane()) d.unsupported(faults::registers_of_shape);
  return slots;
}

int bits_of(Type type) { return type == Type::TF32 ? 32 : ptx::bits(type); }

void decode_multiply(Decoder& d) {
  const Shape shape = shape_of(d);
  d.ignore({"row", "col", "rn"});  // fragments do not depend on the layout in memory
  std::vector<Type> types = tensor::types_of(d);
  if (types.size() == 2) types.insert(types.begin() + 1, {Type::F16, Type::F16});  // D and C alone
  if (types.size() != 4 || types[0] != types[3]) d.unsupported(faults::unknown_types);
  Multiply o;
  o.rows = shape.m, o.columns = shape.n, o.k = shape.k;
  o.is_double = types[1] == Type::F64;
  if (!o.is_double) o.a_format = tensor::format_of(d, types[1]), o.b_format = tensor::format_of(d, types[2]);
  if (!o.is_double) o.result = types[0] == Type::F64 ? tensor::ResultFormat::F32 : tensor::result_of(types[0]);
  const Fragment result{shape.m, shape.n, bits_of(types[0])};
  o.d = registers_of(d, 0, result, true);
  o.a = registers_of(d, 1, {shape.m, shape.k, bits_of(types[1])}, false);
  o.b = registers_of(d, 2, {shape.k, shape.n, bits_of(types[2])}, false);
  o.c = registers_of(d, 3, result, false);
  d.emit<multiply>(std::move(o));
}

template <bool STORES>
void decode_transfer(Decoder& d) {
  const Shape shape = shape_of(d);
  d.ignore({"row", "d"});
  const bool is_a = d.has("a"), is_b = d.has("b");
  d.ignore({"c"});
  Transfer o;
  o.stores = STORES;
  o.column_major = d.has("col");
  o.fragment = {is_b ? shape.k : shape.m, is_a ? shape.k : shape.n, bits_of(d.last_type())};
  if (o.fragment.bits < 8) d.unsupported(faults::small_elements);
  o.registers = registers_of(d, STORES ? 1 : 0, o.fragment, !STORES);
  o.at.address = d.address(STORES ? 0 : 1);
  o.at.space = d.has("global")                           ? ptx::Space::Global
               : d.which({"shared", "shared::cta"}) >= 0 ? ptx::Space::Shared
                                                         : ptx::Space::Generic;
  const int whole = o.column_major ? o.fragment.rows : o.fragment.columns;
  o.stride = d.count() > 2 ? d.source(2, Type::B32) : d.constant(static_cast<uint64_t>(whole), 4);
  o.addresses = d.scratch(8);
  d.emit<transfer>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {
    {"wmma.mma", decode_multiply, Manner{.use = DataUse::Carries, .cost = CostClass::SyncMma}},
    {"wmma.load", decode_transfer<false>},
    {"wmma.store", decode_transfer<true>}};
constexpr std::string_view kIgnored[] = {"sync", "aligned"};

}  // namespace

constinit const Family families::wmma{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Carries}};

}  // namespace sim
