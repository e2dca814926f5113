// IEEE arithmetic, whatever floating-point mode the program has set.
#pragma once

#include <cfenv>

namespace sim {

/// Sets the host thread's floating-point mode for this object's lifetime. A program that was linked with -ffast-math
/// flushes subnormals.
class DefaultArithmetic {
 public:
  DefaultArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&before_); }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace sim
