// Instructions that lanes of a warp execute together: elections, shuffles, votes, reductions, __syncwarp.
#include <algorithm>
#include <bit>
#include <cmath>

#include "exec/arithmetic/numeric.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

/// The first lane's member mask (`slot`) of a .sync instruction. Lanes that run together may name different masks,
/// since tiles of a warp are independent: lanes with another mask are removed from *m and execute the instruction
/// later.
Mask members_of(Warp& w, int32_t slot, Mask* m) {
  const auto* named = lanes<uint32_t>(w, slot);
  const Mask member = named[first_lane(*m)];
  Mask others = 0;
  for (Mask rest = *m; rest; rest &= rest - 1) {
    if (named[first_lane(rest)] != member) others |= 1u << first_lane(rest);
  }
  if (others) {
    Split& self = w.split();
    self.mask &= ~others;
    *m &= ~others;
    w.fork(others, self.pc);
  }
  return member;
}

/// Gathers the lanes that a .sync instruction names in its member mask, *member; false: Flow::Block.
bool gather_members(Warp& w, int32_t slot, Mask* m, Mask* member) {
  *member = members_of(w, slot, m);
  if (!gather(w, *member, m)) return false;
  cluster_of(w).watchers.tell(LaneEvent{LaneEvent::What::Meet, w, *m & *member});
  return true;
}

/// d or d|p. No predicate: -1.
struct ShuffleTarget {
  int32_t value = -1, predicate = -1;
};
ShuffleTarget target_of(Decoder& d) {
  const Operand& target = d.operand(0);
  if (target.kind != Operand::Kind::Pair) return {.value = d.destination(0, 4)};
  const Operand& p = target.elements[1];
  const int32_t predicate = d.is_sink(p) ? d.scratch(4) : d.destination(p, 4);
  return {.value = d.destination(target.elements[0], 4), .predicate = predicate};
}

// ---- elect

struct Elect {
  ShuffleTarget d;
  int32_t members;
};
Flow elect(Warp& w, const Elect& o, Mask m) {
  Mask member;
  if (!gather_members(w, o.members, &m, &member)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  // Hardware elects the lowest lane, as measured.
  const int elected = cluster.launch->elects_last ? std::bit_width(m & member) - 1 : first_lane(m & member);
  cluster.watchers.tell(LaneEvent{LaneEvent::What::Elects, w, 1u << elected});
  for_lanes(m, [&](int i) { lanes<uint32_t>(w, o.d.value)[i] = static_cast<uint32_t>(elected); });
  if (o.d.predicate >= 0) set_predicate(w, o.d.predicate, m, 1u << elected);
  return Flow::Next;
}

// ---- bar.warp.sync

struct WarpBarrier {
  int32_t members;
};
Flow bar_warp_sync(Warp& w, const WarpBarrier& o, Mask m) {
  // Unlike at the other instructions, lanes may meet here from different instructions.
  isolate(w, m);
  Split& self = w.split();
  const Mask member = members_of(w, o.members, &m);
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
  if ((have & need) != need) return block(w, Wait::Gather, need, kMeetAnywhere);
  cluster_of(w).watchers.tell(LaneEvent{LaneEvent::What::Sync, w, have & member});
  for (uint32_t rest = w.used; rest; rest &= rest - 1) {
    const int slot = std::countr_zero(rest);
    if (waits(slot)) go_on(w, static_cast<uint8_t>(slot));
  }
  return Flow::Next;
}

// ---- shfl

enum class Shuffle : uint8_t { Idx, Up, Down, Bfly };
struct Shfl {
  ShuffleTarget d;
  int32_t a, b, c, members;
  Shuffle how;
};
Flow shfl(Warp& w, const Shfl& o, Mask m) {
  Mask member;
  if (!gather_members(w, o.members, &m, &member)) return Flow::Block;
  uint32_t from[32];
  std::memcpy(from, lanes<uint32_t>(w, o.a), sizeof from);
  auto* d = lanes<uint32_t>(w, o.d.value);
  const auto *b = lanes<uint32_t>(w, o.b), *c = lanes<uint32_t>(w, o.c);
  Mask valid = 0;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const int segment = static_cast<int>(c[lane] >> 8 & 31), clamp = static_cast<int>(c[lane] & 31);
    const int amount = static_cast<int>(b[lane] & 31);
    const int limit = (lane & segment) | (clamp & ~segment);
    int source = 0;
    bool in_range = false;
    switch (o.how) {
      case Shuffle::Idx: source = (lane & segment) | (amount & ~segment), in_range = source <= limit; break;
      case Shuffle::Up: source = lane - amount, in_range = source >= limit; break;
      case Shuffle::Down: source = lane + amount, in_range = source <= limit; break;
      case Shuffle::Bfly: source = lane ^ amount, in_range = source <= limit; break;
    }
    if (!in_range) source = lane;
    d[lane] = from[source & 31];
    valid |= static_cast<Mask>(in_range) << lane;
  }
  if (o.d.predicate >= 0) set_predicate(w, o.d.predicate, m, valid);
  return Flow::Next;
}
void decode_shfl(Decoder& d) {
  static constexpr std::pair<std::string_view, Shuffle> kHow[] = {
      {"idx", Shuffle::Idx}, {"up", Shuffle::Up}, {"down", Shuffle::Down}, {"bfly", Shuffle::Bfly}};
  if (!d.has("sync")) d.unsupported(faults::shfl_without_sync);
  d.ignore({"b32"});
  d.emit<shfl>({.d = target_of(d),
                .a = d.source(1, Type::B32),
                .b = d.source(2, Type::B32),
                .c = d.source(3, Type::B32),
                .members = d.source(4, Type::B32),
                .how = d.one_of(kHow, faults::mode_required)});
}

// ---- vote

enum class Question : uint8_t { All, Any, Uni, Ballot };
struct Vote {
  int32_t d;
  PredicateOperand a;
  int32_t members;
  Question what;
};
Flow vote(Warp& w, const Vote& o, Mask m) {
  Mask member;
  if (!gather_members(w, o.members, &m, &member)) return Flow::Block;
  const Mask voters = m & member, truth = o.a.read(w) & voters;
  bool answer = false;
  switch (o.what) {
    case Question::All: answer = truth == voters; break;
    case Question::Any: answer = truth != 0; break;
    case Question::Uni: answer = truth == voters || truth == 0; break;
    case Question::Ballot: {
      for_lanes(m, [&](int i) { lanes<uint32_t>(w, o.d)[i] = truth; });
      return Flow::Next;
    }
  }
  set_predicate(w, o.d, m, answer ? kAllLanes : 0);
  return Flow::Next;
}
void decode_vote(Decoder& d) {
  static constexpr std::pair<std::string_view, Question> kWhat[] = {
      {"all", Question::All}, {"any", Question::Any}, {"uni", Question::Uni}, {"ballot", Question::Ballot}};
  if (!d.has("sync")) d.unsupported(faults::vote_without_sync);
  d.ignore({"b32", "pred"});
  d.emit<vote>({.d = d.destination(0, 4),
                .a = d.predicate_source(d.operand(1)),
                .members = d.source(2, Type::B32),
                .what = d.one_of(kWhat, faults::mode_required)});
}

// ---- match

struct Match {
  ShuffleTarget d;
  int32_t a, members;
  bool all, wide;  ///< .all; 64-bit values
};
Flow match(Warp& w, const Match& o, Mask m) {
  Mask member;
  if (!gather_members(w, o.members, &m, &member)) return Flow::Block;
  bool all = true;
  uint32_t result[32] = {};
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    for (Mask others = m; others; others &= others - 1) {
      if (number(w, o.a, o.wide, first_lane(others)) == number(w, o.a, o.wide, lane))
        result[lane] |= 1u << first_lane(others);
      else
        all = false;
    }
  }
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    lanes<uint32_t>(w, o.d.value)[lane] = !o.all ? result[lane] : all ? m : 0;
  }
  if (o.d.predicate >= 0) set_predicate(w, o.d.predicate, m, all ? kAllLanes : 0);
  return Flow::Next;
}
void decode_match(Decoder& d) {
  const Type type = d.last_type();
  d.ignore({"any"});
  d.emit<match>({.d = target_of(d),
                 .a = d.source(1, type),
                 .members = d.source(2, Type::B32),
                 .all = d.has("all"),
                 .wide = ptx::bits(type) == 64});
}

// ---- redux

enum class Reduce : uint8_t { Add, Min, Max, And, Or, Xor };
struct Redux {
  int32_t d, a, members;
  Reduce how;
  bool is_signed, absolute, nan;  ///< .s32; of redux.f32: .abs, .NaN
};
Flow redux(Warp& w, const Redux& o, Mask m) {
  Mask member;
  if (!gather_members(w, o.members, &m, &member)) return Flow::Block;
  const auto* a = lanes<uint32_t>(w, o.a);
  uint32_t result = a[first_lane(m)];
  for (Mask rest = m & (m - 1); rest; rest &= rest - 1) {
    const uint32_t x = a[first_lane(rest)];
    const auto pick = [&](auto choose) {
      return o.is_signed ? static_cast<uint32_t>(choose(static_cast<int32_t>(result), static_cast<int32_t>(x)))
                         : choose(result, x);
    };
    switch (o.how) {
      case Reduce::Add: result += x; break;
      case Reduce::Min: result = pick([](auto u, auto v) { return std::min(u, v); }); break;
      case Reduce::Max: result = pick([](auto u, auto v) { return std::max(u, v); }); break;
      case Reduce::And: result &= x; break;
      case Reduce::Or: result |= x; break;
      case Reduce::Xor: result ^= x; break;
    }
  }
  for_lanes(m, [&](int i) { lanes<uint32_t>(w, o.d)[i] = result; });
  return Flow::Next;
}
Flow redux_f32(Warp& w, const Redux& o, Mask m) {
  Mask member;
  if (!gather_members(w, o.members, &m, &member)) return Flow::Block;
  const auto value = [&](int lane) {
    const float x = lanes<float>(w, o.a)[lane];
    return o.absolute ? std::fabs(x) : x;
  };
  float result = value(first_lane(m));
  for (Mask rest = m & (m - 1); rest; rest &= rest - 1) {
    const float x = value(first_lane(rest));
    const bool first = std::isnan(result)     ? o.nan
                       : std::isnan(x)        ? !o.nan
                       : o.how == Reduce::Min ? result <= x
                                              : result >= x;
    result = canonical(first ? result : x);
  }
  for_lanes(m, [&](int i) { lanes<float>(w, o.d)[i] = result; });
  return Flow::Next;
}
void decode_redux(Decoder& d) {
  static constexpr std::pair<std::string_view, Reduce> kHow[] = {{"add", Reduce::Add}, {"min", Reduce::Min},
                                                                 {"max", Reduce::Max}, {"and", Reduce::And},
                                                                 {"or", Reduce::Or},   {"xor", Reduce::Xor}};
  const Type type = d.last_type();
  const Redux o{.d = d.destination(0, 4),
                .a = d.source(1, type),
                .members = d.source(2, Type::B32),
                .how = d.one_of(kHow, faults::operation_required),
                .is_signed = type == Type::S32,
                .absolute = type == Type::F32 && d.has("abs"),
                .nan = type == Type::F32 && d.has("NaN")};
  d.emit(type == Type::F32 ? execution<redux_f32> : execution<redux>, o);
}

// ---- activemask

struct ActiveMask {
  int32_t d;
};
Flow activemask(Warp& w, const ActiveMask& o, Mask m) {
  for_lanes(m, [&](int i) { lanes<uint32_t>(w, o.d)[i] = w.split().mask; });
  return Flow::Next;
}

constexpr Mnemonic kMnemonics[] = {
    {"elect", [](Decoder& d) { d.emit<elect>({.d = target_of(d), .members = d.source(1, Type::B32)}); }},
    {"bar.warp", [](Decoder& d) { d.emit<bar_warp_sync>({d.source(0, Type::B32)}); },
     Manner{.orders = Manner::Orders::Barrier, .acquires = true, .releases = true}},
    {"shfl", decode_shfl, Manner{.use = DataUse::Carries}},
    {"vote", decode_vote, Manner{.use = DataUse::Carries}},
    {"match", decode_match, Manner{.use = DataUse::Carries}},
    {"redux", decode_redux, Manner{.use = DataUse::Carries}},
    {"activemask.b32", [](Decoder& d) { d.emit<activemask>({d.destination(0, 4)}); }},
};
constexpr std::string_view kIgnored[] = {"sync"};

}  // namespace

constinit const Family families::warp{kMnemonics, kIgnored};

}  // namespace sim
