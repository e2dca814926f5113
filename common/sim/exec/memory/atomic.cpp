// atom, red: lanes in ascending order, each an indivisible read and write. red.async is in async/st_async.cpp.
#include <algorithm>

#include "exec/core/families.h"
#include "exec/memory/operand.h"
#include "exec/memory/reduction.h"
#include "exec/memory/registers.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

struct Atomic {
  MemoryOperand at;
  Reduction how = Reduction::None;
  Type type = Type::None;
  std::vector<int32_t> old;      ///< results by element, -1: not wanted; empty: red
  std::vector<int32_t> operand;  ///< by element
  int32_t swap = -1;             ///< the second operand of a compare-and-swap
};
Flow atomic(Warp& w, const Atomic& o, Mask m) {
  const auto bytes = static_cast<uint32_t>(ptx::bits(o.type)) / 8;
  const bool wide = bytes == 8;
  Access access;
  // A prediction executes each cluster by itself, as if it were the last to be counted.
  const bool is_last = o.how == Reduction::Inc && o.at.space == Space::Global && !cluster_of(w).launch->moves_data;
  resolve(w, o.at, bytes * static_cast<uint32_t>(o.operand.size()), m, AccessKind::Atomic, &access);
  if (is_last) {
    cluster_of(w).watchers.tell(FillEvent{.what = FillEvent::What::Loaded, .warp = &w, .is_known = true, .lanes = m});
  }
  bool changed = false;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const bool global =
        o.at.space == Space::Global || (o.at.space == Space::Generic && !in_shared_window(o.at.address.of(w, lane)));
    for (size_t i = 0; i < o.operand.size(); ++i) {
      uint8_t* const at = access.host[lane] + i * bytes;
      uint64_t old = 0;
      std::memcpy(&old, at, bytes);
      if (is_last) old = number(w, o.operand[i], wide, lane);
      const uint64_t swap = o.swap >= 0 ? number(w, o.swap, wide, lane) : 0;
      const uint64_t value = number(w, o.operand[i], wide, lane);
      const uint64_t fresh = o.how == Reduction::Add && o.type == Type::F32 ? add_f32(old, value, global)
                                                                            : combine(o.type, o.how, old, value, swap);
      std::memcpy(at, &fresh, bytes);
      changed |= fresh != old;
      if (o.old.empty() || o.old[i] < 0) continue;
      if (wide)
        lanes<uint64_t>(w, o.old[i])[lane] = old;
      else
        lanes<uint32_t>(w, o.old[i])[lane] = static_cast<uint32_t>(old);
    }
  }
  if (!changed) return poll(w);
  note_write(w, access, bytes * static_cast<uint32_t>(o.operand.size()), m);
  return Flow::Next;
}

/// atom.cas.b128, atom.exch.b128
struct Exchange128 {
  MemoryOperand at;
  int32_t old, operand;
  int32_t swap = -1;  ///< of .cas
};
Flow exchange128(Warp& w, const Exchange128& o, Mask m) {
  Access access;
  resolve(w, o.at, 16, m, AccessKind::Atomic, &access);
  const bool compares = o.swap >= 0;
  bool changed = false;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const auto value = [&](int32_t slot) { return RegisterLanes<Wide>(w, slot).get(lane); };
    Wide old;
    std::memcpy(&old, access.host[lane], sizeof old);
    const bool writes = !compares || old == value(o.operand);
    const Wide fresh = value(compares ? o.swap : o.operand);
    if (writes) std::memcpy(access.host[lane], &fresh, sizeof fresh);
    changed |= writes && !(fresh == old);
    RegisterLanes<Wide>(w, o.old).set(lane, old);
  }
  if (!changed) return poll(w);
  note_write(w, access, 16, m);
  return Flow::Next;
}

template <bool RETURNS>
void decode_atomic(Decoder& d) {
  const Type type = d.last_type();
  d.ignore({"relaxed", "acquire"});
  bool cluster = false;
  const Space space = space_of(d, &cluster);
  if (space != Space::Shared) d.program().needs_order = true;
  constexpr size_t kAddress = RETURNS ? 1 : 0;
  const MemoryOperand at = decode_memory_operand(d, d.operand(kAddress));
  const int bytes = ptx::bits(type) / 8;
  const Reduction how = reduction_of(d);
  const bool counts = RETURNS && how == Reduction::Inc && space == Space::Global;
  d.program().counts_clusters |= counts;
  const bool swaps = how == Reduction::Cas;
  if (type == Type::B128) {
    return d.emit<exchange128>({.at = at,
                                .old = RETURNS ? d.destination(0, 16) : d.scratch(16),
                                .operand = d.source(kAddress + 1, type),
                                .swap = swaps ? d.source(kAddress + 2, type) : -1});
  }
  const bool integers_only = how == Reduction::And || how == Reduction::Or || how == Reduction::Xor ||
                             how == Reduction::Inc || how == Reduction::Dec;
  if (!is_reducible(type) || (integers_only && ptx::is_float(type))) d.unsupported(faults::operation_on_type);
  Atomic o;
  o.at = at, o.how = how, o.type = type;
  if (RETURNS) {
    for (const Operand& each : d.elements(d.operand(0)))
      o.old.push_back(d.destination_if_any(each, std::max(bytes, 4)));
  }
  o.operand = d.sources(d.operand(kAddress + 1), type);
  if (RETURNS && o.old.size() != o.operand.size()) d.unsupported(faults::numbers_of_registers_differ);
  if (swaps) o.swap = d.source(kAddress + 2, type);
  d.emit<atomic>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {{"atom", decode_atomic<true>}, {"red", decode_atomic<false>}};

}  // namespace

constinit const Family families::atomic{
    .mnemonics = kMnemonics,
    .ignored = kMemoryHints,
    .manner = {.use = DataUse::Carries, .cost = CostClass::GlobalAtomic, .orders = Manner::Orders::Atomic}};

}  // namespace sim
