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

/// Launches `group` CTAs of 128 threads, which allocate 512 columns, fill tensor memory from `c` and shared memory from
/// their share of `shared`, run `body` (in one thread of CTA 0 between barriers if `single`, else in all threads), and
/// copy tensor memory back. `body` finds `a` and `b` in %rd6 and %rd7, `idesc` in %r30, `d` in %r31, `accumulate` in
/// %p5, an mbarrier that ends the wait of all in %r9.
Result run_tensor(int group, const std::string& body, bool single, const std::vector<uint8_t>& shared, const Tmem& c,
                  uint64_t a, uint64_t b, uint32_t idesc, uint32_t d, bool accumulate, Options options = {});

}  // namespace sim::test
