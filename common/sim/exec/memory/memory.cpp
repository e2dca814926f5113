// Ordinary loads and stores, atomics, cp.async, and the matrix loads and stores of a warp.
#include <algorithm>
#include <cmath>

#include "check/store_audit.h"
#include "exec/arithmetic/numeric.h"
#include "exec/async/groups.h"
#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

enum Flags : uint32_t {
  kWide = 1,          // the address slot holds 64-bit lanes
  kClusterSpace = 2,  // shared::cluster
  kSigned = 4,        // a narrow load is sign-extended
  kPolls = 8,         // volatile, relaxed or acquire: others may be changing it
  kReturns = 16,      // an atomic with a result
};
// shape[0] element bytes, shape[1] elements, shape[2] space, shape[3] register bits of an element

/// Which caches keep a line, and which order and scope an access asks for, make no difference: memory is sequentially
/// consistent here.
void ignore_hints(Decoder& d) {
  d.ignore({"v2",      "v4",      "v8",   "nc",  "ca",      "cg",  "cs",  "lu",    "wb",    "wt",   "weak",
            "release", "acq_rel", "mmio", "cta", "cluster", "gpu", "sys", "L1::*", "L2::*", "noftz"});
}

Space space_of(Decoder& d, bool* cluster) {
  *cluster = d.has("shared::cluster");
  if (d.has("global")) return Space::Global;
  if (d.has("shared") || d.has("shared::cta") || *cluster) return Space::Shared;
  if (d.has("local")) return Space::Local;
  if (d.has("const")) return Space::Const;
  if (d.has("param") || d.has("param::entry") || d.has("param::func")) return Space::Param;
  return Space::Generic;
}

void set_address(Decoder& d, const Operand& operand, Space space, bool cluster) {
  Op& op = *d.op;
  const Decoder::Address address = d.address(operand);
  op.a = address.slot;
  op.imm = address.offset;
  if (address.wide) op.flags |= kWide;
  if (cluster) op.flags |= kClusterSpace;
  // An argument of a call, and a named variable without a space in the instruction: the variable knows.
  const Operand& base = operand.kind == Operand::Kind::Address ? operand.elements[0] : operand;
  if (space == Space::Param && base.kind == Operand::Kind::Variable && !d.is_kernel_parameter(base.variable))
    space = Space::Local;
  if (space == Space::Generic && address.space != Space::Generic) {
    space = address.space == Space::Param && !d.is_kernel_parameter(base.variable) ? Space::Local : address.space;
  }
  op.shape[2] = static_cast<uint16_t>(space);
}

// ---- loads and stores

template <class Element, class Lane>
void read_lanes(Warp& w, int32_t slot, const Access& access, size_t at, Mask mask, bool is_signed) {
  auto* d = lanes<Lane>(w, slot);
  const auto read = [&](int lane) {
    Element value;
    std::memcpy(&value, access.host[lane] + at, sizeof value);
    return value;
  };
  if (is_signed)
    for_lanes(mask, [&](int lane) {
      d[lane] = static_cast<Lane>(
          static_cast<std::make_signed_t<Lane>>(static_cast<std::make_signed_t<Element>>(read(lane))));
    });
  else
    for_lanes(mask, [&](int lane) { d[lane] = static_cast<Lane>(read(lane)); });
}

/// Returns whether anything changed.
template <class Element, class Lane>
bool write_lanes(Warp& w, int32_t slot, const Access& access, size_t at, Mask mask) {
  const auto* s = lanes<Lane>(w, slot);
  Element difference = 0;
  const auto write = [&](int lane) {  // one after the other: lanes may write to one place
    const auto value = static_cast<Element>(s[lane]);
    Element old;
    std::memcpy(&old, access.host[lane] + at, sizeof old);
    difference = static_cast<Element>(difference | (old ^ value));
    std::memcpy(access.host[lane] + at, &value, sizeof value);
  };
  if (mask == kAllLanes) {
    for (int lane = 0; lane < 32; ++lane) write(lane);
  } else {
    for (Mask rest = mask; rest; rest &= rest - 1) write(first_lane(rest));
  }
  return difference != 0;
}

Flow load(Warp& w, const Op& op, Mask m) {
  const uint32_t bytes = op.shape[0], count = op.shape[1];
  Access access;
  resolve(w, static_cast<Space>(op.shape[2]), op.flags & kClusterSpace, op.a, op.flags & kWide, op.imm, bytes * count,
          m, AccessKind::Load, &access);
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t slot = count == 1 ? op.d : op.extra->list[i];
    if (slot < 0) continue;
    const size_t at = static_cast<size_t>(i) * bytes;
    const bool is_signed = op.flags & kSigned, wide = op.shape[3] == 64;
    switch (bytes) {
      case 1:
        wide ? read_lanes<uint8_t, uint64_t>(w, slot, access, at, m, is_signed)
             : read_lanes<uint8_t, uint32_t>(w, slot, access, at, m, is_signed);
        break;
      case 2:
        wide ? read_lanes<uint16_t, uint64_t>(w, slot, access, at, m, is_signed)
             : read_lanes<uint16_t, uint32_t>(w, slot, access, at, m, is_signed);
        break;
      case 4:
        wide ? read_lanes<uint32_t, uint64_t>(w, slot, access, at, m, is_signed)
             : read_lanes<uint32_t, uint32_t>(w, slot, access, at, m, false);
        break;
      case 8: read_lanes<uint64_t, uint64_t>(w, slot, access, at, m, false); break;
      default:
        for (Mask rest = m; rest; rest &= rest - 1) {
          const int lane = first_lane(rest);
          std::memcpy(&lanes<uint64_t>(w, slot)[lane], access.host[lane] + at, 8);
          std::memcpy(&lanes<uint64_t>(w, slot)[32 + lane], access.host[lane] + at + 8, 8);
        }
    }
  }
  return op.flags & kPolls ? poll(w) : Flow::Next;
}

Flow load_parameter(Warp& w, const Op& op, Mask m) {  // the same value in every lane, straight from the parameters
  const std::vector<uint8_t>& parameters = cluster_of(w).launch->parameters;
  const uint32_t bytes = op.shape[0], count = op.shape[1];
  const auto at = static_cast<size_t>(op.imm);
  if (at + static_cast<size_t>(bytes) * count > parameters.size()) {
    throw Fault{Status::IllegalAddress, "a load beyond the kernel's parameters"};
  }
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t slot = count == 1 ? op.d : op.extra->list[i];
    if (slot < 0) continue;
    uint64_t value = 0;
    std::memcpy(&value, parameters.data() + at + static_cast<size_t>(i) * bytes, bytes);
    if (op.flags & kSigned)
      value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    if (op.shape[3] == 64)
      for_lanes(m, [&](int lane) { lanes<uint64_t>(w, slot)[lane] = value; });
    else
      for_lanes(m, [&](int lane) { lanes<uint32_t>(w, slot)[lane] = static_cast<uint32_t>(value); });
  }
  return Flow::Next;
}

void audit_store(Warp& w, const Op& op, const Access& access, Mask m) {
  Cluster& cluster = cluster_of(w);
  const GlobalMemory& memory = *cluster.launch->memory;
  const uint32_t bytes = op.shape[0], count = op.shape[1];
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t slot = count == 1 ? op.b : op.extra->list[i];
    for (Mask rest = m; rest; rest &= rest - 1) {
      const int lane = first_lane(rest);
      const auto to = reinterpret_cast<uintptr_t>(access.host[lane] + static_cast<size_t>(i) * bytes);
      if (!memory.in_range(to)) continue;
      const auto* fresh = bytes <= 4 && op.shape[3] != 64
                              ? reinterpret_cast<const uint8_t*>(&lanes<uint32_t>(w, slot)[lane])
                              : reinterpret_cast<const uint8_t*>(&lanes<uint64_t>(w, slot)[lane]);
      cluster.launch->audit->record(memory, to, fresh, std::min(bytes, 8u), *cluster.counters);
      if (bytes == 16)
        cluster.launch->audit->record(memory, to + 8,
                                      reinterpret_cast<const uint8_t*>(&lanes<uint64_t>(w, slot)[32 + lane]), 8,
                                      *cluster.counters);
    }
  }
}

Flow store(Warp& w, const Op& op, Mask m) {
  const uint32_t bytes = op.shape[0], count = op.shape[1];
  Access access;
  resolve(w, static_cast<Space>(op.shape[2]), op.flags & kClusterSpace, op.a, op.flags & kWide, op.imm, bytes * count,
          m, AccessKind::Store, &access);
  if (cluster_of(w).launch->audit != nullptr) [[unlikely]]
    audit_store(w, op, access, m);
  bool changed = false;
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t slot = count == 1 ? op.b : op.extra->list[i];
    const size_t at = static_cast<size_t>(i) * bytes;
    switch (op.shape[3] == 64 ? 16 + bytes : bytes) {  // 16 + ..: the lower part of a 64-bit register
      case 1: changed |= write_lanes<uint8_t, uint32_t>(w, slot, access, at, m); break;
      case 2: changed |= write_lanes<uint16_t, uint32_t>(w, slot, access, at, m); break;
      case 4: changed |= write_lanes<uint32_t, uint32_t>(w, slot, access, at, m); break;
      case 17: changed |= write_lanes<uint8_t, uint64_t>(w, slot, access, at, m); break;
      case 18: changed |= write_lanes<uint16_t, uint64_t>(w, slot, access, at, m); break;
      case 20: changed |= write_lanes<uint32_t, uint64_t>(w, slot, access, at, m); break;
      case 8: changed |= write_lanes<uint64_t, uint64_t>(w, slot, access, at, m); break;
      default:
        changed |= write_lanes<uint64_t, uint64_t>(w, slot, access, at, m);
        changed |= write_lanes<uint64_t, uint64_t>(w, slot + 256, access, at + 8, m);
    }
  }
  // Nobody else sees local memory, or that a value was replaced by itself.
  if (changed && !access.local) note_effect(w);
  if (static_cast<Space>(op.shape[2]) == Space::Global)
    w.time += static_cast<uint64_t>(cluster_of(w).costs().global_store);
  return Flow::Next;
}

void decode_load(Decoder& d) {
  Op& op = *d.op;
  const Type type = d.last_type();
  ignore_hints(d);
  bool cluster = false;
  const Space space = space_of(d, &cluster);
  const int bytes = ptx::bits(type) / 8;
  if (bytes == 0) d.unsupported("a type is required");
  op.shape[0] = static_cast<uint16_t>(bytes);
  set_address(d, d.operand(1), space, cluster);
  const Operand& target = d.operand(0);
  const Operand& first = target.kind == Operand::Kind::Vector ? target.elements[0] : target;
  const int register_bits = std::max({d.register_bits(first), ptx::bits(type), 32});
  op.shape[3] = static_cast<uint16_t>(register_bits);
  if (ptx::is_signed(type)) op.flags |= kSigned;
  if (target.kind == Operand::Kind::Vector) {
    op.shape[1] = static_cast<uint16_t>(target.elements.size());
    for (const Operand& element : target.elements) {
      d.extra().list.push_back(d.is_sink(element) ? -1 : d.destination(element, register_bits / 8));
    }
    if (target.elements.size() == 1) op.d = d.extra().list[0];
  } else {
    op.shape[1] = 1;
    op.d = d.destination(0, register_bits / 8);
  }
  if (target.kind == Operand::Kind::Vector && static_cast<int>(op.shape[1]) != d.vector_size())
    d.unsupported("the number of registers does not match the vector");
  const bool relaxed = d.has("relaxed"), is_volatile = d.has("volatile") || d.has("cv");
  if (d.has("acquire") || is_volatile || (relaxed && !d.has("cta"))) {
    op.flags |= kPolls;
    const auto where = static_cast<Space>(op.shape[2]);
    if (where == Space::Global || where == Space::Generic) { d.program().needs_order = true; }
  }
  const Operand& source = d.operand(1);
  const bool named = !source.elements.empty() && source.elements[0].kind == Operand::Kind::Variable;
  if (static_cast<Space>(op.shape[2]) == Space::Param && named) {
    op.imm += static_cast<int64_t>(source.elements[0].variable->offset);
    op.run = load_parameter;
  } else {
    op.run = load;
  }
}

void decode_store(Decoder& d) {
  Op& op = *d.op;
  const Type type = d.last_type();
  ignore_hints(d);
  d.ignore({"volatile", "relaxed"});
  bool cluster = false;
  const Space space = space_of(d, &cluster);
  const int bytes = ptx::bits(type) / 8;
  if (bytes == 0) d.unsupported("a type is required");
  op.shape[0] = static_cast<uint16_t>(bytes);
  set_address(d, d.operand(0), space, cluster);
  const Operand& value = d.operand(1);
  const Type slot_type = bytes <= 4 ? Type::B32 : bytes == 8 ? Type::B64 : Type::B128;
  const auto source = [&](const Operand& operand) {
    // A register may be wider than what is stored of it. A float literal keeps the type of the store.
    if (bytes <= 4 && d.register_bits(operand) == 64) {
      op.shape[3] = 64;
      return d.source(operand, Type::B64);
    }
    if (op.shape[3] == 64) d.unsupported("registers of different widths");
    return d.source(operand, operand.is_float_literal && bytes == 4 ? Type::F32 : slot_type);
  };
  if (value.kind == Operand::Kind::Vector) {
    op.shape[1] = static_cast<uint16_t>(value.elements.size());
    for (const Operand& element : value.elements) d.extra().list.push_back(source(element));
    if (value.elements.size() == 1) op.b = d.extra().list[0];
    if (static_cast<int>(op.shape[1]) != d.vector_size())
      d.unsupported("the number of registers does not match the vector");
  } else {
    op.shape[1] = 1;
    op.b = source(value);
  }
  op.run = store;
}

// ---- atomics: lanes in ascending order, each an indivisible read and write

enum class Atomic : uint16_t { Add, Min, Max, Inc, Dec, Cas, Exch, And, Or, Xor };

template <class T>
T combine(Atomic how, T old, T b, T c) {
  switch (how) {
    case Atomic::Add: return static_cast<T>(old + b);
    case Atomic::Min: return std::min(old, b);
    case Atomic::Max: return std::max(old, b);
    case Atomic::Exch: return b;
    case Atomic::Cas: return old == b ? c : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (how) {
      case Atomic::Inc: return old >= b ? T{0} : static_cast<T>(old + 1);
      case Atomic::Dec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
      case Atomic::And: return static_cast<T>(old & b);
      case Atomic::Or: return static_cast<T>(old | b);
      case Atomic::Xor: return static_cast<T>(old ^ b);
      default: break;
    }
  }
  return old;
}

uint64_t combine_bits(Type type, Atomic how, uint64_t old, uint64_t b, uint64_t c) {
  const auto half = [&](auto widen, auto narrow, int shift) -> uint64_t {
    const double x = static_cast<double>(widen(static_cast<uint16_t>(old >> shift)));
    const double y = static_cast<double>(widen(static_cast<uint16_t>(b >> shift)));
    const double r = how == Atomic::Add ? x + y : how == Atomic::Min ? std::fmin(x, y) : std::fmax(x, y);
    return static_cast<uint64_t>(narrow(r)) << shift;
  };
  const auto to_f16 = [](double x) { return double_to_f16(x); };
  const auto to_bf16 = [](double x) { return double_to_bf16(x); };
  switch (type) {
    case Type::S32:
      return static_cast<uint32_t>(
          combine<int32_t>(how, static_cast<int32_t>(old), static_cast<int32_t>(b), static_cast<int32_t>(c)));
    case Type::U32:
    case Type::B32:
      return combine<uint32_t>(how, static_cast<uint32_t>(old), static_cast<uint32_t>(b), static_cast<uint32_t>(c));
    case Type::S64:
      return static_cast<uint64_t>(
          combine<int64_t>(how, static_cast<int64_t>(old), static_cast<int64_t>(b), static_cast<int64_t>(c)));
    case Type::U64:
    case Type::B64: return combine<uint64_t>(how, old, b, c);
    case Type::B16:
    case Type::U16:
      return combine<uint16_t>(how, static_cast<uint16_t>(old), static_cast<uint16_t>(b), static_cast<uint16_t>(c));
    case Type::F32:
      return std::bit_cast<uint32_t>(combine<float>(how, std::bit_cast<float>(static_cast<uint32_t>(old)),
                                                    std::bit_cast<float>(static_cast<uint32_t>(b)), 0.0f));
    case Type::F64:
      return std::bit_cast<uint64_t>(combine<double>(how, std::bit_cast<double>(old), std::bit_cast<double>(b), 0.0));
    case Type::F16: return half(f16_to_float, to_f16, 0);
    case Type::BF16: return half(bf16_to_float, to_bf16, 0);
    case Type::F16x2: return half(f16_to_float, to_f16, 0) | half(f16_to_float, to_f16, 16);
    case Type::BF16x2: return half(bf16_to_float, to_bf16, 0) | half(bf16_to_float, to_bf16, 16);
    default: return old;
  }
}

// op.shape[3]: Atomic | type << 8; extra list: result slots, list2: operand slots, one per vector element
Flow atomic(Warp& w, const Op& op, Mask m) {
  const uint32_t bytes = op.shape[0], count = op.shape[1];
  const auto how = static_cast<Atomic>(op.shape[3] & 0xFF);
  const auto type = static_cast<Type>(op.shape[3] >> 8);
  Access access;
  resolve(w, static_cast<Space>(op.shape[2]), op.flags & kClusterSpace, op.a, op.flags & kWide, op.imm, bytes * count,
          m, AccessKind::Atomic, &access);
  bool changed = false;
  const auto value_of = [&](int32_t slot, int lane) {
    return bytes == 8 ? lanes<uint64_t>(w, slot)[lane] : uint64_t{lanes<uint32_t>(w, slot)[lane]};
  };
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    for (uint32_t i = 0; i < count; ++i) {
      uint8_t* const at = access.host[lane] + static_cast<size_t>(i) * bytes;
      uint64_t old = 0;
      std::memcpy(&old, at, bytes);
      const uint64_t b = value_of(op.extra->list2[i], lane);
      const uint64_t c = op.c >= 0 ? value_of(op.c, lane) : 0;
      const uint64_t fresh = combine_bits(type, how, old, b, c);
      std::memcpy(at, &fresh, bytes);
      changed |= fresh != old;
      if (op.flags & kReturns) {
        const int32_t slot = op.extra->list[i];
        if (slot < 0) continue;
        if (bytes == 8)
          lanes<uint64_t>(w, slot)[lane] = old;
        else
          lanes<uint32_t>(w, slot)[lane] = static_cast<uint32_t>(old);
      }
    }
  }
  if (!changed) return poll(w);
  note_effect(w);
  return Flow::Next;
}
Flow exchange128(Warp& w, const Op& op, Mask m) {  // atom.cas.b128, atom.exch.b128
  Access access;
  resolve(w, static_cast<Space>(op.shape[2]), op.flags & kClusterSpace, op.a, op.flags & kWide, op.imm, 16, m,
          AccessKind::Atomic, &access);
  const bool cas = static_cast<Atomic>(op.shape[3] & 0xFF) == Atomic::Cas;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint64_t old[2];
    std::memcpy(old, access.host[lane], 16);
    const auto pair = [&](int32_t slot, int half) { return lanes<uint64_t>(w, slot)[32 * half + lane]; };
    const bool write = !cas || (old[0] == pair(op.b, 0) && old[1] == pair(op.b, 1));
    const int32_t from = cas ? op.c : op.b;
    const uint64_t fresh[2] = {pair(from, 0), pair(from, 1)};
    if (write) std::memcpy(access.host[lane], fresh, 16);
    lanes<uint64_t>(w, op.d)[lane] = old[0];
    lanes<uint64_t>(w, op.d)[32 + lane] = old[1];
  }
  note_effect(w);
  return Flow::Next;
}

void decode_atomic(Decoder& d, bool returns) {
  Op& op = *d.op;
  const Type type = d.last_type();
  ignore_hints(d);
  d.ignore({"relaxed", "acquire"});
  bool cluster = false;
  const Space space = space_of(d, &cluster);
  if (space != Space::Shared) { d.program().needs_order = true; }
  const size_t address_at = returns ? 1 : 0;
  set_address(d, d.operand(address_at), space, cluster);
  const int bytes = ptx::bits(type) / 8;
  static constexpr std::pair<const char*, Atomic> kNames[] = {
      {"add", Atomic::Add}, {"min", Atomic::Min},   {"max", Atomic::Max}, {"inc", Atomic::Inc}, {"dec", Atomic::Dec},
      {"cas", Atomic::Cas}, {"exch", Atomic::Exch}, {"and", Atomic::And}, {"or", Atomic::Or},   {"xor", Atomic::Xor}};
  const auto* how =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& row) { return d.has(row.first); });
  if (how == std::end(kNames)) d.unsupported("the atomic operation is unknown");
  op.shape[0] = static_cast<uint16_t>(bytes);
  op.shape[3] = static_cast<uint16_t>(static_cast<uint16_t>(how->second) | static_cast<uint16_t>(type) << 8);
  if (type == Type::B128) {
    op.d = returns ? d.destination(0, 16) : d.scratch(16);
    op.b = d.source(address_at + 1, type);
    if (how->second == Atomic::Cas) op.c = d.source(address_at + 2, type);
    op.run = exchange128;
    return;
  }
  const auto each = [](const Operand& operand, auto f) {
    if (operand.kind == Operand::Kind::Vector)
      for (const Operand& element : operand.elements) f(element);
    else
      f(operand);
  };
  if (returns) {
    op.flags |= kReturns;
    each(d.operand(0),
         [&](const Operand& o) { d.extra().list.push_back(d.is_sink(o) ? -1 : d.destination(o, std::max(bytes, 4))); });
  }
  each(d.operand(address_at + 1), [&](const Operand& o) { d.extra().list2.push_back(d.source(o, type)); });
  op.shape[1] = static_cast<uint16_t>(d.extra().list2.size());
  const bool bitwise = how->second == Atomic::And || how->second == Atomic::Or || how->second == Atomic::Xor ||
                       how->second == Atomic::Inc || how->second == Atomic::Dec;
  if (bytes == 0 || (bitwise && ptx::is_float(type)) || ptx::bits(type) == 8)
    d.unsupported("this operation on this type");
  if (how->second == Atomic::Cas) op.c = d.source(address_at + 2, type);
  op.run = atomic;
}

// ---- cp.async: each lane copies up to 16 bytes from global to shared memory, in groups of its own

class CopyAsync final : public AsyncOperation {
 public:
  struct Piece {
    uint8_t lane;
    uint32_t to;
    uint64_t from;
    uint32_t bytes, zeros;
  };
  std::vector<Piece> pieces;
  Warp* warp = nullptr;
  std::array<uint64_t, 32> group{};

  void complete(Cluster& cluster) override {
    // A CTA may exit without having waited: then nobody misses the data.
    if (warp->cta->exited) return;
    for (const Piece& piece : pieces) {
      uint8_t* to = shared_location(cluster, *warp->cta, piece.to, piece.bytes + piece.zeros, 1, true, "cp.async");
      if (piece.bytes > 0)
        std::memcpy(to, global_location(cluster, piece.from, piece.bytes, 1, false, "cp.async"), piece.bytes);
      std::memset(to + piece.bytes, 0, piece.zeros);
      finish_copy(*warp, piece.lane, group[piece.lane]);
    }
    ++cluster.changes;
    wake_copy_waiters(*warp);
  }
  std::string describe() const override { return "cp.async of " + std::to_string(pieces.size()) + " lanes"; }
};

Flow copy_async(Warp& w, const Op& op,
                Mask m) {  // b: source address; c: bytes really read; imm: to, e: (offset of from)
  Cluster& cluster = cluster_of(w);
  auto copy = std::make_unique<CopyAsync>();
  copy->warp = &w;
  copy->origin = origin_of(w, first_lane(m));
  const uint32_t bytes = op.shape[0];
  Mask ignored = 0;
  if (op.shape[1]) ignored = predicate(w, op.e) ^ (op.shape[1] == 2 ? kAllLanes : 0);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t to = to_shared((op.flags & kWide ? lanes<uint64_t>(w, op.a)[lane] : lanes<uint32_t>(w, op.a)[lane]) +
                                      static_cast<uint64_t>(op.imm),
                                  "cp.async");
    const uint64_t from = lanes<uint64_t>(w, op.b)[lane] + static_cast<uint64_t>(int64_t{static_cast<int32_t>(op.d)});
    uint32_t take = op.c >= 0 ? std::min(lanes<uint32_t>(w, op.c)[lane], bytes) : bytes;
    if (ignored >> lane & 1) take = 0;
    // What the copy will overwrite may be gone from now on.
    std::memset(shared_location(cluster, *w.cta, to, bytes, bytes, true, "cp.async"), 0xFF, bytes);
    if (take > 0) global_location(cluster, from, take, bytes, false, "cp.async");
    copy->group[static_cast<size_t>(lane)] = begin_copy(w, lane);
    copy->pieces.push_back({static_cast<uint8_t>(lane), to, from, take, bytes - take});
  }
  cluster.scheduler->submit(std::move(copy), {.latency = static_cast<uint64_t>(cluster.costs().global_load)});
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

Flow copy_commit(Warp& w, const Op&, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) commit_copies(w, first_lane(rest));
  return Flow::Next;
}
Flow copy_wait(Warp& w, const Op& op, Mask m) {
  if (copies_done(w, m, static_cast<uint32_t>(op.imm), op.flags != 0)) return Flow::Next;
  isolate(w, m);
  return block(w, Wait::CopyGroup, static_cast<uint32_t>(op.imm), op.flags);
}

void decode_cp_async(Decoder& d) {
  Op& op = *d.op;
  d.ignore({"async", "ca", "cg", "shared", "shared::cta", "global", "L2::*"});
  if (d.has("commit_group")) {
    op.run = copy_commit;
  } else if (d.has("wait_group") || d.has("wait_all")) {
    op.imm = d.has("wait_all") ? 0 : d.immediate(0);
    op.flags = d.has("wait_all");  // also what was never committed
    op.run = copy_wait;
  } else {
    const Decoder::Address to = d.address(d.operand(0)), from = d.address(d.operand(1));
    if (!from.wide) d.unsupported("a 32-bit global address");
    op.a = to.slot;
    op.imm = to.offset;
    if (to.wide) op.flags = kWide;
    op.b = from.slot;
    op.d = static_cast<int32_t>(from.offset);
    op.shape[0] = static_cast<uint16_t>(d.immediate(2));
    if (d.count() > 3) {
      const Operand& extra = d.operand(3);
      const bool is_predicate = extra.kind == Operand::Kind::Register && d.register_bits(extra) == 1;
      if (is_predicate) {
        bool negated = false;
        op.e = d.predicate_source(extra, &negated);
        op.shape[1] = negated ? 2 : 1;
      } else if (!d.has("L2::cache_hint") || d.count() > 4) {
        op.c = d.source(extra, Type::B32);
      }
    }
    op.run = copy_async;
  }
}

// ---- ldmatrix, stmatrix: 8x8 matrices whose rows any lane points at
// shape[0] number of matrices, shape[1] 1 for .trans, shape[2] element bytes (2; 1 for .b8)

Flow ldmatrix(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  const int matrices = op.shape[0];
  const bool trans = op.shape[1];
  Access access;
  const Mask rows = matrices == 4 ? kAllLanes : (1u << (8 * matrices)) - 1;
  resolve(w, static_cast<Space>(ptx::Space::Shared), false, op.a, op.flags & kWide, op.imm, 16, rows, AccessKind::Load,
          &access);
  for (int j = 0; j < matrices; ++j) {
    uint16_t tile[8][8];
    for (int r = 0; r < 8; ++r) std::memcpy(tile[r], access.host[8 * j + r], 16);
    auto* d = lanes<uint32_t>(w, op.extra->list[static_cast<size_t>(j)]);
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, c = 2 * (lane % 4);
      d[lane] = trans ? tile[c][r] | static_cast<uint32_t>(tile[c + 1][r]) << 16
                      : tile[r][c] | static_cast<uint32_t>(tile[r][c + 1]) << 16;
    }
  }
  return Flow::Next;
}

Flow stmatrix(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  const int matrices = op.shape[0];
  const bool trans = op.shape[1];
  Access access;
  const Mask rows = matrices == 4 ? kAllLanes : (1u << (8 * matrices)) - 1;
  resolve(w, static_cast<Space>(ptx::Space::Shared), false, op.a, op.flags & kWide, op.imm, 16, rows, AccessKind::Store,
          &access);
  for (int j = 0; j < matrices; ++j) {
    uint16_t tile[8][8];
    const auto* s = lanes<uint32_t>(w, op.extra->list[static_cast<size_t>(j)]);
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, c = 2 * (lane % 4);
      const auto low = static_cast<uint16_t>(s[lane]), high = static_cast<uint16_t>(s[lane] >> 16);
      if (trans)
        tile[c][r] = low, tile[c + 1][r] = high;
      else
        tile[r][c] = low, tile[r][c + 1] = high;
    }
    for (int r = 0; r < 8; ++r) std::memcpy(access.host[8 * j + r], tile[r], 16);
  }
  note_effect(w);
  return Flow::Next;
}

// movmatrix: transposes an 8x8 matrix that lies across the warp's registers.
Flow movmatrix(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  uint16_t tile[8][8];
  const auto* s = lanes<uint32_t>(w, op.a);
  for (int lane = 0; lane < 32; ++lane) {
    tile[lane / 4][2 * (lane % 4)] = static_cast<uint16_t>(s[lane]);
    tile[lane / 4][2 * (lane % 4) + 1] = static_cast<uint16_t>(s[lane] >> 16);
  }
  auto* d = lanes<uint32_t>(w, op.d);
  for (int lane = 0; lane < 32; ++lane) {
    d[lane] = tile[2 * (lane % 4)][lane / 4] | static_cast<uint32_t>(tile[2 * (lane % 4) + 1][lane / 4]) << 16;
  }
  return Flow::Next;
}

void decode_matrix(Decoder& d, bool is_load) {
  Op& op = *d.op;
  d.ignore({"sync", "aligned", "x1", "shared", "shared::cta"});
  if (!d.has("m8n8")) d.unsupported("only m8n8 matrices of 16-bit elements");
  if (d.last_type() != Type::B16) d.unsupported("only .b16 elements");
  op.shape[0] = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  op.shape[1] = d.has("trans");
  const Decoder::Address address = d.address(d.operand(is_load ? 1 : 0));
  op.a = address.slot;
  op.imm = address.offset;
  if (address.wide) op.flags |= kWide;
  const Operand& list = d.operand(is_load ? 0 : 1);
  for (const Operand& element : list.elements) {
    d.extra().list.push_back(is_load ? d.destination(element, 4) : d.source(element, Type::B32));
  }
  if (d.extra().list.size() != op.shape[0])
    d.unsupported("the number of registers does not match the number of matrices");
  op.run = is_load ? ldmatrix : stmatrix;
}

// ---- hints: checked by nobody, without effect here

Flow no_effect(Warp&, const Op&, Mask) { return Flow::Next; }
Flow create_policy(Warp& w, const Op& op, Mask m) {
  for_lanes(m, [&](int i) { lanes<uint64_t>(w, op.d)[i] = 0x1000'0000'0000'0000; });
  return Flow::Next;
}

}  // namespace

void decode_memory(Decoder& d) {
  const std::string& name = d.in->opcode;
  if (name == "ld" || name == "ldu") return decode_load(d);
  if (name == "st") return decode_store(d);
  if (name == "atom") return decode_atomic(d, true);
  if (name == "red") return decode_atomic(d, false);
  if (name == "cp") return decode_cp_async(d);
  if (name == "ldmatrix") return decode_matrix(d, true);
  if (name == "stmatrix") return decode_matrix(d, false);
  if (name == "movmatrix") {
    d.ignore({"sync", "aligned", "m8n8", "trans", "b16"});
    d.op->d = d.destination(0, 4);
    d.op->a = d.source(1, Type::B32);
    d.op->run = movmatrix;
  } else if (name == "createpolicy") {
    d.ignore({"*"});
    d.op->d = d.destination(0, 8);
    d.op->run = create_policy;
  } else if (name == "prefetch" || name == "prefetchu" || name == "applypriority" || name == "discard") {
    d.ignore({"*"});
    d.op->run = no_effect;
  }
}

}  // namespace sim
