// The reductions of atom, red, and the reducing forms of bulk copies and st.async.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/core/decoder.h"
#include "ptx/module.h"

namespace sim {

enum class Reduction : uint8_t { None, Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, Cas };

/// The reduction that a modifier names; throws Fault if none does.
Reduction reduction_of(const Decoder& d);

/// Whether values of this type can be reduced.
bool is_reducible(ptx::Type type);

/// atom.add.f32. In global memory subnormal numbers count as zeros, in shared memory they do not. Any NaN is the
/// canonical one.
uint64_t add_f32(uint64_t old, uint64_t b, bool global);

/// The new value, as bits in the lower part of a register: `old` combined with `b`; of Cas, `c` if `old` equals `b`.
uint64_t combine(ptx::Type type, Reduction how, uint64_t old, uint64_t b, uint64_t c = 0);

/// Combines `bytes` bytes at `from` into those at `to`, element by element. Throws Fault on a type that is not
/// reducible.
void reduce(uint8_t* to, const uint8_t* from, size_t bytes, Reduction how, ptx::Type type);

}  // namespace sim
