// Comparisons, selections, and logic on predicates.
#include <cmath>

#include "exec/arithmetic/half.h"
#include "exec/arithmetic/lanewise.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

// ---- comparisons. Those with a suffix U are true for NaNs, too.

enum class Compare : uint8_t { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };

template <class T>
bool compare(Compare how, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    switch (how) {
      case Compare::EQ: return a == b;
      case Compare::NE: return !unordered && a != b;
      case Compare::LT: return a < b;
      case Compare::LE: return a <= b;
      case Compare::GT: return a > b;
      case Compare::GE: return a >= b;
      case Compare::EQU: return unordered || a == b;
      case Compare::NEU: return unordered || a != b;
      case Compare::LTU: return unordered || a < b;
      case Compare::LEU: return unordered || a <= b;
      case Compare::GTU: return unordered || a > b;
      case Compare::GEU: return unordered || a >= b;
      case Compare::NUM: return !unordered;
      case Compare::NAN_: return unordered;
    }
    return false;
  } else {
    switch (how) {
      case Compare::EQ:
      case Compare::EQU: return a == b;
      case Compare::NE:
      case Compare::NEU: return a != b;
      case Compare::LT:
      case Compare::LTU: return a < b;
      case Compare::LE:
      case Compare::LEU: return a <= b;
      case Compare::GT:
      case Compare::GTU: return a > b;
      case Compare::GE:
      case Compare::GEU: return a >= b;
      default: return false;
    }
  }
}

Compare comparison_of(const Decoder& d) {
  // lo, ls, hi, hs: unsigned comparisons by their old names.
  static constexpr std::pair<std::string_view, Compare> kNames[] = {
      {"eq", Compare::EQ},   {"ne", Compare::NE},    {"lt", Compare::LT},   {"le", Compare::LE},
      {"gt", Compare::GT},   {"ge", Compare::GE},    {"equ", Compare::EQU}, {"neu", Compare::NEU},
      {"ltu", Compare::LTU}, {"leu", Compare::LEU},  {"gtu", Compare::GTU}, {"geu", Compare::GEU},
      {"num", Compare::NUM}, {"nan", Compare::NAN_}, {"lo", Compare::LT},   {"ls", Compare::LE},
      {"hi", Compare::GT},   {"hs", Compare::GE}};
  return d.one_of(kNames, faults::unknown_comparison);
}

/// The predicate that is combined with the outcome, by .and, .or or .xor.
enum class Combine : uint8_t { None, And, Or, Xor };
struct Combination {
  PredicateOperand with{};
  Combine how = Combine::None;

  static Combination decode(Decoder& d) {
    if (d.count() < 4) return {};
    return {d.predicate_source(d.operand(3)), static_cast<Combine>(1 + d.which({"and", "or", "xor"}))};
  }
  Mask apply(Mask truth, Mask other) const {
    switch (how) {
      case Combine::And: return truth & other;
      case Combine::Or: return truth | other;
      case Combine::Xor: return truth ^ other;
      case Combine::None: break;
    }
    return truth;
  }
};

/// Both sources of a comparison, with subnormal numbers flushed if requested.
struct CompareOperands {
  int32_t a, b;
  bool flush;
  Compare how;  ///< unless it is a constant of the handler

  template <class T>
  T value(T raw) const {
    if constexpr (std::is_same_v<T, float>) return flush ? flush_subnormal(raw) : raw;
    return raw;
  }
  template <class H>
  float half(uint32_t bits) const {
    const float number = H::widen(static_cast<uint16_t>(bits));
    return flush && std::fabs(number) < static_cast<float>(H::kSmallest) ? std::copysign(0.0f, number) : number;
  }
};

// ---- setp

struct SetpOperands {
  CompareOperands compare;
  int32_t p, q;  ///< q: the opposite outcome, or for pairs that of the upper values; -1: none
  Combination combination;
};
Flow set_predicates(Warp& w, const SetpOperands& o, Mask m, Mask truth, Mask of_q) {
  const Mask other = o.combination.with.exists() ? o.combination.with.read(w) : 0;
  set_predicate(w, o.p, m, o.combination.apply(truth, other));
  if (o.q >= 0) set_predicate(w, o.q, m, o.combination.apply(of_q, other));
  return Flow::Next;
}
/// A bit for each of 32 bytes that are 0 or 1.
Mask mask_of(const uint8_t* truths) {
  Mask mask = 0;
  for (int i = 0; i < 32; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, truths + i, sizeof eight);
    mask |= static_cast<Mask>(eight * 0x0102'0408'1020'4080 >> 56) << i;
  }
  return mask;
}
template <class T, Compare HOW>
Flow setp(Warp& w, const SetpOperands& o, Mask m) {
  const auto *a = lanes<Stored<T>>(w, o.compare.a), *b = lanes<Stored<T>>(w, o.compare.b);
  uint8_t truths[32];
  for (int i = 0; i < 32; ++i) {
    const T x = o.compare.value(from_slot<T>(a[i])), y = o.compare.value(from_slot<T>(b[i]));
    truths[i] = compare<T>(HOW, x, y);
  }
  const Mask truth = mask_of(truths);
  return set_predicates(w, o, m, truth, ~truth);
}
template <class H, bool PAIR>
Flow setp_half(Warp& w, const SetpOperands& o, Mask m) {
  const auto *a = lanes<uint32_t>(w, o.compare.a), *b = lanes<uint32_t>(w, o.compare.b);
  const auto truth = [&](int shift) {
    Mask all = 0;
    for (int i = 0; i < 32; ++i) {
      const float x = o.compare.half<H>(a[i] >> shift), y = o.compare.half<H>(b[i] >> shift);
      all |= static_cast<Mask>(compare<float>(o.compare.how, x, y)) << i;
    }
    return all;
  };
  const Mask lower = truth(0);
  return set_predicates(w, o, m, lower, PAIR ? truth(16) : ~lower);
}
template <class T>
Execution<SetpOperands> setp_of(Compare how) {
  switch (how) {
    case Compare::EQ: return execution<setp<T, Compare::EQ>>;
    case Compare::NE: return execution<setp<T, Compare::NE>>;
    case Compare::LT: return execution<setp<T, Compare::LT>>;
    case Compare::LE: return execution<setp<T, Compare::LE>>;
    case Compare::GT: return execution<setp<T, Compare::GT>>;
    case Compare::GE: return execution<setp<T, Compare::GE>>;
    case Compare::EQU: return execution<setp<T, Compare::EQU>>;
    case Compare::NEU: return execution<setp<T, Compare::NEU>>;
    case Compare::LTU: return execution<setp<T, Compare::LTU>>;
    case Compare::LEU: return execution<setp<T, Compare::LEU>>;
    case Compare::GTU: return execution<setp<T, Compare::GTU>>;
    case Compare::GEU: return execution<setp<T, Compare::GEU>>;
    case Compare::NUM: return execution<setp<T, Compare::NUM>>;
    case Compare::NAN_: return execution<setp<T, Compare::NAN_>>;
  }
  return {};
}
CompareOperands compare_operands(Decoder& d, Type type) {
  return {.a = d.source(1, type), .b = d.source(2, type), .flush = d.has("ftz"), .how = comparison_of(d)};
}
void decode_setp(Decoder& d) {
  const Type type = d.last_type();
  const Operand& target = d.operand(0);
  const bool two = target.kind == Operand::Kind::Pair;
  const Operand& first = two ? target.elements[0] : target;
  SetpOperands o{.compare = compare_operands(d, type), .p = -1, .q = -1, .combination = Combination::decode(d)};
  o.p = d.is_sink(first) ? d.scratch(4) : d.destination(first, 4);
  if (two) o.q = d.destination_if_any(target.elements[1], 4);
  const Compare how = o.compare.how;
  switch (type) {
    case Type::F32: return d.emit(setp_of<float>(how), o);
    case Type::F64: return d.emit(setp_of<double>(how), o);
    case Type::F16: return d.emit<setp_half<Half, false>>(o);
    case Type::F16x2: return d.emit<setp_half<Half, true>>(o);
    case Type::BF16: return d.emit<setp_half<Brain, false>>(o);
    case Type::BF16x2: return d.emit<setp_half<Brain, true>>(o);
    default: return d.emit(by_integer_type(type, [&]<class T>(T) { return setp_of<T>(how); }), o);
  }
}

// ---- set: like setp, but the result is a number

struct SetOperands {
  CompareOperands compare;
  int32_t d;
  Combination combination;
  uint32_t true_value;

  uint32_t value(Warp& w, int lane, bool truth) const {
    const Mask other = combination.with.exists() ? combination.with.read(w) >> lane & 1 : 0;
    return combination.apply(truth, other) & 1 ? true_value : 0;
  }
};
template <class T>
Flow set(Warp& w, const SetOperands& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<Stored<T>>(w, o.compare.a), *b = lanes<Stored<T>>(w, o.compare.b);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const T x = o.compare.value(from_slot<T>(a[i])), y = o.compare.value(from_slot<T>(b[i]));
    d[i] = o.value(w, i, compare<T>(o.compare.how, x, y));
  }
  return Flow::Next;
}
template <class H, bool PAIR>
Flow set_half(Warp& w, const SetOperands& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.compare.a), *b = lanes<uint32_t>(w, o.compare.b);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const auto one = [&](int shift) {
      const float x = o.compare.half<H>(a[i] >> shift), y = o.compare.half<H>(b[i] >> shift);
      return o.value(w, i, compare<float>(o.compare.how, x, y));
    };
    d[i] = PAIR ? (one(0) & 0xFFFF) | one(16) << 16 : one(0);
  }
  return Flow::Next;
}
uint32_t true_value_of(Type result) {
  switch (result) {
    case Type::F32: return std::bit_cast<uint32_t>(1.0f);
    case Type::F16:
    case Type::F16x2: return Half::kOne;
    case Type::BF16:
    case Type::BF16x2: return Brain::kOne;
    default: return 0xFFFF'FFFFu;
  }
}
void decode_set(Decoder& d) {
  const Type result = d.type(0), type = d.type(1);
  const SetOperands o{.compare = compare_operands(d, type),
                      .d = d.destination(0, 4),
                      .combination = Combination::decode(d),
                      .true_value = true_value_of(result)};
  switch (type) {
    case Type::F16: return d.emit<set_half<Half, false>>(o);
    case Type::F16x2: return d.emit<set_half<Half, true>>(o);
    case Type::BF16: return d.emit<set_half<Brain, false>>(o);
    case Type::BF16x2: return d.emit<set_half<Brain, true>>(o);
    case Type::F32: return d.emit<set<float>>(o);
    case Type::F64: return d.emit<set<double>>(o);
    default: return d.emit(by_integer_type(type, []<class T>(T) { return execution<set<T>>; }), o);
  }
}

// ---- selp, slct

struct SelpOperands {
  int32_t d, a, b;
  PredicateOperand c;
};
template <class T>
Flow selp(Warp& w, const SelpOperands& o, Mask m) {
  auto* d = lanes<T>(w, o.d);
  const auto *a = lanes<T>(w, o.a), *b = lanes<T>(w, o.b);
  const Mask choose = o.c.read(w);
  for_lanes(m, [&](int i) { d[i] = (choose >> i) & 1 ? a[i] : b[i]; });
  return Flow::Next;
}
void decode_selp(Decoder& d) {
  const Type type = d.last_type();
  const SelpOperands o{.d = d.destination(0, std::max(ptx::bits(type), 32) / 8),
                       .a = d.source(1, type),
                       .b = d.source(2, type),
                       .c = d.predicate_source(d.operand(3))};
  d.emit(ptx::bits(type) == 64 ? execution<selp<uint64_t>> : execution<selp<uint32_t>>, o);
}

/// a or b, by the sign of c: an integer, or a float.
template <class T, class C, bool FLUSH>
Flow slct(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<T>(w, o.d);
  const auto *a = lanes<T>(w, o.a), *b = lanes<T>(w, o.b);
  const auto* c = lanes<C>(w, o.c);
  for_lanes(m, [&](int i) {
    C sign = c[i];
    if constexpr (FLUSH) sign = flush_subnormal(sign);
    d[i] = sign >= 0 ? a[i] : b[i];
  });
  return Flow::Next;
}
void decode_slct(Decoder& d) {
  const Type value = d.type(0), test = d.type(1);
  const bool flush = d.has("ftz"), wide = ptx::bits(value) == 64;
  const Registers o{.d = d.destination(0, ptx::bits(value) / 8),
                    .a = d.source(1, value),
                    .b = d.source(2, value),
                    .c = d.source(3, test)};
  const auto how = [&]<class T>(T) {
    if (test != Type::F32) return execution<slct<T, int32_t, false>>;
    return flush ? execution<slct<T, float, true>> : execution<slct<T, float, false>>;
  };
  d.emit(wide ? how(uint64_t{}) : how(uint32_t{}), o);
}

// ---- testp

enum class Test : uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
struct TestOperands {
  int32_t p, a;
  Test what;
};
template <class T>
Flow test(Warp& w, const TestOperands& o, Mask m) {
  const auto* a = lanes<T>(w, o.a);
  Mask truth = 0;
  for (int i = 0; i < 32; ++i) {
    bool yes = false;
    switch (o.what) {
      case Test::Finite: yes = std::isfinite(a[i]); break;
      case Test::Infinite: yes = std::isinf(a[i]); break;
      case Test::Number: yes = !std::isnan(a[i]); break;
      case Test::NotANumber: yes = std::isnan(a[i]); break;
      case Test::Normal: yes = std::isnormal(a[i]) || a[i] == 0; break;  // zeros count as normal
      case Test::Subnormal: yes = std::fpclassify(a[i]) == FP_SUBNORMAL; break;
    }
    truth |= static_cast<Mask>(yes) << i;
  }
  set_predicate(w, o.p, m, truth);
  return Flow::Next;
}
void decode_testp(Decoder& d) {
  static constexpr std::pair<std::string_view, Test> kTests[] = {
      {"finite", Test::Finite},         {"infinite", Test::Infinite}, {"number", Test::Number},
      {"notanumber", Test::NotANumber}, {"normal", Test::Normal},     {"subnormal", Test::Subnormal}};
  const Type type = d.last_type();
  const TestOperands o{
      .p = d.destination(0, 4), .a = d.source(1, type), .what = d.one_of(kTests, faults::property_required)};
  d.emit(type == Type::F64 ? execution<test<double>> : execution<test<float>>, o);
}

// ---- logic on predicates

struct LogicOperands {
  int32_t d;
  PredicateOperand a, b;
};
template <auto F>
Flow logic(Warp& w, const LogicOperands& o, Mask m) {
  set_predicate(w, o.d, m, F(o.a.read(w), o.b.read(w)));
  return Flow::Next;
}
template <int N, auto F>
void decode_logic(Decoder& d) {
  const PredicateOperand a = d.predicate_source(d.operand(1));
  d.emit<logic<F>>({.d = d.destination(0, 4), .a = a, .b = N > 1 ? d.predicate_source(d.operand(2)) : a});
}

constexpr Mnemonic kMnemonics[] = {
    {"setp", decode_setp},
    {"set", decode_set},
    {"selp", decode_selp},
    {"slct", decode_slct},
    {"testp", decode_testp},
    {"and.pred", decode_logic<2, [](Mask a, Mask b) { return a & b; }>},
    {"or.pred", decode_logic<2, [](Mask a, Mask b) { return a | b; }>},
    {"xor.pred", decode_logic<2, [](Mask a, Mask b) { return a ^ b; }>},
    {"not.pred", decode_logic<1, [](Mask a, Mask) { return ~a; }>},
};

}  // namespace

constinit const Family families::predicate{.mnemonics = kMnemonics, .pure = true};

}  // namespace sim
