// wmma: matrix fragments whose layout is the machine's own business, from memory and back, and their products.
#include <cmath>

#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "exec/tensor/kernels.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

enum Flags : uint32_t { kColumnMajor = 1, kWide = 2, kStore = 4, kDouble = 8 };

/// A fragment of rows x columns elements: element e = row * columns + column is in lane e / per_lane, at position
/// e % per_lane of that lane's registers. Registers with room for more hold their elements repeatedly.
struct Fragment {
  int rows, columns, bits;
  size_t per_lane() const { return static_cast<size_t>(rows) * static_cast<size_t>(columns) / 32; }
};

uint64_t element(Warp& w, const std::vector<int32_t>& slots, size_t first, int bits, size_t lane, size_t position) {
  if (bits == 64) return lanes<uint64_t>(w, slots[first + position])[lane];
  const size_t per_register = 32 / static_cast<size_t>(bits);
  const uint32_t word = lanes<uint32_t>(w, slots[first + position / per_register])[lane];
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

// load, store. shape[0] rows, shape[1] columns, shape[2] bits of an element, shape[3] space; a: address, b: stride in
// elements, c: scratch for the addresses of the elements; list: the registers
Flow transfer(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  const Fragment fragment{op.shape[0], op.shape[1], op.shape[2]};
  const auto& slots = op.extra->list;
  const auto bytes = static_cast<uint32_t>(fragment.bits / 8);
  const size_t per_lane = fragment.per_lane();
  const size_t positions = slots.size() * (fragment.bits == 64 ? 1 : 32 / static_cast<size_t>(fragment.bits));
  for (size_t p = 0; p < per_lane; ++p) {
    for (size_t lane = 0; lane < 32; ++lane) {
      const int e = static_cast<int>(lane * per_lane + p), row = e / fragment.columns, column = e % fragment.columns;
      const int64_t stride = lanes<uint32_t>(w, op.b)[lane];
      const int64_t at = op.flags & kColumnMajor ? column * stride + row : row * stride + column;
      if (op.flags & kWide)
        lanes<uint64_t>(w, op.c)[lane] = lanes<uint64_t>(w, op.a)[lane] + static_cast<uint64_t>(at * bytes);
      else
        lanes<uint32_t>(w, op.c)[lane] = lanes<uint32_t>(w, op.a)[lane] + static_cast<uint32_t>(at * bytes);
    }
    Access access;
    resolve(w, static_cast<ptx::Space>(op.shape[3]), false, op.c, op.flags & kWide, op.imm, bytes, kAllLanes,
            op.flags & kStore ? AccessKind::Store : AccessKind::Load, &access);
    for (size_t lane = 0; lane < 32; ++lane) {
      uint64_t value = 0;
      if (op.flags & kStore) {
        value = element(w, slots, 0, fragment.bits, lane, p);
        std::memcpy(access.host[lane], &value, bytes);
      } else {
        std::memcpy(&value, access.host[lane], bytes);
        for (size_t q = p; q < positions; q += per_lane) set_element(w, slots, fragment.bits, lane, q, value);
      }
    }
  }
  if (op.flags & kStore) note_effect(w);
  return Flow::Next;
}

// mma. shape[0] M, shape[1] N, shape[2] K, shape[3] formats (a | b << 8); imm: Result; list: d, list2: a, then b, then c;
// a, b: registers of A and of B
Flow multiply(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  const int rows = op.shape[0], columns = op.shape[1], k = op.shape[2];
  const auto a_registers = static_cast<size_t>(op.a), b_registers = static_cast<size_t>(op.b);
  const auto& slots = op.extra->list2;
  const auto get = [&](size_t first, const Fragment& fragment, int row, int column) {
    const auto e = static_cast<size_t>(row * fragment.columns + column);
    return element(w, slots, first, fragment.bits, e / fragment.per_lane(), e % fragment.per_lane());
  };
  const auto a_format = static_cast<Format>(op.shape[3] & 0xFF), b_format = static_cast<Format>(op.shape[3] >> 8);
  const bool is_double = op.flags & kDouble;
  const Fragment a{rows, k, is_double ? 64 : 8 * tensor::element_bytes(a_format)};
  const Fragment b{k, columns, is_double ? 64 : 8 * tensor::element_bytes(b_format)};
  tensor::Arithmetic how;
  how.k = k;
  how.result = static_cast<tensor::Result>(op.imm);
  const auto multiply_adds = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns) * static_cast<uint64_t>(k);
  how.exact = !is_double && cluster.exact_arithmetic(multiply_adds);
  const Fragment d{rows, columns, is_double ? 64 : how.result == tensor::Result::F16 ? 16 : 32};

  // Rows of A and columns of B as numbers.
  const auto widen = [&](Format format, int length, auto bits_of, float* out, int16_t* exponents) {
    uint8_t bytes[4 * tensor::kMaxK];
    const auto size = static_cast<size_t>(tensor::element_bytes(format));
    for (int i = 0; i < length; ++i) {
      const uint64_t bits = bits_of(i);
      std::memcpy(bytes + static_cast<size_t>(i) * size, &bits, size);
    }
    tensor::widen(format, bytes, length, out);
    for (int i = 0; i < length; ++i) exponents[i] = tensor::model_exponent(out[i], tensor::min_exponent(format));
  };
  float b_values[32][tensor::kMaxK], a_values[tensor::kMaxK];
  int16_t b_exponents[32][tensor::kMaxK], a_exponents[tensor::kMaxK];
  for (int column = 0; column < columns && !is_double; ++column) {
    widen(
        b_format, k, [&](int i) { return get(a_registers, b, i, column); }, b_values[column], b_exponents[column]);
  }
  std::vector<uint64_t> results(static_cast<size_t>(rows * columns));
  for (int row = 0; row < rows; ++row) {
    if (!is_double)
      widen(
          a_format, k, [&](int i) { return get(0, a, row, i); }, a_values, a_exponents);
    for (int column = 0; column < columns; ++column) {
      const uint64_t c = get(a_registers + b_registers, d, row, column);
      uint64_t& result = results[static_cast<size_t>(row * columns + column)];
      if (!is_double) {
        result = tensor::multiply_one(how, a_values, a_exponents, b_values[column], b_exponents[column],
                                      static_cast<uint32_t>(c), true);
        continue;
      }
      auto sum = std::bit_cast<double>(c);
      for (int i = 0; i < k; ++i)
        sum = std::fma(std::bit_cast<double>(get(0, a, row, i)), std::bit_cast<double>(get(a_registers, b, i, column)),
                       sum);
      result = std::bit_cast<uint64_t>(sum);
    }
  }
  for (size_t e = 0; e < results.size(); ++e)
    set_element(w, op.extra->list, d.bits, e / d.per_lane(), e % d.per_lane(), results[e]);
  if (cluster.counters != nullptr) {
    cluster.counters->tensor_flops += 2 * multiply_adds;
    ++cluster.counters->tensor_instructions;
  }
  return Flow::Next;
}

struct Shape {
  int m = 0, n = 0, k = 0;
};
Shape shape_of(Decoder& d) {
  Shape shape;
  d.for_modifiers([&](const std::string& modifier) {
    return std::sscanf(modifier.c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) == 3;
  });
  if (shape.k == 0) d.unsupported("a shape is required");
  return shape;
}

/// Appends the registers of operand `index`, which must have room for a fragment of rows x columns elements.
void add_registers(Decoder& d, size_t index, const Fragment& fragment, bool is_destination,
                   std::vector<int32_t>* list) {
  const int bits = fragment.bits;
  const size_t before = list->size();
  const Operand& operand = d.operand(index);
  const Type type = bits == 64 ? Type::B64 : Type::B32;
  for (const Operand& each : operand.kind == Operand::Kind::Vector ? operand.elements : std::vector<Operand>{operand})
    list->push_back(is_destination ? d.destination(each, bits == 64 ? 8 : 4) : d.source(each, type));
  const size_t room = (list->size() - before) * (bits == 64 ? 1 : 32 / static_cast<size_t>(bits));
  if (room < fragment.per_lane()) d.unsupported("the number of registers does not match the shape");
}

void decode_multiply(Decoder& d) {
  Op& op = *d.op;
  const Shape shape = shape_of(d);
  d.ignore({"row", "col", "rn"});  // fragments know nothing of how they lay in memory
  std::vector<std::string> types;
  d.for_modifiers([&](const std::string& modifier) {
    if (ptx::type_of(modifier) == Type::None) return false;
    types.push_back(modifier);
    return true;
  });
  if (types.size() == 2) types.insert(types.begin() + 1, {"f16", "f16"});  // D and C alone
  if (types.size() != 4 || types[0] != types[3]) d.unsupported("these types");
  const auto format = [&](const std::string& name) {
    if (name == "f16") return Format::F16;
    if (name == "bf16") return Format::BF16;
    if (name == "tf32") return Format::TF32;
    if (name == "s8") return Format::S8;
    if (name == "u8") return Format::U8;
    if (name == "f64") return Format::F16;  // not looked at
    d.unsupported("the type ." + name);
  };
  if (types[1] == "f64") op.flags |= kDouble;
  op.shape[0] = static_cast<uint16_t>(shape.m), op.shape[1] = static_cast<uint16_t>(shape.n),
  op.shape[2] = static_cast<uint16_t>(shape.k);
  op.shape[3] = static_cast<uint16_t>(static_cast<int>(format(types[1])) | static_cast<int>(format(types[2])) << 8);
  op.imm = static_cast<int64_t>(types[0] == "f16"   ? tensor::Result::F16
                                : types[0] == "s32" ? tensor::Result::S32
                                                    : tensor::Result::F32);
  const auto bits = [&](const std::string& name) { return name == "tf32" ? 32 : ptx::bits(ptx::type_of(name)); };
  const Fragment result{shape.m, shape.n, bits(types[0])};
  std::vector<int32_t>& sources = d.extra().list2;
  add_registers(d, 0, result, true, &d.extra().list);
  add_registers(d, 1, {shape.m, shape.k, bits(types[1])}, false, &sources);
  op.a = static_cast<int32_t>(sources.size());
  add_registers(d, 2, {shape.k, shape.n, bits(types[2])}, false, &sources);
  op.b = static_cast<int32_t>(sources.size()) - op.a;
  add_registers(d, 3, result, false, &sources);
  op.run = multiply;
}

void decode_transfer(Decoder& d, bool is_store) {
  Op& op = *d.op;
  const Shape shape = shape_of(d);
  d.ignore({"row", "d"});
  const bool is_a = d.has("a"), is_b = d.has("b");
  d.ignore({"c"});
  if (is_store) op.flags |= kStore;
  if (d.has("col")) op.flags |= kColumnMajor;
  const Type type = d.last_type();
  const int bits = type == Type::TF32 ? 32 : ptx::bits(type);
  op.shape[0] = static_cast<uint16_t>(is_b ? shape.k : shape.m);
  op.shape[1] = static_cast<uint16_t>(is_a ? shape.k : shape.n);
  op.shape[2] = static_cast<uint16_t>(bits);
  op.shape[3] = static_cast<uint16_t>(d.has("global")                           ? ptx::Space::Global
                                      : d.has("shared") || d.has("shared::cta") ? ptx::Space::Shared
                                                                                : ptx::Space::Generic);
  if (bits < 8) d.unsupported("elements of less than a byte");
  add_registers(d, is_store ? 1 : 0, {op.shape[0], op.shape[1], bits}, !is_store, &d.extra().list);
  const Decoder::Address address = d.address(d.operand(is_store ? 0 : 1));
  op.a = address.slot, op.imm = address.offset;
  if (address.wide) op.flags |= kWide;
  const int whole = op.flags & kColumnMajor ? op.shape[0] : op.shape[1];
  op.b = d.count() > 2 ? d.source(2, Type::B32) : d.constant(static_cast<uint64_t>(whole), 4);
  op.c = d.scratch(8);
  op.run = transfer;
}

}  // namespace

void decode_wmma(Decoder& d) {
  const std::string what = d.modifier(0);
  d.ignore({"sync", "aligned", "load", "store"});
  if (what == "mma") return decode_multiply(d);
  if (what == "load" || what == "store") decode_transfer(d, what == "store");
}

}  // namespace sim
