// Integers and bits: sums, products, shifts, bit fields, logic.
#include <algorithm>

#include "exec/arithmetic/lanewise.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Type;

// ---- one operation, all integer types

template <int N, auto F>
void integer(Decoder& d) {
  const Type type = d.last_type();
  const auto how = by_integer_type(type, []<class T>(T) { return execution<lanewise<T, T, N, F>>; });
  d.emit(how, registers_of(d, type, N));
}

/// The same for one type.
template <class T, int N, auto F>
void integer_of(Decoder& d) {
  d.emit<lanewise<T, T, N, F>>(registers_of(d, d.last_type(), N));
}

/// popc, clz: 32-bit result of a source that may have 64.
template <auto F>
void count(Decoder& d) {
  const Type type = d.last_type();
  const Registers o{.d = d.destination(0, 4), .a = d.source(1, type)};
  d.emit(ptx::bits(type) == 64 ? execution<lanewise<uint32_t, uint64_t, 1, F>>
                               : execution<lanewise<uint32_t, uint32_t, 1, F>>,
         o);
}

constexpr auto kAbs = [](auto a) { return a < 0 ? -a : a; };
constexpr auto kMulHi = []<class T>(T a, T b) {
  using Wide = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  return (static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T));
};
constexpr auto kDiv = []<class T>(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});  // what hardware gives
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-a);
  }
  return static_cast<T>(a / b);
};
constexpr auto kRem = []<class T>(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});  // what hardware gives
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return T{0};
  }
  return static_cast<T>(a % b);
};
constexpr auto kReverse = []<class T>(T a) {
  T result = 0;
  for (size_t bit = 0; bit < 8 * sizeof(T); ++bit) result |= ((a >> bit) & 1) << (8 * sizeof(T) - 1 - bit);
  return result;
};
constexpr auto saturated(int64_t value) { return std::clamp<int64_t>(value, INT32_MIN, INT32_MAX); }

// ---- products of twice the width: mul.wide, mad.wide

template <class D, class T>
Flow multiply_wide(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<Stored<D>>(w, o.d);
  const auto *a = lanes<Stored<T>>(w, o.a), *b = lanes<Stored<T>>(w, o.b);
  const auto* c = o.c >= 0 ? lanes<Stored<D>>(w, o.c) : nullptr;
  if (c == nullptr)
    for_lanes(m, [&](int i) {
      d[i] = to_slot<D>(static_cast<D>(static_cast<D>(from_slot<T>(a[i])) * static_cast<D>(from_slot<T>(b[i]))));
    });
  else
    for_lanes(m, [&](int i) {
      d[i] = to_slot<D>(
          static_cast<D>(static_cast<D>(from_slot<T>(a[i])) * static_cast<D>(from_slot<T>(b[i])) + from_slot<D>(c[i])));
    });
  return Flow::Next;
}
template <bool ADDS>
void decode_wide(Decoder& d) {
  const Type type = d.last_type();
  const Type wide = type == Type::U16   ? Type::U32
                    : type == Type::S16 ? Type::S32
                    : type == Type::U32 ? Type::U64
                                        : Type::S64;
  const Registers o{.d = d.destination(0, ptx::bits(wide) / 8),
                    .a = d.source(1, type),
                    .b = d.source(2, type),
                    .c = ADDS ? d.source(3, wide) : -1};
  switch (type) {
    case Type::U16: return d.emit<multiply_wide<uint32_t, uint16_t>>(o);
    case Type::S16: return d.emit<multiply_wide<int32_t, int16_t>>(o);
    case Type::U32: return d.emit<multiply_wide<uint64_t, uint32_t>>(o);
    case Type::S32: return d.emit<multiply_wide<int64_t, int32_t>>(o);
    default: d.unsupported(faults::unknown_form);
  }
}

// ---- mul24, mad24: 24-bit factors, 48-bit product: its lower or upper 32 bits, plus c

template <bool SIGNED, bool UPPER, bool SATURATES>
Flow multiply24(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b);
  const auto* c = o.c >= 0 ? lanes<uint32_t>(w, o.c) : nullptr;
  const auto factor = [](uint32_t v) -> int64_t {
    return SIGNED ? static_cast<int32_t>(v << 8) >> 8 : static_cast<int32_t>(v & 0xFF'FFFF);
  };
  for_lanes(m, [&](int i) {
    const int64_t product = factor(a[i]) * factor(b[i]);
    const auto part = static_cast<uint32_t>(UPPER ? product >> 16 : product);
    if constexpr (SATURATES)
      d[i] = static_cast<uint32_t>(saturated(int64_t{static_cast<int32_t>(part)} + static_cast<int32_t>(c[i])));
    else
      d[i] = part + (c != nullptr ? c[i] : 0);
  });
  return Flow::Next;
}
template <int SOURCES, bool UPPER>
void decode_multiply24(Decoder& d) {
  const Type type = d.last_type();
  d.emit(ptx::is_signed(type) ? execution<multiply24<true, UPPER, false>> : execution<multiply24<false, UPPER, false>>,
         registers_of(d, type, SOURCES));
}
void decode_multiply24_saturated(Decoder& d) {
  d.emit<multiply24<true, true, true>>(registers_of(d, d.last_type(), 3));
}

// ---- extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry is a predicate slot of its own.

struct CarryOperands {
  Registers r;
  int32_t carry;
  bool uses, sets;
};
/// Calls f(lane, carry in), which returns the carry out, for every lane.
template <class F>
Flow with_carry(Warp& w, const CarryOperands& o, Mask m, F f) {
  Mask& carry = predicate(w, o.carry);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const bool out = f(i, o.uses ? (carry >> i) & 1 : 0u);
    if (o.sets) carry = (carry & ~(1u << i)) | (out ? 1u << i : 0);
  }
  return Flow::Next;
}
template <class T, bool SUBTRACT>
Flow add_carry(Warp& w, const CarryOperands& o, Mask m) {
  using Wide = unsigned __int128;
  auto* d = lanes<T>(w, o.r.d);
  const auto *a = lanes<T>(w, o.r.a), *b = lanes<T>(w, o.r.b);
  return with_carry(w, o, m, [&](int i, unsigned in) {
    const Wide x = a[i], y = static_cast<Wide>(b[i]) + in;
    d[i] = static_cast<T>(SUBTRACT ? x - y : x + y);
    return SUBTRACT ? x < y : ((x + y) >> (8 * sizeof(T))) != 0;
  });
}
template <class T, bool HIGH>
Flow mad_carry(Warp& w, const CarryOperands& o, Mask m) {
  using U = std::make_unsigned_t<T>;
  auto* d = lanes<T>(w, o.r.d);
  const auto *a = lanes<T>(w, o.r.a), *b = lanes<T>(w, o.r.b), *c = lanes<T>(w, o.r.c);
  return with_carry(w, o, m, [&](int i, unsigned in) {
    const auto product = static_cast<U>(HIGH ? static_cast<T>(kMulHi(a[i], b[i])) : static_cast<T>(a[i] * b[i]));
    const unsigned __int128 sum = static_cast<unsigned __int128>(product) + static_cast<U>(c[i]) + in;
    d[i] = static_cast<T>(sum);
    return (sum >> (8 * sizeof(T))) != 0;
  });
}

CarryOperands carry_operands(Decoder& d, int sources) {
  return {.r = registers_of(d, d.last_type(), sources),
          .carry = d.special({SpecialKind::Carry}),
          .uses = d.in->opcode.back() == 'c',
          .sets = d.has("cc")};
}
template <bool SUBTRACT>
void decode_add_carry(Decoder& d) {
  d.emit(ptx::bits(d.last_type()) == 64 ? execution<add_carry<uint64_t, SUBTRACT>>
                                        : execution<add_carry<uint32_t, SUBTRACT>>,
         carry_operands(d, 2));
}
template <bool HIGH>
void decode_mad_carry(Decoder& d) {
  const Type type = d.last_type();
  const bool is_signed = HIGH && ptx::is_signed(type);  // the lower half of a product is the same
  const CarryOperands o = carry_operands(d, 3);
  if (ptx::bits(type) == 64)
    d.emit(is_signed ? execution<mad_carry<int64_t, HIGH>> : execution<mad_carry<uint64_t, HIGH>>, o);
  else
    d.emit(is_signed ? execution<mad_carry<int32_t, HIGH>> : execution<mad_carry<uint32_t, HIGH>>, o);
}

// ---- two 16-bit numbers in a register

template <bool SIGNED, auto F>
Flow pairwise(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b);
  const auto half = [](uint32_t v, int shift) {
    return SIGNED ? int32_t{static_cast<int16_t>(v >> shift)} : static_cast<int32_t>(v >> shift & 0xFFFF);
  };
  for_lanes(m, [&](int i) {
    const auto both = [&](int shift) {
      return (static_cast<uint32_t>(F(half(a[i], shift), half(b[i], shift))) & 0xFFFF) << shift;
    };
    d[i] = both(0) | both(16);
  });
  return Flow::Next;
}
template <auto F>
void pair(Decoder& d) {
  const Type type = d.last_type();
  d.emit(type == Type::S16x2 ? execution<pairwise<true, F>> : execution<pairwise<false, F>>, registers_of(d, type, 2));
}

// ---- min, max; with .relu, not less than 0

constexpr auto kMin = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto kMax = [](auto a, auto b) { return a < b ? b : a; };

template <auto F>
void min_max(Decoder& d) {
  const Type type = d.last_type();
  type == Type::U16x2 || type == Type::S16x2 ? pair<F>(d) : integer<2, F>(d);
}
template <auto F>
void min_max_relu(Decoder& d) {
  constexpr auto kRelu = [](int32_t a, int32_t b) { return std::max(F(a, b), 0); };
  const Type type = d.last_type();
  if (type != Type::S32 && type != Type::S16x2) d.unsupported(faults::relu_of_type);
  type == Type::S16x2 ? pair<kRelu>(d) : integer_of<int32_t, 2, kRelu>(d);
}

// ---- shifts: amounts beyond the width result in 0 or the sign

template <class T, bool LEFT>
Flow shift(Warp& w, const Registers& o, Mask m) {
  constexpr uint32_t kWidth = 8 * sizeof(T);
  auto* d = lanes<Stored<T>>(w, o.d);
  const auto* a = lanes<Stored<T>>(w, o.a);
  const auto* b = lanes<uint32_t>(w, o.b);
  const auto by = [&](auto amount_of) __attribute__((always_inline)) {
    for_lanes(m, [&](int i) {
      const T value = from_slot<T>(a[i]);
      const uint32_t amount = amount_of(i);
      const bool beyond = amount >= kWidth;
      if constexpr (LEFT) {
        d[i] = beyond ? 0 : to_slot<T>(static_cast<T>(value << (amount & 63)));
      } else {
        const T shifted = static_cast<T>(value >> (beyond ? kWidth - 1 : amount));
        d[i] = to_slot<T>(beyond && !std::is_signed_v<T> ? T{0} : shifted);
      }
    });
  };
  // Not every processor has shifts of vectors by a vector; almost always the amount is a constant.
  const uint32_t first = b[0];
  uint32_t differences = 0;
  for (int i = 0; i < 32; ++i) differences |= b[i] ^ first;
  if (differences == 0)
    by([first](int) { return first; });
  else
    by([b](int i) { return b[i]; });
  return Flow::Next;
}
template <bool LEFT>
void decode_shift(Decoder& d) {
  const Type type = d.last_type();
  const Registers o{
      .d = d.destination(0, std::max(ptx::bits(type), 32) / 8), .a = d.source(1, type), .b = d.source(2, Type::B32)};
  d.emit(by_integer_type(type, []<class T>(T) { return execution<shift<T, LEFT>>; }), o);
}

/// shf: a window of 32 bits of b:a.
template <bool WRAP, bool LEFT>
Flow funnel_shift(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b), *c = lanes<uint32_t>(w, o.c);
  for_lanes(m, [&](int i) {
    const uint64_t both = static_cast<uint64_t>(b[i]) << 32 | a[i];
    const uint32_t n = WRAP ? c[i] & 31 : std::min(c[i], 32u);
    d[i] = LEFT ? static_cast<uint32_t>((both << n) >> 32) : static_cast<uint32_t>(both >> n);
  });
  return Flow::Next;
}
template <bool WRAP, bool LEFT>
void decode_funnel(Decoder& d) {
  d.emit<funnel_shift<WRAP, LEFT>>(registers_of(d, Type::B32, 3));
}

// ---- bit fields

template <class T>
Flow bit_extract(Warp& w, const Registers& o, Mask m) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kWidth = 8 * sizeof(T);
  auto* d = lanes<Stored<T>>(w, o.d);
  const auto* a = lanes<Stored<T>>(w, o.a);
  const auto *b = lanes<uint32_t>(w, o.b), *c = lanes<uint32_t>(w, o.c);
  for_lanes(m, [&](int i) {
    const uint32_t at = b[i] & 0xFF, length = c[i] & 0xFF;
    const U value = static_cast<U>(from_slot<T>(a[i]));
    const bool negative = std::is_signed_v<T> && length > 0 && ((value >> std::min(at + length - 1, kWidth - 1)) & 1);
    U field = at >= kWidth ? 0 : static_cast<U>(value >> at);
    const U mask = length >= kWidth ? ~U{0} : static_cast<U>((U{1} << length) - 1);
    field &= mask;
    const uint32_t have = at >= kWidth ? 0 : std::min(length, kWidth - at);
    if (negative) field |= have >= kWidth ? 0 : static_cast<U>(~((U{1} << have) - 1));
    d[i] = to_slot<T>(static_cast<T>(length == 0 ? U{0} : field));
  });
  return Flow::Next;
}
void decode_bfe(Decoder& d) {
  const Type type = d.last_type();
  const Registers o{.d = d.destination(0, ptx::bits(type) / 8),
                    .a = d.source(1, type),
                    .b = d.source(2, Type::B32),
                    .c = d.source(3, Type::B32)};
  d.emit(by_integer_type(type, []<class T>(T) { return execution<bit_extract<T>>; }), o);
}

struct InsertOperands {
  int32_t d, a, b, at, length;
};
template <class T>
Flow bit_insert(Warp& w, const InsertOperands& o, Mask m) {
  constexpr uint32_t kWidth = 8 * sizeof(T);
  auto* d = lanes<T>(w, o.d);
  const auto *a = lanes<T>(w, o.a), *b = lanes<T>(w, o.b);
  const auto *c = lanes<uint32_t>(w, o.at), *e = lanes<uint32_t>(w, o.length);
  for_lanes(m, [&](int i) {
    const uint32_t at = c[i] & 0xFF, length = std::min(e[i] & 0xFF, kWidth);
    const T ones = length >= kWidth ? ~T{0} : static_cast<T>((T{1} << length) - 1);
    const T mask = at >= kWidth ? T{0} : static_cast<T>(ones << at);
    d[i] = (b[i] & ~mask) | ((at >= kWidth ? T{0} : static_cast<T>(a[i] << at)) & mask);
  });
  return Flow::Next;
}
void decode_bfi(Decoder& d) {
  const Type type = d.last_type();
  const InsertOperands o{.d = d.destination(0, ptx::bits(type) / 8),
                         .a = d.source(1, type),
                         .b = d.source(2, type),
                         .at = d.source(3, Type::B32),
                         .length = d.source(4, Type::B32)};
  d.emit(ptx::bits(type) == 64 ? execution<bit_insert<uint64_t>> : execution<bit_insert<uint32_t>>, o);
}

/// bfind: the position of the highest bit that differs from the sign; .shiftamt: its distance from the top.
template <class T, bool SHIFT_AMOUNT>
Flow bit_find(Warp& w, const Registers& o, Mask m) {
  constexpr int kWidth = 8 * sizeof(T);
  auto* d = lanes<uint32_t>(w, o.d);
  const auto* a = lanes<Stored<T>>(w, o.a);
  for_lanes(m, [&](int i) {
    T value = from_slot<T>(a[i]);
    if (std::is_signed_v<T> && value < 0) value = static_cast<T>(~value);
    const int leading = std::countl_zero(static_cast<std::make_unsigned_t<T>>(value));
    d[i] = leading == kWidth ? 0xFFFF'FFFFu : static_cast<uint32_t>(SHIFT_AMOUNT ? leading : kWidth - 1 - leading);
  });
  return Flow::Next;
}
template <bool SHIFT_AMOUNT>
void decode_bfind(Decoder& d) {
  const Type type = d.last_type();
  const Registers o{.d = d.destination(0, 4), .a = d.source(1, type)};
  d.emit(by_integer_type(type, []<class T>(T) { return execution<bit_find<T, SHIFT_AMOUNT>>; }), o);
}

// ---- prmt: each byte of the result is one of the eight of b:a, or its sign. SELECTOR: four bits a byte, from c.

constexpr auto kGeneral = [](uint32_t c) { return c; };
constexpr auto kForward4 = [](uint32_t c) {
  const uint32_t s = c & 3;
  return s | (s + 1) << 4 | (s + 2) << 8 | (s + 3) << 12;
};
constexpr auto kBackward4 = [](uint32_t c) {
  const uint32_t s = c & 3;
  return s | ((s - 1) & 7) << 4 | ((s - 2) & 7) << 8 | ((s - 3) & 7) << 12;
};
constexpr auto kReplicate8 = [](uint32_t c) { return (c & 3) * 0x1111; };
constexpr auto kClampLeft = [](uint32_t c) {
  const uint32_t s = c & 3;
  return s | std::max(s, 1u) << 4 | std::max(s, 2u) << 8 | 3u << 12;
};
constexpr auto kClampRight = [](uint32_t c) {
  const uint32_t s = c & 3;
  return std::min(s, 1u) << 4 | std::min(s, 2u) << 8 | s << 12;
};
constexpr auto kReplicate16 = [](uint32_t c) { return (c & 1) * 0x2222 + 0x1010; };

template <auto SELECTOR>
Flow permute_bytes(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b), *c = lanes<uint32_t>(w, o.c);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    const uint64_t both = static_cast<uint64_t>(b[i]) << 32 | a[i];
    const uint32_t selector = SELECTOR(c[i]);
    uint32_t result = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const uint32_t pick = selector >> (4 * byte) & 0xF;
      uint32_t value = static_cast<uint32_t>(both >> (8 * (pick & 7))) & 0xFF;
      if (pick & 8) value = value & 0x80 ? 0xFF : 0;
      result |= value << (8 * byte);
    }
    d[i] = result;
  }
  return Flow::Next;
}
template <auto SELECTOR>
void decode_prmt(Decoder& d) {
  d.emit<permute_bytes<SELECTOR>>(registers_of(d, Type::B32, 3));
}

// ---- lop3: any function of three bits

struct Lop3Operands {
  Registers r;
  uint32_t table;
};
/// .and and .or: is the result anything but zero, combined with a predicate.
struct Lop3PredicateOperands {
  Lop3Operands lop3;
  int32_t p;
  bool both;
  PredicateOperand with;
};
Flow lop3(Warp& w, const Lop3Operands& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.r.d);
  const auto *a = lanes<uint32_t>(w, o.r.a), *b = lanes<uint32_t>(w, o.r.b), *c = lanes<uint32_t>(w, o.r.c);
  const uint32_t table = o.table;
  for_lanes(m, [&](int i) {
    uint32_t result = 0;
    if (table & 0x01) result |= ~a[i] & ~b[i] & ~c[i];
    if (table & 0x02) result |= ~a[i] & ~b[i] & c[i];
    if (table & 0x04) result |= ~a[i] & b[i] & ~c[i];
    if (table & 0x08) result |= ~a[i] & b[i] & c[i];
    if (table & 0x10) result |= a[i] & ~b[i] & ~c[i];
    if (table & 0x20) result |= a[i] & ~b[i] & c[i];
    if (table & 0x40) result |= a[i] & b[i] & ~c[i];
    if (table & 0x80) result |= a[i] & b[i] & c[i];
    d[i] = result;
  });
  return Flow::Next;
}
Flow lop3_predicate(Warp& w, const Lop3PredicateOperands& o, Mask m) {
  const Mask with = o.with.read(w);
  lop3(w, o.lop3, m);
  const auto* d = lanes<uint32_t>(w, o.lop3.r.d);
  Mask truth = 0;
  for_lanes(m, [&](int i) { truth |= static_cast<Mask>(d[i] != 0) << i; });
  set_predicate(w, o.p, m, o.both ? truth & with : truth | with);
  return Flow::Next;
}
void decode_lop3(Decoder& d) {
  const ptx::Operand& target = d.operand(0);
  const bool two = target.kind == ptx::Operand::Kind::Pair;
  Lop3Operands o;
  o.r = {.a = d.source(1, Type::B32), .b = d.source(2, Type::B32), .c = d.source(3, Type::B32)};
  o.table = static_cast<uint32_t>(d.immediate(4));
  const ptx::Operand& result = two ? target.elements[0] : target;
  o.r.d = d.is_sink(result) ? d.scratch(4) : d.destination(result, 4);
  if (!two) return d.emit<lop3>(o);
  const PredicateOperand with = d.predicate_source(d.operand(5));
  d.emit<lop3_predicate>(
      {.lop3 = o, .p = d.destination(target.elements[1], 4), .both = d.which({"or", "and"}) == 1, .with = with});
}

// ---- dp4a, dp2a: sums of four or two products of small numbers

template <bool SIGNED_A, bool SIGNED_B, bool TWO_WAY, bool UPPER>
Flow dot_product(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<uint32_t>(w, o.d);
  const auto *a = lanes<uint32_t>(w, o.a), *b = lanes<uint32_t>(w, o.b), *c = lanes<uint32_t>(w, o.c);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    uint32_t sum = c[i];
    for (int k = 0; k < (TWO_WAY ? 2 : 4); ++k) {
      int32_t x, y;
      if constexpr (TWO_WAY) {
        x = SIGNED_A ? static_cast<int16_t>(a[i] >> (16 * k)) : static_cast<uint16_t>(a[i] >> (16 * k));
      } else {
        x = SIGNED_A ? static_cast<int8_t>(a[i] >> (8 * k)) : static_cast<uint8_t>(a[i] >> (8 * k));
      }
      const int at = UPPER ? k + 2 : k;  // .hi: the upper two bytes of b
      y = SIGNED_B ? static_cast<int8_t>(b[i] >> (8 * at)) : static_cast<uint8_t>(b[i] >> (8 * at));
      sum += static_cast<uint32_t>(x * y);
    }
    d[i] = sum;
  }
  return Flow::Next;
}
template <bool TWO_WAY, bool UPPER>
void decode_dot_product(Decoder& d) {
  const bool signed_a = ptx::is_signed(d.type(0)), signed_b = ptx::is_signed(d.type(1));
  const Registers o = registers_of(d, Type::B32, 3);
  if (signed_a)
    d.emit(signed_b ? execution<dot_product<true, true, TWO_WAY, UPPER>>
                    : execution<dot_product<true, false, TWO_WAY, UPPER>>,
           o);
  else
    d.emit(signed_b ? execution<dot_product<false, true, TWO_WAY, UPPER>>
                    : execution<dot_product<false, false, TWO_WAY, UPPER>>,
           o);
}

// ---- bmsk, szext, fns: masks of bits, sign extension from b bits, the n-th set bit. .clamp limits operands beyond 31;
// .wrap takes their lower bits.

template <bool CLAMPS>
constexpr auto kMask = [](uint32_t a, uint32_t b) {
  const uint32_t first = a & 31, width = b & 31;
  if (CLAMPS && a >= 32) return 0u;
  const uint32_t from = ~0u << first;
  if (first + width >= 32 || (CLAMPS && b >= 32)) return from;
  return width == 0 ? 0u : from & ~(~0u << (first + width));
};
template <bool CLAMPS>
constexpr auto kExtend = []<class T>(T a, T b) {
  const uint32_t value = static_cast<uint32_t>(a), bits = static_cast<uint32_t>(b) & 31;
  if (CLAMPS && static_cast<uint32_t>(b) >= 32) return a;
  if (bits == 0) return T{0};
  const uint32_t above = ~0u << bits;
  const bool negative = std::is_signed_v<T> && (value >> (bits - 1) & 1);
  return static_cast<T>(negative ? value | above : value & ~above);
};
constexpr auto kFindNth = [](uint32_t mask, uint32_t base, uint32_t offset) {
  const auto steps = static_cast<int32_t>(offset);
  int64_t to_go = std::max<int64_t>(std::abs(int64_t{steps}), 1);
  for (int64_t at = base; at >= 0 && at < 32; at += steps < 0 ? -1 : 1) {
    if ((mask >> at & 1) && --to_go == 0) return static_cast<uint32_t>(at);
    if (steps == 0) break;
  }
  return ~0u;
};

constexpr Mnemonic kMnemonics[] = {
    {"add", integer<2, [](auto a, auto b) { return a + b; }>},
    {"add.sat.s32", integer_of<int32_t, 2, [](int64_t a, int64_t b) { return saturated(a + b); }>},
    {"add.cc", decode_add_carry<false>},
    {"addc", decode_add_carry<false>},
    {"add.u16x2", pair<[](auto a, auto b) { return a + b; }>},
    {"add.s16x2", pair<[](auto a, auto b) { return a + b; }>},
    {"sub", integer<2, [](auto a, auto b) { return a - b; }>},
    {"sub.sat.s32", integer_of<int32_t, 2, [](int64_t a, int64_t b) { return saturated(a - b); }>},
    {"sub.cc", decode_add_carry<true>},
    {"subc", decode_add_carry<true>},
    {"mul.lo", integer<2, [](auto a, auto b) { return a * b; }>},
    {"mul.hi", integer<2, kMulHi>},
    {"mul.wide", decode_wide<false>},
    {"mad.lo", integer<3, [](auto a, auto b, auto c) { return a * b + c; }>},
    {"mad.hi", integer<3, []<class T>(T a, T b, T c) { return static_cast<T>(kMulHi(a, b)) + c; }>},
    {"mad.hi.sat.s32",
     integer_of<int32_t, 3, [](int32_t a, int32_t b, int32_t c) { return saturated(int64_t{kMulHi(a, b)} + c); }>},
    {"mad.wide", decode_wide<true>},
    {"mad.lo.cc", decode_mad_carry<false>},
    {"mad.hi.cc", decode_mad_carry<true>},
    {"madc.lo", decode_mad_carry<false>},
    {"madc.hi", decode_mad_carry<true>},
    {"mul24.lo", decode_multiply24<2, false>},
    {"mul24.hi", decode_multiply24<2, true>},
    {"mad24.lo", decode_multiply24<3, false>},
    {"mad24.hi", decode_multiply24<3, true>},
    {"mad24.hi.sat", decode_multiply24_saturated},
    {"sad", integer<3, []<class T>(T a, T b, T c) { return static_cast<T>(c + (a < b ? b - a : a - b)); }>},
    {"bmsk.clamp", integer_of<uint32_t, 2, kMask<true>>},
    {"bmsk.wrap", integer_of<uint32_t, 2, kMask<false>>},
    {"szext.clamp", integer<2, kExtend<true>>},
    {"szext.wrap", integer<2, kExtend<false>>},
    {"fns", integer_of<uint32_t, 3, kFindNth>},
    {"div", integer<2, kDiv>},
    {"rem", integer<2, kRem>},
    {"abs", integer<1, kAbs>},
    {"neg", integer<1, [](auto a) { return -a; }>},
    {"min", min_max<kMin>},
    {"max", min_max<kMax>},
    {"min.relu", min_max_relu<kMin>},
    {"max.relu", min_max_relu<kMax>},
    {"dp4a", decode_dot_product<false, false>},
    {"dp2a.lo", decode_dot_product<true, false>},
    {"dp2a.hi", decode_dot_product<true, true>},
    {"and", integer<2, [](auto a, auto b) { return a & b; }>},
    {"or", integer<2, [](auto a, auto b) { return a | b; }>},
    {"xor", integer<2, [](auto a, auto b) { return a ^ b; }>},
    {"not", integer<1, [](auto a) { return ~a; }>},
    {"cnot", integer<1, [](auto a) { return a == 0; }>},
    {"lop3", decode_lop3},
    {"shl", decode_shift<true>},
    {"shr", decode_shift<false>},
    {"shf.l.clamp", decode_funnel<false, true>},
    {"shf.l.wrap", decode_funnel<true, true>},
    {"shf.r.clamp", decode_funnel<false, false>},
    {"shf.r.wrap", decode_funnel<true, false>},
    {"bfe", decode_bfe},
    {"bfi", decode_bfi},
    {"bfind", decode_bfind<false>},
    {"bfind.shiftamt", decode_bfind<true>},
    {"popc", count<[](auto a) { return std::popcount(a); }>},
    {"clz", count<[](auto a) { return std::countl_zero(a); }>},
    {"brev", integer<1, kReverse>},
    {"prmt", decode_prmt<kGeneral>},
    {"prmt.f4e", decode_prmt<kForward4>},
    {"prmt.b4e", decode_prmt<kBackward4>},
    {"prmt.rc8", decode_prmt<kReplicate8>},
    {"prmt.ecl", decode_prmt<kClampLeft>},
    {"prmt.ecr", decode_prmt<kClampRight>},
    {"prmt.rc16", decode_prmt<kReplicate16>},
};

}  // namespace

constinit const Family families::integer{.mnemonics = kMnemonics, .types = Types::Integer, .pure = true};

}  // namespace sim
