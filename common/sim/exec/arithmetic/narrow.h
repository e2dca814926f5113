// cvt from and to numbers of four, six and eight bits, two at a time. The table of cvt is in convert.cpp.
#pragma once

#include "exec/core/decoder.h"

namespace sim {

void decode_to_e2m1x2(Decoder& d);
void decode_to_e2m3x2(Decoder& d);
void decode_to_e3m2x2(Decoder& d);
void decode_from_e2m1x2(Decoder& d);
void decode_from_e2m3x2(Decoder& d);
void decode_from_e3m2x2(Decoder& d);
/// UE8M0
void decode_to_scales(Decoder& d);
void decode_from_scales(Decoder& d);

}  // namespace sim
