// Rounding to multiples.
#pragma once

#include <concepts>
#include <type_traits>

namespace base {

/// The smallest multiple of `unit`, which is any positive number, that is not below `value`.
template <std::unsigned_integral T>
constexpr T round_up(T value, std::type_identity_t<T> unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace base
