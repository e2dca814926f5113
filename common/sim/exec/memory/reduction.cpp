#include "exec/memory/reduction.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "exec/arithmetic/numeric.h"

namespace sim {
namespace {

using ptx::Type;

template <class T>
T combine_as(Reduction how, T old, T b, T c) {
  switch (how) {
    case Reduction::Add: return static_cast<T>(old + b);
    case Reduction::Min: return std::min(old, b);
    case Reduction::Max: return std::max(old, b);
    case Reduction::Exch: return b;
    case Reduction::Cas: return old == b ? c : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (how) {
      case Reduction::Inc: return old >= b ? T{0} : static_cast<T>(old + 1);
      case Reduction::Dec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
      case Reduction::And: return static_cast<T>(old & b);
      case Reduction::Or: return static_cast<T>(old | b);
      case Reduction::Xor: return static_cast<T>(old ^ b);
      default: break;
    }
  }
  return old;
}

}  // namespace

Reduction reduction_of(const Decoder& d) {
  static constexpr std::pair<std::string_view, Reduction> kNames[] = {
      {"add", Reduction::Add}, {"min", Reduction::Min},  {"max", Reduction::Max}, {"inc", Reduction::Inc},
      {"dec", Reduction::Dec}, {"and", Reduction::And},  {"or", Reduction::Or},   {"xor", Reduction::Xor},
      {"cas", Reduction::Cas}, {"exch", Reduction::Exch}};
  return d.one_of(kNames, faults::unknown_operation);
}

bool is_reducible(Type type) {
  switch (type) {
    case Type::B16:
    case Type::U16:
    case Type::S32:
    case Type::U32:
    case Type::B32:
    case Type::S64:
    case Type::U64:
    case Type::B64:
    case Type::F32:
    case Type::F64:
    case Type::F16:
    case Type::F16x2:
    case Type::BF16:
    case Type::BF16x2: return true;
    default: return false;
  }
}

uint64_t add_f32(uint64_t old, uint64_t b, bool global) {
  const auto value = [&](uint64_t bits) {
    const auto number = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return global ? flush_subnormal(number) : number;
  };
  const float sum = value(old) + value(b);
  return std::bit_cast<uint32_t>(canonical(global ? flush_subnormal(sum) : sum));
}

uint64_t combine(Type type, Reduction how, uint64_t old, uint64_t b, uint64_t c) {
  const auto as = [&]<class T>(T) -> uint64_t {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    const auto value = [](uint64_t bits) { return std::bit_cast<T>(static_cast<Bits>(bits)); };
    return std::bit_cast<Bits>(combine_as<T>(how, value(old), value(b), value(c)));
  };
  const auto half = [&](auto widen, auto narrow, int shift) -> uint64_t {
    const double x = static_cast<double>(widen(static_cast<uint16_t>(old >> shift)));
    const double y = static_cast<double>(widen(static_cast<uint16_t>(b >> shift)));
    const double r = how == Reduction::Add   ? fma_to_odd(x, 1.0, y)
                     : how == Reduction::Min ? minimum(x, y)
                                             : maximum(x, y);
    return static_cast<uint64_t>(narrow(r)) << shift;
  };
  const auto to_f16 = [](double x) { return double_to_f16(x); };
  const auto to_bf16 = [](double x) { return double_to_bf16(x); };
  switch (type) {
    case Type::B16:
    case Type::U16: return as(uint16_t{});
    case Type::S32: return as(int32_t{});
    case Type::U32:
    case Type::B32: return as(uint32_t{});
    case Type::S64: return as(int64_t{});
    case Type::U64:
    case Type::B64: return as(uint64_t{});
    case Type::F32: return as(float{});
    case Type::F64: return as(double{});
    case Type::F16: return half(f16_to_float, to_f16, 0);
    case Type::BF16: return half(bf16_to_float, to_bf16, 0);
    case Type::F16x2: return half(f16_to_float, to_f16, 0) | half(f16_to_float, to_f16, 16);
    case Type::BF16x2: return half(bf16_to_float, to_bf16, 0) | half(bf16_to_float, to_bf16, 16);
    default: return old;
  }
}

void reduce(uint8_t* to, const uint8_t* from, size_t bytes, Reduction how, Type type) {
  if (!is_reducible(type)) throw Fault{faults::reduction_of_type};
  const auto size = static_cast<size_t>(ptx::bits(type)) / 8;
  for (size_t i = 0; i + size <= bytes; i += size) {
    uint64_t old = 0, value = 0;
    std::memcpy(&old, to + i, size);
    std::memcpy(&value, from + i, size);
    const uint64_t fresh = combine(type, how, old, value);
    std::memcpy(to + i, &fresh, size);
  }
}

}  // namespace sim
