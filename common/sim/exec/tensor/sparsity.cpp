#include "exec/tensor/sparsity.h"

#include "exec/core/op.h"
#include "report/faults.h"

namespace sim::tensor {

void equal_indices(uint32_t nibble) { throw Fault{faults::sparsity_of_equal_indices, {nibble}}; }
void neither_of_two(uint32_t nibble) { throw Fault{faults::sparsity_of_neither, {nibble}}; }

}  // namespace sim::tensor
