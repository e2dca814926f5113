// Shared by race_detector_*.cpp: the accessing thread, and the verdict on an access.
#pragma once

#include "check/order/race_detector.h"

namespace sim::order {

/// The accessing thread, and what it knows.
struct RaceDetector::Context {
  const By& by;
  const WarpKnowledge& warp;
  const Knowledge& knows;
  Mask lanes;   ///< the lanes of the warp that take part
  bool tensor;  ///< by a tcgen05 operation: knowledge since the thread's last after_thread_sync does not count
  bool global;  ///< an access to global memory
  const CtaKnowledge* owner = nullptr;  ///< of the shared memory, if that is another CTA
};

struct RaceDetector::Verdict {
  bool in_order = true;
  bool whole = true;  ///< the verdict holds for all bytes of the earlier access
  Grade grade = Grade::Error;
  Rule rule = Rule::ReadAfterWrite;
  Habit habit = Habit::kCount;
  Lack lack = Lack::Everything;
  Mask missing = 0;       ///< lanes of the earlier access
  bool reversed = false;  ///< the program has the accesses in the other order than that in which they were executed

  bool fine() const { return in_order; }
  static Verdict error(Rule rule, Lack lack, Mask missing) {
    return {.in_order = false, .grade = text_of(rule).grade, .rule = rule, .lack = lack, .missing = missing};
  }
  static Verdict habit_of(Habit habit, Lack lack, Mask missing) {
    return {.in_order = false, .grade = Grade::Habit, .habit = habit, .lack = lack, .missing = missing};
  }
};

}  // namespace sim::order
