// mma.sync is one mnemonic for several kinds of tensor core. Those with a layout or an arithmetic of their own have a
// file each.
#pragma once

#include "exec/core/decoder.h"

namespace sim::tensor {

void decode_mma_f64(Decoder& d);         ///< FP64
void decode_mma_bits(Decoder& d);        ///< one-bit elements
void decode_mma_quad_pairs(Decoder& d);  ///< m8n8k4 of F16

}  // namespace sim::tensor
