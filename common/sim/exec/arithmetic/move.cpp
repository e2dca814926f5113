// mov: copies, bit casts, packs of several registers into one and back, clocks.
#include <algorithm>

#include "exec/arithmetic/lanewise.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

// ---- one register

template <int BITS>
Flow move(Warp& w, const Registers& o, Mask m) {
  using T = std::conditional_t<(BITS > 32), uint64_t, uint32_t>;
  auto* d = lanes<T>(w, o.d);
  const auto* a = lanes<T>(w, o.a);
  for_lanes(m, [&](int i) {
    d[i] = BITS == 16 ? a[i] & 0xFFFF : a[i];
    if constexpr (BITS == 128) d[32 + i] = a[32 + i];
  });
  return Flow::Next;
}

struct MovePredicate {
  int32_t d;
  PredicateOperand a;
};
Flow move_predicate(Warp& w, const MovePredicate& o, Mask m) {
  set_predicate(w, o.d, m, o.a.read(w));
  return Flow::Next;
}

// ---- parts of `bits` bits in a register of `total` bits

struct Pieces {
  int32_t whole;
  int bits, total;
  std::vector<int32_t> parts;  ///< slots, lowest bits first; -1: not wanted
};
Flow pack(Warp& w, const Pieces& o, Mask m) {
  const uint64_t ones = o.bits >= 32 ? ~uint64_t{0} : (uint64_t{1} << o.bits) - 1;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint64_t words[2] = {0, 0};
    for (size_t i = 0; i < o.parts.size(); ++i) {
      const size_t at = i * static_cast<size_t>(o.bits);
      words[at / 64] |= (number(w, o.parts[i], o.bits == 64, lane) & ones) << (at % 64);
    }
    if (o.total <= 32) {
      lanes<uint32_t>(w, o.whole)[lane] = static_cast<uint32_t>(words[0]);
    } else {
      lanes<uint64_t>(w, o.whole)[lane] = words[0];
      if (o.total == 128) lanes<uint64_t>(w, o.whole)[32 + lane] = words[1];
    }
  }
  return Flow::Next;
}
Flow unpack(Warp& w, const Pieces& o, Mask m) {
  const uint64_t ones = o.bits >= 32 ? ~uint64_t{0} : (uint64_t{1} << o.bits) - 1;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t words[2] = {number(w, o.whole, o.total > 32, lane),
                               o.total == 128 ? lanes<uint64_t>(w, o.whole)[32 + lane] : 0};
    for (size_t i = 0; i < o.parts.size(); ++i) {
      if (o.parts[i] < 0) continue;
      const size_t at = i * static_cast<size_t>(o.bits);
      const uint64_t value = words[at / 64] >> (at % 64) & ones;
      if (o.bits == 64)
        lanes<uint64_t>(w, o.parts[i])[lane] = value;
      else
        lanes<uint32_t>(w, o.parts[i])[lane] = static_cast<uint32_t>(value);
    }
  }
  return Flow::Next;
}

// ---- clocks

enum class ClockRead : uint8_t { Cycles, CyclesHigh, Cycles64, Nanoseconds, NanosecondsLow, NanosecondsHigh };
constexpr std::pair<std::string_view, ClockRead> kClocks[] = {{"clock", ClockRead::Cycles},
                                                              {"clock_hi", ClockRead::CyclesHigh},
                                                              {"clock64", ClockRead::Cycles64},
                                                              {"globaltimer", ClockRead::Nanoseconds},
                                                              {"globaltimer_lo", ClockRead::NanosecondsLow},
                                                              {"globaltimer_hi", ClockRead::NanosecondsHigh}};
bool is_wide(ClockRead clock) { return clock == ClockRead::Cycles64 || clock == ClockRead::Nanoseconds; }

struct MoveClock {
  int32_t d;
  ClockRead clock;
};
Flow move_clock(Warp& w, const MoveClock& o, Mask m) {
  uint64_t value = w.time;
  if (o.clock >= ClockRead::Nanoseconds)
    value = value * 1'000'000 / static_cast<uint64_t>(cluster_of(w).launch->gpu->clock_khz);
  if (o.clock == ClockRead::CyclesHigh || o.clock == ClockRead::NanosecondsHigh) value >>= 32;
  if (is_wide(o.clock))
    for_lanes(m, [&](int i) { lanes<uint64_t>(w, o.d)[i] = value; });
  else
    for_lanes(m, [&](int i) { lanes<uint32_t>(w, o.d)[i] = static_cast<uint32_t>(value); });
  return Flow::Next;
}

// ---- decoding

int bytes_of(int bits) { return std::max(bits, 32) / 8; }

void decode_move(Decoder& d) {
  const Type type = d.last_type();
  const Operand &target = d.operand(0), &value = d.operand(1);
  if (value.kind == Operand::Kind::Special) {
    for (const auto& [name, clock] : kClocks) {
      if (value.text == name) return d.emit<move_clock>({d.destination(0, is_wide(clock) ? 8 : 4), clock});
    }
  }
  const int bits = ptx::bits(type);
  if (bits == 0) d.unsupported(faults::type_required);
  d.op->is_move = true;
  if (value.kind == Operand::Kind::Vector || target.kind == Operand::Kind::Vector) {
    const bool packs = value.kind == Operand::Kind::Vector;
    const auto& elements = packs ? value.elements : target.elements;
    if (elements.empty()) d.unsupported(faults::empty_vector);
    Pieces o{.whole = -1, .bits = bits / static_cast<int>(elements.size()), .total = bits, .parts = {}};
    if (!packs) o.whole = d.source(1, type);
    for (const Operand& element : elements) {
      o.parts.push_back(packs ? d.source(element, o.bits == 64 ? Type::B64 : Type::B32)
                              : d.destination_if_any(element, bytes_of(o.bits)));
    }
    if (packs) o.whole = d.destination(0, bytes_of(bits));
    return d.emit(packs ? execution<pack> : execution<unpack>, std::move(o));
  }
  const Registers o{.d = d.destination(0, bytes_of(bits)), .a = d.source(1, type)};
  switch (bits) {
    case 128: return d.emit<move<128>>(o);
    case 64: return d.emit<move<64>>(o);
    case 16: return d.emit<move<16>>(o);
    default: return d.emit<move<32>>(o);
  }
}

void decode_move_predicate(Decoder& d) {
  d.emit<move_predicate>({.d = d.destination(0, 4), .a = d.predicate_source(d.operand(1))});
}

constexpr Mnemonic kMnemonics[] = {{"mov", decode_move, Manner{.moves = true}},
                                   {"mov.pred", decode_move_predicate, Manner{.moves = true}}};

}  // namespace

constinit const Family families::move{.mnemonics = kMnemonics, .pure = true};

}  // namespace sim
