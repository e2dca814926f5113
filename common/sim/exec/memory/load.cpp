// ld, ldu.
#include <algorithm>

#include "exec/core/families.h"
#include "exec/memory/operand.h"
#include "exec/memory/registers.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

struct LoadOperands {
  MemoryOperand from;
  std::array<int32_t, 8> to;  ///< slots of the vector's elements; -1: not wanted
  uint8_t count;
  bool polls;      ///< volatile, relaxed or acquire: other threads may be changing the value
  bool read_only;  ///< .nc: through a cache that is not coherent
};

/// Schedules other than the default one have the cache of ld.global.nc: a line keeps the data of the CTA's first such
/// load. Only in launches whose clusters can pass data on to one another, since others have no old data to show.
void read_cached(Warp& w, Access* access, uint32_t bytes, Mask m) {
  const Launch& launch = *cluster_of(w).launch;
  if (launch.lenient || !launch.program->needs_order) return;
  constexpr uint64_t kLine = sizeof(Cluster::Line);
  for_lanes(m, [&](int lane) {
    const auto at = reinterpret_cast<uint64_t>(access->host[lane]);
    if (at % kLine + bytes > kLine) return;
    const auto [line, is_new] = cluster_of(w).read_only_lines.try_emplace({w.cta->rank, at / kLine});
    if (is_new) std::memcpy(line->second.data(), reinterpret_cast<const void*>(at / kLine * kLine), kLine);
    access->host[lane] = line->second.data() + at % kLine;
  });
}

/// Loads an Element of memory into a register of type Lane, with sign extension if the Element is signed.
template <class Element, class Lane>
Flow load(Warp& w, const LoadOperands& o, Mask m) {
  Access access;
  resolve(w, o.from, sizeof(Element) * o.count, m, AccessKind::Load, &access);
  if (o.read_only) read_cached(w, &access, sizeof(Element) * o.count, m);
  for (size_t i = 0; i < o.count; ++i) {
    if (o.to[i] < 0) continue;
    const RegisterLanes<Lane> d(w, o.to[i]);
    for_lanes(m, [&](int lane) {
      Element value;
      std::memcpy(&value, access.host[lane] + i * sizeof value, sizeof value);
      d.set(lane, extended<Lane>(value));
    });
  }
  if (o.polls) return poll(w);
  note_read(w, access, sizeof(Element) * o.count, m);
  return Flow::Next;
}

/// The handler that loads elements of this type into registers of `register_bits` bits.
Execution<LoadOperands> load_of(Type type, int register_bits) {
  const bool is_signed = ptx::is_signed(type);
  const auto narrow = [&]<class U, class S>(U, S) {
    if (register_bits == 64) return is_signed ? execution<load<S, uint64_t>> : execution<load<U, uint64_t>>;
    return is_signed ? execution<load<S, uint32_t>> : execution<load<U, uint32_t>>;
  };
  switch (ptx::bits(type)) {
    case 8: return narrow(uint8_t{}, int8_t{});
    case 16: return narrow(uint16_t{}, int16_t{});
    case 32: return narrow(uint32_t{}, int32_t{});
    case 64: return execution<load<uint64_t, uint64_t>>;
    default: return execution<load<Wide, Wide>>;
  }
}

/// Loads a value from the parameters, the same in every lane.
struct LoadParameter {
  uint32_t offset;
  std::array<int32_t, 8> to;
  uint8_t count, bytes;
  bool is_signed, wide;  ///< a narrow value is sign-extended; 64-bit registers
};
Flow load_parameter(Warp& w, const LoadParameter& o, Mask m) {
  const std::vector<uint8_t>& parameters = cluster_of(w).launch->parameters;
  if (o.offset + size_t{o.bytes} * o.count > parameters.size()) { throw Fault{faults::load_beyond_parameters}; }
  for (size_t i = 0; i < o.count; ++i) {
    const int32_t slot = o.to[i];
    if (slot < 0) continue;
    uint64_t value = 0;
    std::memcpy(&value, parameters.data() + o.offset + i * o.bytes, o.bytes);
    if (o.is_signed)
      value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * o.bytes)) >> (64 - 8 * o.bytes));
    if (o.wide)
      for_lanes(m, [&](int lane) { lanes<uint64_t>(w, slot)[lane] = value; });
    else
      for_lanes(m, [&](int lane) { lanes<uint32_t>(w, slot)[lane] = static_cast<uint32_t>(value); });
  }
  return Flow::Next;
}

void decode_load(Decoder& d) {
  const Type type = d.last_type();
  const int bytes = ptx::bits(type) / 8;
  if (bytes == 0) d.unsupported(faults::type_required);
  LoadOperands o{};
  o.from = decode_memory_operand(d, d.operand(1));

  const auto targets = d.elements(d.operand(0));
  if (targets.empty() || (d.is_vector(0) && static_cast<int>(targets.size()) != d.vector_size()))
    d.unsupported(faults::registers_of_vector);
  const int register_bits = std::max({d.register_bits(targets[0]), ptx::bits(type), 32});
  o.count = static_cast<uint8_t>(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) o.to[i] = d.destination_if_any(targets[i], register_bits / 8);

  o.read_only = d.has("nc");
  const bool relaxed = d.has("relaxed"), is_volatile = d.has("volatile") || d.has("cv");
  o.polls = d.has("acquire") || is_volatile || (relaxed && !d.has("cta"));
  if (o.polls && (o.from.space == Space::Global || o.from.space == Space::Generic))
    d.program().needs_order = d.program().needs_others = true;

  const ptx::Variable* const variable = d.variable_of(d.operand(1));
  if (o.from.space == Space::Param && variable != nullptr) {
    d.emit<load_parameter>(
        {.offset = static_cast<uint32_t>(o.from.address.offset + static_cast<int64_t>(variable->offset)),
         .to = o.to,
         .count = o.count,
         .bytes = static_cast<uint8_t>(bytes),
         .is_signed = ptx::is_signed(type),
         .wide = register_bits == 64});
  } else {
    d.emit(load_of(type, register_bits), o);
  }
}

constexpr Mnemonic kMnemonics[] = {{"ld", decode_load, Manner{.use = DataUse::Carries, .moves = true, .is_load = true}},
                                   {"ldu", decode_load}};

}  // namespace

constinit const Family families::load{
    .mnemonics = kMnemonics, .ignored = kMemoryHints, .manner = {.use = DataUse::Carries, .moves = true}};

}  // namespace sim
