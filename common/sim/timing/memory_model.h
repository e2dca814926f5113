// L2, what leads to it, and DRAM, as all SMs share them. Time is in ticks, so that everything is a whole number.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/constants.h"

namespace sim::timing {

using Tick = int64_t;
inline constexpr Tick CYCLE = 256;  ///< ticks
inline Tick ticks(double cycles) { return static_cast<Tick>(cycles * static_cast<double>(CYCLE) + 0.5); }

/// Serves one request after the other, at so many bytes a cycle.
class Queue {
 public:
  explicit Queue(double bytes_per_cycle) : ticks_per_kib_(ticks(1024 / bytes_per_cycle)) {}
  /// From when on the last byte is there, of a request that comes at `now`.
  Tick serve(Tick now, int64_t bytes) {
    const Tick begin = now > free_ ? now : free_;
    free_ = begin + bytes * ticks_per_kib_ / 1024;
    busy_ += free_ - begin;
    return free_;
  }
  Tick busy() const { return busy_; }

 private:
  Tick ticks_per_kib_, free_ = 0, busy_ = 0;
};

/// Boxes of tensors are made of chunks, and a chunk is in L2 or is not.
class MemoryModel {
 public:
  /// What DRAM sends together: `partner` of a chunk is the other, or itself. `row_bytes`: of each request for a part of it.
  struct Chunk {
    uint32_t bytes, partner, row_bytes;
  };
  MemoryModel(const Constants& constants, std::vector<Chunk> chunks, uint32_t gpcs, double ghz);

  /// When the first row of a chunk is asked for, and when the last has been: what is on the way is served meanwhile.
  struct Asked {
    Tick first, last;
  };
  /// A chunk is asked for by an SM of this GPC: when it arrives there. Reads of one GPC that are near in time are one on
  /// their way, unless they are multicasts; those of the two SMs of a TPC are one for L2, too.
  Tick read(uint32_t chunk, uint32_t gpc, uint32_t tpc, Asked asked, bool is_multicast = false);
  /// Bytes of D leave an SM, in `sent` bytes of sectors: when the last is out of it. L2 joins what is sent in pieces.
  Tick write(int64_t bytes, int64_t sent, uint32_t gpc, Tick now);

  int64_t l2_bytes() const { return l2_bytes_; }
  int64_t dram_read() const { return dram_read_; }
  int64_t dram_written() const { return dram_written_; }
  Tick l2_busy() const { return l2_.busy(); }
  Tick dram_busy() const { return dram_.busy(); }

 private:
  /// `l2`, `dram`: how fast they are at this clock, beside the highest one.
  MemoryModel(const Constants& constants, std::vector<Chunk> chunks, uint32_t gpcs, double ghz, double l2, double dram);
  void touch(uint32_t chunk);
  void remove(uint32_t chunk);
  void make_room();
  void fetch(uint32_t chunk, Tick now);
  /// Bytes that take as long on the way from L2, where rows are whole lines.
  int64_t as_lines(const Chunk& chunk) const;

  const Tick latency_, dram_latency_, merge_, spread_;
  const double request_bytes_;
  const uint32_t gpcs_;
  std::vector<Chunk> chunks_;
  const uint32_t first_piece_;
  const int64_t capacity_;
  Queue l2_, dram_;
  std::vector<Queue> gpc_, gpc_out_;
  struct Link {
    uint32_t before, after;
  };
  std::vector<Link> order_;  ///< of use, in a ring whose head is behind the last chunk
  std::vector<uint8_t> there_;
  std::vector<Tick> ready_;            ///< when the chunk has come from DRAM
  std::vector<Tick> asked_, arrives_;  ///< by chunk and GPC: the last read
  std::vector<uint32_t> askers_;       ///< by chunk and GPC: TPCs that took part in it
  int64_t held_ = 0;
  int64_t unplaced_ = 0;     ///< bytes of D that are less than a piece
  uint32_t next_piece_ = 0;  ///< of D, in L2: chunks behind all others, used in turn
  int64_t l2_bytes_ = 0, dram_read_ = 0, dram_written_ = 0;
  uint64_t requests_ = 0;
};

}  // namespace sim::timing
