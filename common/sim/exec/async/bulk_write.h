// Stores of TMA, second half: the data read from shared memory become visible in global memory.
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
  uint32_t byte_mask = 0xFFFF;       ///< .cp_mask: the bytes of each 16 that are written
  Warp* warp = nullptr;
  uint64_t group = 0;  ///< bulk group of the issuing lane

  void complete(Cluster& cluster) override;
  bool writes_globally() const override { return true; }
  OperationUnit unit() const override { return OperationUnit::Stores; }
  std::string describe() const override { return "TMA store: write of " + base::grouped(data.size()) + " bytes"; }
  Footprint footprint() const override { return {.bytes = data.size()}; }
};

/// Ends the first half: the source has been read, `write` follows.
void finish_read(Cluster& cluster, const AsyncOperation& read, std::unique_ptr<BulkWrite> write);

/// The source of a store of this CTA. If the CTA has exited without waiting, that has been reported at its exit; its
/// memory still exists.
const uint8_t* store_source(Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, uint32_t align,
                            const char* what);

/// The duration of the first half, in the CTA's store unit.
Latency read_time(Cta& cta, uint32_t bytes);

}  // namespace sim
