// The types of a tensor-core instruction: what its modifiers say, as formats of operands and accumulators.
#pragma once

#include <vector>

#include "exec/core/decoder.h"
#include "exec/tensor/kernels.h"

namespace sim::tensor {

/// All types among the modifiers, in their order.
std::vector<ptx::Type> types_of(const Decoder& d);

/// The format of a multiplied operand; throws Fault if the tensor core does not support the type.
Format format_of(const Decoder& d, ptx::Type type);
/// The format of an accumulator: .f32, .f16, else .s32.
ResultFormat result_of(ptx::Type type);

/// A tensor-core instruction was executed.
void count_multiply_adds(Cluster& cluster, uint64_t multiply_adds);

}  // namespace sim::tensor
