// What the tests of common/mma share: the swizzle patterns as the PTX ISA draws them.
#pragma once

#include <cstdint>

#include "common/mma/swizzle.h"

namespace mma {

inline constexpr Swizzle SWIZZLES[] = {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128};

/// A pattern, drawn: in line l of 128 bytes the 16-byte chunk c is kept at place PLACES[l][c].
struct Pattern {
  int lines;  ///< after so many lines it repeats
  int place[8][8];
};

inline constexpr Pattern PATTERN_NONE = {1, {{0, 1, 2, 3, 4, 5, 6, 7}}};
inline constexpr Pattern PATTERN_B32 = {2,
                                        {{0, 1, 2, 3, 4, 5, 6, 7},  //
                                         {1, 0, 3, 2, 5, 4, 7, 6}}};
inline constexpr Pattern PATTERN_B64 = {4,
                                        {{0, 1, 2, 3, 4, 5, 6, 7},  //
                                         {1, 0, 3, 2, 5, 4, 7, 6},
                                         {2, 3, 0, 1, 6, 7, 4, 5},
                                         {3, 2, 1, 0, 7, 6, 5, 4}}};
inline constexpr Pattern PATTERN_B128 = {8,
                                         {{0, 1, 2, 3, 4, 5, 6, 7},  //
                                          {1, 0, 3, 2, 5, 4, 7, 6},
                                          {2, 3, 0, 1, 6, 7, 4, 5},
                                          {3, 2, 1, 0, 7, 6, 5, 4},
                                          {4, 5, 6, 7, 0, 1, 2, 3},
                                          {5, 4, 7, 6, 1, 0, 3, 2},
                                          {6, 7, 4, 5, 2, 3, 0, 1},
                                          {7, 6, 5, 4, 3, 2, 1, 0}}};

inline const Pattern& drawn_pattern(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return PATTERN_NONE;
    case Swizzle::B32: return PATTERN_B32;
    case Swizzle::B64: return PATTERN_B64;
    case Swizzle::B128: return PATTERN_B128;
  }
  return PATTERN_NONE;
}

/// Where the byte with linear address `address` is kept, looked up in the drawing.
inline uint32_t drawn_address(Swizzle swizzle, uint32_t address) {
  const Pattern& pattern = drawn_pattern(swizzle);
  const uint32_t line = address / 128, chunk = address / 16 % 8;
  return line * 128 + static_cast<uint32_t>(pattern.place[line % pattern.lines][chunk]) * 16 + address % 16;
}

}  // namespace mma
