// IEEE arithmetic, whatever the program has set.
#pragma once

#include <cfenv>

namespace sim {

/// For this thread, as long as it lives. A program that was linked with -ffast-math flushes subnormals.
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
