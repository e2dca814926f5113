// Instructions that lanes of a warp execute together: elections, shuffles, votes, reductions.
#include <algorithm>

#include "exec/arithmetic/numeric.h"
#include "exec/core/decoder.h"

namespace sim {

void isolate(Warp& warp, Mask mask) {
  Split& self = warp.split();
  if (mask == self.mask) return;
  warp.fork(self.mask & ~mask, self.pc + 1);
  self.mask = mask;
}

bool gather(Warp& warp, const Op&, Mask needed, Mask* mask) {
  isolate(warp, *mask);
  Split& self = warp.split();
  const Mask need = needed & warp.live;
  if ((self.mask & need) == need) return true;
  Mask have = self.mask;
  const auto joins = [&](int slot) {
    const Split& other = warp.splits[slot];
    return slot != warp.current && other.wait == Wait::Gather && other.pc == self.pc && (other.mask & need);
  };
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    if (joins(std::countr_zero(rest))) have |= warp.splits[std::countr_zero(rest)].mask;
  }
  if ((have & need) != need) {
    self.block(Wait::Gather, need, kMeetHere);
    return false;
  }
  for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
    const int slot = std::countr_zero(rest);
    if (!joins(slot)) continue;
    warp.splits[slot].mask = 0;
    warp.used &= ~(1u << slot);
  }
  self.mask = have;
  *mask = have;
  return true;
}

namespace {

using ptx::Operand;
using ptx::Type;

/// Gathers the lanes that a .sync instruction names in its member mask, *member; false: Flow::Block. Lanes that run
/// together may name different masks, for the tiles of a warp are independent: this is about the first lane's, and the
/// others come back to the instruction by themselves.
bool gather_members(Warp& w, const Op& op, Mask* m, Mask* member) {
  const auto* named = lanes<uint32_t>(w, op.e);
  *member = named[first_lane(*m)];
  Mask others = 0;
  for (Mask rest = *m; rest; rest &= rest - 1) {
    if (named[first_lane(rest)] != *member) others |= 1u << first_lane(rest);
  }
  if (others) {
    Split& self = w.split();
    self.mask &= ~others;
    *m &= ~others;
    w.fork(others, self.pc);
  }
  return gather(w, op, *member, m);
}

Flow elect(Warp& w, const Op& op, Mask m) {
  Mask member;
  if (!gather_members(w, op, &m, &member)) return Flow::Block;
  const int elected = first_lane(m & member);  // the lowest lane, as measured on hardware
  for_lanes(m, [&](int i) { lanes<uint32_t>(w, op.d)[i] = static_cast<uint32_t>(elected); });
  Mask& p = predicate(w, op.a);
  p = (p & ~m) | (1u << elected & m);
  return Flow::Next;
}

Flow bar_warp_sync(Warp& w, const Op& op, Mask m) {
  // Unlike the others, lanes may meet here from different places of the program.
  isolate(w, m);
  Split& self = w.split();
  const Mask member = uniform<uint32_t>(w, op.e, m);
  const Mask need = member & w.live;
  Mask have = self.mask;
  const auto waits = [&](int slot) {
    const Split& other = w.splits[slot];
    return slot != w.current && other.wait == Wait::Gather && other.arguments[1] == kMeetAnywhere &&
           (other.mask & member);
  };
  for (uint32_t rest = w.used; rest; rest &= rest - 1) {
    if (waits(std::countr_zero(rest))) have |= w.splits[std::countr_zero(rest)].mask;
  }
  if ((have & need) != need) { return block(w, Wait::Gather, need, kMeetAnywhere); }
  for (uint32_t rest = w.used; rest; rest &= rest - 1) {
    const int slot = std::countr_zero(rest);
    if (waits(slot)) go_on(w, static_cast<uint8_t>(slot));
  }
  return Flow::Next;
}

// shape[0]: 0 idx, 1 up, 2 down, 3 bfly
Flow shfl(Warp& w, const Op& op, Mask m) {
  Mask member;
  if (!gather_members(w, op, &m, &member)) return Flow::Block;
  uint32_t from[32];
  std::memcpy(from, lanes<uint32_t>(w, op.a), sizeof from);
  auto* d = lanes<uint32_t>(w, op.d);
  const auto *b = lanes<uint32_t>(w, op.b), *c = lanes<uint32_t>(w, op.c);
  Mask valid = 0;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const int segment = static_cast<int>(c[lane] >> 8 & 31), clamp = static_cast<int>(c[lane] & 31);
    const int amount = static_cast<int>(b[lane] & 31);
    const int limit = (lane & segment) | (clamp & ~segment);
    int source = 0;
    bool in_range = false;
    switch (op.shape[0]) {
      case 0: source = (lane & segment) | (amount & ~segment), in_range = source <= limit; break;
      case 1: source = lane - amount, in_range = source >= limit; break;
      case 2: source = lane + amount, in_range = source <= limit; break;
      default: source = lane ^ amount, in_range = source <= limit; break;
    }
    if (!in_range) source = lane;
    d[lane] = from[source & 31];
    valid |= static_cast<Mask>(in_range) << lane;
  }
  if (op.imm >= 0) {
    Mask& p = predicate(w, static_cast<int32_t>(op.imm));
    p = (p & ~m) | (valid & m);
  }
  return Flow::Next;
}

// shape[0]: 0 all, 1 any, 2 uni, 3 ballot; flags: the source is negated
Flow vote(Warp& w, const Op& op, Mask m) {
  Mask member;
  if (!gather_members(w, op, &m, &member)) return Flow::Block;
  const Mask voters = m & member, truth = (predicate(w, op.a) ^ (op.flags ? kAllLanes : 0)) & voters;
  if (op.shape[0] == 3) {
    for_lanes(m, [&](int i) { lanes<uint32_t>(w, op.d)[i] = truth; });
    return Flow::Next;
  }
  const bool result = op.shape[0] == 0   ? truth == voters
                      : op.shape[0] == 1 ? truth != 0
                                         : truth == voters || truth == 0;
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | (result ? m : 0);
  return Flow::Next;
}

// shape[0]: 0 any, 1 all; shape[1]: 64-bit values
Flow match(Warp& w, const Op& op, Mask m) {
  Mask member;
  if (!gather_members(w, op, &m, &member)) return Flow::Block;
  const auto value = [&](int lane) {
    return op.shape[1] ? lanes<uint64_t>(w, op.a)[lane] : uint64_t{lanes<uint32_t>(w, op.a)[lane]};
  };
  bool all = true;
  uint32_t result[32] = {};
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    for (Mask others = m; others; others &= others - 1) {
      if (value(first_lane(others)) == value(lane))
        result[lane] |= 1u << first_lane(others);
      else
        all = false;
    }
  }
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    lanes<uint32_t>(w, op.d)[lane] = op.shape[0] == 0 ? result[lane] : all ? m : 0;
  }
  if (op.imm >= 0) {
    Mask& p = predicate(w, static_cast<int32_t>(op.imm));
    p = (p & ~m) | (all ? m : 0);
  }
  return Flow::Next;
}

// shape[0]: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; shape[1]: 1 signed, 2 float; flags 1: .abs, 2: .NaN
Flow redux(Warp& w, const Op& op, Mask m) {
  Mask member;
  if (!gather_members(w, op, &m, &member)) return Flow::Block;
  const auto* a = lanes<uint32_t>(w, op.a);
  const auto real = [&](uint32_t bits) { return std::bit_cast<float>(op.flags & 1 ? bits & 0x7FFF'FFFF : bits); };
  uint32_t result = op.shape[1] == 2 ? std::bit_cast<uint32_t>(real(a[first_lane(m)])) : a[first_lane(m)];
  for (Mask rest = m & (m - 1); rest; rest &= rest - 1) {
    const uint32_t x = a[first_lane(rest)];
    if (op.shape[1] == 2) {
      const float u = real(result), v = real(x);
      const bool first = std::isnan(u)      ? (op.flags & 2) != 0
                         : std::isnan(v)    ? (op.flags & 2) == 0
                         : op.shape[0] == 1 ? u <= v
                                            : u >= v;
      result = std::bit_cast<uint32_t>(canonical(first ? u : v));
      continue;
    }
    switch (op.shape[0]) {
      case 0: result += x; break;
      case 1:
        result = op.shape[1] ? static_cast<uint32_t>(std::min(static_cast<int32_t>(result), static_cast<int32_t>(x)))
                             : std::min(result, x);
        break;
      case 2:
        result = op.shape[1] ? static_cast<uint32_t>(std::max(static_cast<int32_t>(result), static_cast<int32_t>(x)))
                             : std::max(result, x);
        break;
      case 3: result &= x; break;
      case 4: result |= x; break;
      default: result ^= x; break;
    }
  }
  for_lanes(m, [&](int i) { lanes<uint32_t>(w, op.d)[i] = result; });
  return Flow::Next;
}

Flow activemask(Warp& w, const Op& op, Mask m) {
  for_lanes(m, [&](int i) { lanes<uint32_t>(w, op.d)[i] = w.split().mask; });
  return Flow::Next;
}

/// d or d|p: the value's slot, and the predicate's in *predicate (-1 if there is none).
int32_t value_and_predicate(Decoder& d, int32_t* predicate) {
  const Operand& target = d.operand(0);
  *predicate = -1;
  if (target.kind != Operand::Kind::Pair) return d.destination(0, 4);
  const Operand& p = target.elements[1];
  *predicate = d.is_sink(p) ? d.scratch(4) : d.destination(p, 4);
  return d.destination(target.elements[0], 4);
}

}  // namespace

void decode_warp(Decoder& d) {
  Op& op = *d.op;
  const std::string& name = d.in->opcode;
  d.ignore({"sync"});
  int32_t p = -1;
  if (name == "elect") {
    op.d = value_and_predicate(d, &p);
    op.a = p >= 0 ? p : d.scratch(4);
    op.e = d.source(1, Type::B32);
    op.run = elect;
  } else if (name == "bar") {
    d.ignore({"warp"});
    op.e = d.source(0, Type::B32);
    op.run = bar_warp_sync;
  } else if (name == "shfl") {
    if (!d.has("sync")) d.unsupported("shfl without .sync was removed from PTX");
    op.d = value_and_predicate(d, &p);
    op.imm = p;
    op.a = d.source(1, Type::B32);
    op.b = d.source(2, Type::B32);
    op.c = d.source(3, Type::B32);
    op.e = d.source(4, Type::B32);
    op.shape[0] = d.has("idx") ? 0 : d.has("up") ? 1 : d.has("down") ? 2 : 3;
    d.ignore({"bfly", "b32"});
    op.run = shfl;
  } else if (name == "vote") {
    if (!d.has("sync")) d.unsupported("vote without .sync was removed from PTX");
    bool negated = false;
    op.shape[0] = d.has("all") ? 0 : d.has("any") ? 1 : d.has("uni") ? 2 : 3;
    d.ignore({"ballot", "b32", "pred"});
    op.d = d.destination(0, 4);
    op.a = d.predicate_source(d.operand(1), &negated);
    op.flags = negated;
    op.e = d.source(2, Type::B32);
    op.run = vote;
  } else if (name == "match") {
    const Type type = d.last_type();
    op.d = value_and_predicate(d, &p);
    op.imm = p;
    op.a = d.source(1, type);
    op.e = d.source(2, Type::B32);
    op.shape[0] = d.has("all");
    d.ignore({"any"});
    op.shape[1] = ptx::bits(type) == 64;
    op.run = match;
  } else if (name == "redux") {
    const Type type = d.last_type();
    const char* const names[] = {"add", "min", "max", "and", "or", "xor"};
    for (uint16_t i = 0; i < 6; ++i) {
      if (d.has(names[i])) op.shape[0] = i;
    }
    op.shape[1] = type == Type::S32 ? 1 : type == Type::F32 ? 2 : 0;
    if (type == Type::F32) op.flags = (d.has("abs") ? 1u : 0u) | (d.has("NaN") ? 2u : 0u);
    op.d = d.destination(0, 4);
    op.a = d.source(1, type);
    op.e = d.source(2, Type::B32);
    op.run = redux;
  } else if (name == "activemask") {
    d.ignore({"b32"});
    op.d = d.destination(0, 4);
    op.run = activemask;
  }
}

}  // namespace sim
