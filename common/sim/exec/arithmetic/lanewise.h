// Arithmetic that treats every lane alike. An operation is a lambda on values; this file makes a loop over lanes of it,
// one for each type.
#pragma once

#include <bit>
#include <type_traits>

#include "exec/core/decoder.h"

namespace sim {

/// The type of a slot's elements: 4 bytes for types of up to 32 bits, else 8.
template <class T>
using Stored = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
T from_slot(Stored<T> raw) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<T>(raw);
  } else {
    return static_cast<T>(raw);
  }
}
template <class T>
Stored<T> to_slot(T value) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<Stored<T>>(value);
  } else {
    return static_cast<Stored<T>>(static_cast<std::make_unsigned_t<T>>(value));
  }
}

/// Slots: d = f(a, b, c).
struct Registers {
  int32_t d = -1, a = -1, b = -1, c = -1;
};

/// d = F(a, ...) with N sources of type T and a result of type D.
template <class D, class T, int N, auto F>
Flow lanewise(Warp& w, const Registers& o, Mask m) {
  auto* d = lanes<Stored<D>>(w, o.d);
  const auto* a = lanes<Stored<T>>(w, o.a);
  const auto* b = lanes<Stored<T>>(w, N > 1 ? o.b : o.a);
  const auto* c = lanes<Stored<T>>(w, N > 2 ? o.c : o.a);
  for_lanes(m, [&](int i) {
    if constexpr (N == 1)
      d[i] = to_slot<D>(static_cast<D>(F(from_slot<T>(a[i]))));
    else if constexpr (N == 2)
      d[i] = to_slot<D>(static_cast<D>(F(from_slot<T>(a[i]), from_slot<T>(b[i]))));
    else
      d[i] = to_slot<D>(static_cast<D>(F(from_slot<T>(a[i]), from_slot<T>(b[i]), from_slot<T>(c[i]))));
  });
  return Flow::Next;
}

/// Operands of an instruction whose destination and sources are of one type. Throws Fault if their number
/// differs.
inline Registers registers_of(Decoder& d, ptx::Type type, int sources) {
  if (d.count() != static_cast<size_t>(sources) + 1) d.unsupported(faults::other_operands);
  Registers o;
  o.d = d.destination(0, std::max(ptx::bits(type), 32) / 8);
  int32_t* const slots[] = {&o.a, &o.b, &o.c};
  for (int i = 0; i < sources; ++i) *slots[i] = d.source(static_cast<size_t>(i) + 1, type);
  return o;
}

/// make<T>() with the C++ type of an integer type; nothing for other types.
template <class M>
auto by_integer_type(ptx::Type type, M make) -> decltype(make(uint32_t{})) {
  switch (type) {
    case ptx::Type::U16:
    case ptx::Type::B16: return make(uint16_t{});
    case ptx::Type::S16: return make(int16_t{});
    case ptx::Type::U32:
    case ptx::Type::B32: return make(uint32_t{});
    case ptx::Type::S32: return make(int32_t{});
    case ptx::Type::U64:
    case ptx::Type::B64: return make(uint64_t{});
    case ptx::Type::S64: return make(int64_t{});
    default: return {};
  }
}

}  // namespace sim
