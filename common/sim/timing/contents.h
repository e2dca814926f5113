// What a trace keeps of the memory that operations read.
#pragma once

#include <cstdint>

namespace sim {

/// Of every operation a digest of the shared memory that it reads, at the time when it does; of one of them the bytes.
struct Contents {
  uint64_t process = ~uint64_t{0};  ///< of the trace's file, which says launch and CTA; the default: of none
  uint32_t operation = 0;           ///< number among those that this CTA submits, from 0
};

}  // namespace sim
