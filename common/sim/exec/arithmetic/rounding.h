// Directed rounding (.rz, .rm, .rp).
#pragma once

#include <cfenv>
#include <cmath>
#include <limits>

namespace sim {

/// Sets the rounding direction of one instruction for this object's lifetime, through the host's rounding mode where it
/// has one.
class RoundingMode {
 public:
  /// `mode`: FE_TOWARDZERO, FE_DOWNWARD or FE_UPWARD; FE_TONEAREST changes nothing.
  explicit RoundingMode(int mode);
  ~RoundingMode();
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int before_;
};

#ifdef __EMSCRIPTEN__
/// WebAssembly rounds to nearest only. A directed result is computed with 113 bits, then rounded here.
extern int rounding_mode;

template <class T>
T round_to(long double exact, int mode) {
  T nearest = static_cast<T>(exact);
  if (std::isnan(nearest) || static_cast<long double>(nearest) == exact) return nearest;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool down = mode == FE_DOWNWARD || (mode == FE_TOWARDZERO && exact > 0);
  if (down && static_cast<long double>(nearest) > exact) return std::nextafter(nearest, -kInfinity);
  if (!down && static_cast<long double>(nearest) < exact) return std::nextafter(nearest, kInfinity);
  return nearest;
}
template <auto F, class T, class... More>
T rounded(T first, More... more) {
  if (rounding_mode == FE_TONEAREST) return static_cast<T>(F(first, more...));
  return round_to<T>(F(static_cast<long double>(first), static_cast<long double>(more)...), rounding_mode);
}
#else
template <auto F, class T, class... More>
T rounded(T first, More... more) {
  return static_cast<T>(F(first, more...));
}
#endif

}  // namespace sim
