// The instruction descriptor of tcgen05.mma: 32 bits with shapes, types and transpositions.
#pragma once

#include <string>

#include "exec/tensor/kernels.h"
#include "machine/fault.h"

namespace sim::tcgen05 {

enum class Kind : uint8_t { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };
/// Blocks of A and B have factors, in tensor memory.
inline bool is_scaled(Kind kind) { return kind >= Kind::MXF8F6F4; }
/// A and B are FP4, two to a byte.
inline bool is_fp4(Kind kind) { return kind >= Kind::MXF4; }

struct InstructionDescriptor {
  int m, n, k;  ///< k: including the zeros of a sparse A
  tensor::Format a, b;
  tensor::ResultFormat result;
  bool a_mn_major, b_mn_major, negate_a, negate_b;
  bool sparse = false;
  int selector = 0;                ///< sparse: which column of the metadata
  int factors = 0;                 ///< of a row of A and of a column of B: 0 (none), 1, 2, 4
  bool ue8m0 = false;              ///< factors are powers of two; otherwise UE4M3
  int a_factor = 0, b_factor = 0;  ///< the byte of a cell at which they begin

  bool operator==(const InstructionDescriptor&) const = default;
};

/// The instruction's modifiers.
struct Variant {
  Kind kind = Kind::F16;
  int group = 1;            ///< CTAs
  bool stationary = false;  ///< tcgen05.mma.ws
  bool sparse = false;      ///< tcgen05.mma.sp
  int factors = 0;          ///< .scale_vec::1X, 2X, 4X
};

/// Decodes the descriptor for such an instruction. Throws Fault on values that do not exist or are not supported.
InstructionDescriptor decode_instruction(uint32_t bits, const Variant& variant);

/// Throws; `more` are the details after the descriptor's bits.
[[noreturn]] void bad_instruction(const FaultText& what, uint32_t bits, std::vector<Detail> more = {});

}  // namespace sim::tcgen05
