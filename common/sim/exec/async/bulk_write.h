// Stores of TMA: the second half, in which what was read from shared memory becomes visible in global memory.
#pragma once

#include <string>
#include <vector>

#include "exec/core/op.h"
#include "exec/memory/reduction.h"

namespace sim {

class BulkWrite final : public AsyncOperation {
 public:
  struct Piece {
    uint64_t to;         ///< global address
    uint32_t at, bytes;  ///< in `data`
  };
  std::vector<Piece> pieces;
  std::vector<uint8_t> data;
  Reduction how = Reduction::None;
  ptx::Type type = ptx::Type::None;  ///< of a reduction's elements
  uint32_t byte_mask = 0xFFFF;       ///< .cp_mask: which of each 16 bytes are written
  Warp* warp = nullptr;
  uint64_t group = 0;  ///< bulk group of the issuing lane

  void complete(Cluster& cluster) override;
  bool writes_globally() const override { return true; }
  std::string describe() const override { return "TMA store: write of " + base::grouped(data.size()) + " bytes"; }
  Footprint footprint() const override { return {.bytes = data.size()}; }
};

/// Ends the first half: the source has been read, `write` follows.
void finish_read(Cluster& cluster, const AsyncOperation& read, std::unique_ptr<BulkWrite> write);

/// Where a store of this CTA reads. A CTA that has left without waiting was remarked upon then; its memory is still
/// there.
const uint8_t* store_source(Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, uint32_t align,
                            const char* what);

/// How long the first half takes, in the CTA's unit for stores.
Latency read_time(Cta& cta, uint32_t bytes);

}  // namespace sim
