// st. st.async is in async/st_async.cpp.
#include <algorithm>

#include "exec/core/families.h"
#include "exec/memory/operand.h"
#include "exec/memory/registers.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

struct Store {
  MemoryOperand to;
  std::array<int32_t, 8> from;  ///< slots of the vector's elements
  uint8_t count;
};

/// Stores the lower part of a register of type Lane as an Element of memory.
template <class Element, class Lane>
Element narrowed(Lane value) {
  return static_cast<Element>(value);
}

template <class Element, class Lane>
Flow store(Warp& w, const Store& o, Mask m) {
  Access access;
  resolve(w, o.to, sizeof(Element) * o.count, m, AccessKind::Store, &access);
  Cluster& cluster = cluster_of(w);
  const bool is_watched = cluster.watchers.want(EventKind::Store);
  alignas(16) uint8_t values[32 * sizeof(Element) * 8];
  const auto tell = [&](bool is_done, bool changed) {
    cluster.watchers.tell(StoreEvent{.cluster = cluster,
                                     .warp = &w,
                                     .is_done = is_done,
                                     .changed = changed,
                                     .lanes = m,
                                     .host = access.host,
                                     .values = access.local ? nullptr : values,
                                     .bytes = sizeof(Element) * o.count});
  };
  if (is_watched && !access.local) [[unlikely]] {
    for (size_t i = 0; i < o.count; ++i) {
      const RegisterLanes<Lane> s(w, o.from[i]);
      for (Mask rest = m; rest; rest &= rest - 1) {
        const auto value = narrowed<Element>(s.get(first_lane(rest)));
        std::memcpy(&values[(static_cast<size_t>(first_lane(rest)) * o.count + i) * sizeof value], &value,
                    sizeof value);
      }
    }
    tell(false, false);
  }
  bool changed = false;
  for (size_t i = 0; i < o.count; ++i) {
    const RegisterLanes<Lane> s(w, o.from[i]);
    const auto write = [&](int lane) {  // in order: lanes may write to one location
      const auto value = narrowed<Element>(s.get(lane));
      Element old;
      std::memcpy(&old, access.host[lane] + i * sizeof value, sizeof old);
      changed |= !(old == value);
      std::memcpy(access.host[lane] + i * sizeof value, &value, sizeof value);
    };
    if (m == kAllLanes) {
      for (int lane = 0; lane < 32; ++lane) write(lane);
    } else {
      for (Mask rest = m; rest; rest &= rest - 1) write(first_lane(rest));
    }
  }
  if (is_watched) [[unlikely]]
    tell(true, changed);
  // Other threads can observe neither local memory nor a store of the value already there.
  if (changed && !access.local) note_write(w, access, static_cast<uint32_t>(sizeof(Element)) * o.count, m);
  if (o.to.space == ptx::Space::Global) w.time += static_cast<uint64_t>(cluster.costs().global_store);
  return Flow::Next;
}

void decode_store(Decoder& d) {
  const Type type = d.last_type();
  d.ignore({"volatile", "relaxed"});
  const int bytes = ptx::bits(type) / 8;
  if (bytes == 0) d.unsupported(faults::type_required);
  Store o{};
  o.to = decode_memory_operand(d, d.operand(0));

  const auto values = d.elements(d.operand(1));
  if (values.empty() || (d.is_vector(1) && static_cast<int>(values.size()) != d.vector_size()))
    d.unsupported(faults::registers_of_vector);
  const Type slot_type = bytes <= 4 ? Type::B32 : bytes == 8 ? Type::B64 : Type::B128;
  // A register may be wider than the stored element. A float literal has the type of the store.
  bool wide = false;
  o.count = static_cast<uint8_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_wide = bytes <= 4 && d.register_bits(values[i]) == 64;
    if (i > 0 && wide != is_wide) d.unsupported(faults::widths_of_registers_differ);
    wide = is_wide;
    o.from[i] = d.source(values[i], is_wide                                    ? Type::B64
                                    : values[i].is_float_literal && bytes == 4 ? Type::F32
                                                                               : slot_type);
  }
  const auto narrow = [&]<class T>(T) { return wide ? execution<store<T, uint64_t>> : execution<store<T, uint32_t>>; };
  switch (bytes) {
    case 1: return d.emit(narrow(uint8_t{}), o);
    case 2: return d.emit(narrow(uint16_t{}), o);
    case 4: return d.emit(narrow(uint32_t{}), o);
    case 8: return d.emit<store<uint64_t, uint64_t>>(o);
    default: return d.emit<store<Wide, Wide>>(o);
  }
}

// ---- st.bulk: zeros in shared memory, as many bytes as a register says

struct BulkStore {
  MemoryOperand to;
  int32_t size;
};
Flow store_zeros(Warp& w, const BulkStore& o, Mask m) {
  constexpr uint32_t kUnit = 8;
  Cluster& cluster = cluster_of(w);
  bool changed = false;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t size = lanes<uint64_t>(w, o.size)[lane];
    if (size % kUnit != 0) { throw Fault{faults::st_bulk_size, {size}}; }
    if (o.to.space == ptx::Space::Generic) to_shared(o.to.address.of(w, lane), "the target of st.bulk");
    MemoryOperand part = o.to;
    for (uint64_t done = 0; done < size; done += kUnit, part.address.offset += kUnit) {
      Access access;
      resolve(w, part, kUnit, 1u << lane, AccessKind::Store, &access);
      const bool differs = std::any_of(access.host[lane], access.host[lane] + kUnit, [](uint8_t b) { return b != 0; });
      std::memset(access.host[lane], 0, kUnit);
      cluster.watchers.tell(StoreEvent{.cluster = cluster, .warp = &w, .is_done = true, .changed = differs});
      changed |= differs;
    }
  }
  if (changed) note_effect(w);
  return Flow::Next;
}
void decode_bulk(Decoder& d) {
  BulkStore o;
  o.to = decode_memory_operand(d, d.operand(0));
  o.size = d.source(1, Type::U64);
  d.emit<store_zeros>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {{"st", decode_store}, {"st.bulk", decode_bulk}};

}  // namespace

constinit const Family families::store{
    .mnemonics = kMnemonics, .ignored = kMemoryHints, .manner = {.use = DataUse::Carries, .moves = true}};

}  // namespace sim
