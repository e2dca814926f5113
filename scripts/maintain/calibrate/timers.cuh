// Timing of single instructions by the thread that executes them.
#pragma once

#include <cstdint>

namespace calibrate {

/// Cycles that a load takes which goes to L2 at least. `sink` is never written, but the compiler cannot know: the value
/// has to be there before the clock is read.
__device__ __forceinline__ int time_load(const int* address, int* sink) {
  const int64_t start = clock64();
  const int value = *static_cast<const volatile int*>(address);
  if (value == 0x12345679) *static_cast<volatile int*>(sink) = value;
  return static_cast<int>(clock64() - start);
}

}  // namespace calibrate
