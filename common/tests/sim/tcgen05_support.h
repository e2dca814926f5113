// A kernel around one instruction of the fifth-generation tensor core: tensor and shared memory as they were, the
// instruction, tensor memory as it is afterwards.
#pragma once

#include "support.h"

namespace sim::test {

inline constexpr uint32_t kBase = 0x800;  ///< of dynamic shared memory

using Tmem = std::vector<uint32_t>;  ///< [CTA][lane][column]
inline size_t cell(size_t cta, size_t lane, size_t column) { return (cta * 128 + lane) * 512 + column; }

/// Accumulators of ordinary size.
Tmem random_tmem(int ctas, uint64_t seed);

struct Result {
  Outcome outcome;
  Tmem tmem;
};

/// What an instruction is given: shared memory of all CTAs, one after the other, and what a kernel passes on.
struct Given {
  std::vector<uint8_t> shared = std::vector<uint8_t>(16 * 1024);
  uint64_t a = 0, b = 0;  ///< descriptors
  uint32_t idesc = 0, d = 0;
  bool accumulate = false;
  Options options = {};
};
/// Launches `group` CTAs of 128 threads, which allocate 512 columns, fill tensor memory from `c` and shared memory from
/// their share of it and run `body` in one thread of CTA 0. When the mbarrier at %r9 lets them, they copy
/// tensor memory back.
/// `body` finds `a` and `b` in %rd6 and %rd7, `idesc` in %r30, `d` in %r31, `accumulate` in %p5.
Result run_one(int group, const std::string& body, const Tmem& c, const Given& given);
/// The same in all threads of one CTA. Nothing waits for an mbarrier.
Result run_all(const std::string& body, const Tmem& c, const Options& options = {});
/// A commit that the mbarrier at %r9 of every CTA waits for.
std::string commit(int group);

/// Expects this content, after `start`. `tolerance`: of FP32 values.
void expect_tmem(const Tmem& got, const Tmem& expected, const Tmem& start, const std::string& what,
                 float tolerance = 0);

}  // namespace sim::test
