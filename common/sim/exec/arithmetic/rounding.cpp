#include "exec/arithmetic/rounding.h"

namespace sim {

#ifdef __EMSCRIPTEN__
int rounding_mode = FE_TONEAREST;

RoundingMode::RoundingMode(int mode) : before_(rounding_mode) { rounding_mode = mode; }
RoundingMode::~RoundingMode() { rounding_mode = before_; }
#else
RoundingMode::RoundingMode(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
RoundingMode::~RoundingMode() { std::fesetround(before_); }
#endif

}  // namespace sim
