// L2, what leads to it, and DRAM, as all SMs share them. Time is in ticks, so that everything is a whole number.
//
// L2 has two halves. Every line has its home in one of them, which alone asks DRAM for it; SMs read from the half that their
// GPC is at, and what has its home in the other one is kept in both. So each half holds all that its own SMs read, and
// gets it at a rate of its own, be it from DRAM or from the other half. CTAs that share what they load help one another
// across halves with DRAM, but not with this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "timing/constants.h"

namespace sim::timing {

using Tick = int64_t;
inline constexpr Tick kCycle = 256;  ///< ticks
inline Tick ticks(double cycles) { return static_cast<Tick>(cycles * static_cast<double>(kCycle) + 0.5); }

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
  /// Until it has served all that it was asked for.
  Tick ahead(Tick now) const { return std::max(free_ - now, Tick{0}); }

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
  /// `half_of_gpc`: the half of L2 that each GPC is at; all 0: L2 is in one piece.
  MemoryModel(const Constants& constants, std::vector<Chunk> chunks, std::vector<uint32_t> half_of_gpc, double ghz);

  /// When the first row of a chunk is asked for, and when the last has been: what is on the way is served meanwhile.
  struct Asked {
    Tick first, last;
  };
  /// A chunk is asked for by an SM of this GPC: when it arrives there. Reads of one GPC that are near in time are one on
  /// their way, unless they are multicasts; those of the two SMs of a TPC are one for L2, too.
  Tick read(uint32_t chunk, uint32_t gpc, uint32_t tpc, Asked asked, bool is_multicast = false);
  /// Ordinary loads of an SM ask for so many bytes, of which this share comes from DRAM: when the last leaves L2.
  Tick read_ordinary(int64_t bytes, double from_dram, uint32_t gpc, Tick now);
  /// Bytes of D leave an SM, in `sent` bytes of sectors: when the last is out of it. L2 joins what is sent in pieces.
  Tick write(int64_t bytes, int64_t sent, uint32_t gpc, Tick now);

  int64_t l2_bytes() const { return l2_bytes_; }
  int64_t dram_read() const { return dram_read_; }
  int64_t dram_written() const { return dram_written_; }
  /// Of the busier half.
  Tick l2_busy() const { return std::max(halves_[0].l2.busy(), halves_[1].l2.busy()); }
  Tick fill_busy() const { return std::max(halves_[0].fill.busy(), halves_[1].fill.busy()); }
  Tick dram_busy() const { return dram_.busy(); }
  /// What they have still to serve: reads of L2 and fills in the busier half, and DRAM.
  Tick l2_ahead(Tick now) const { return std::max(halves_[0].l2.ahead(now), halves_[1].l2.ahead(now)); }
  Tick fill_ahead(Tick now) const { return std::max(halves_[0].fill.ahead(now), halves_[1].fill.ahead(now)); }
  Tick dram_ahead(Tick now) const { return dram_.ahead(now); }

 private:
  /// `l2`, `dram`: how fast they are at this clock, beside the highest one.
  MemoryModel(const Constants& constants, std::vector<Chunk> chunks, std::vector<uint32_t> half_of_gpc, double ghz,
              double l2, double dram);

  /// What a half holds of a chunk: nothing, the lines that have their home there, all.
  enum class Held : uint8_t { Nothing, Homes, All };
  struct Link {
    uint32_t before, after;
  };
  struct Half {
    Queue l2, fill;
    std::vector<Link> order;  ///< of use, in a ring whose head is behind the last chunk
    std::vector<Held> held;
    std::vector<Tick> ready;  ///< when it has come
    int64_t bytes = 0;        ///< held
  };
  Half half(const Constants& constants, double ghz, double l2) const;
  int64_t bytes_of(uint32_t chunk, Held held) const;
  static void unlink(Half& half, uint32_t chunk);
  /// The half holds at least so much of a chunk, and has just used it.
  void keep(Half& half, uint32_t chunk, Held held);
  /// Lines come from DRAM to those homes of theirs that do not hold them: when the last of them is there.
  Tick fetch(uint32_t chunk, Tick now);
  /// Bytes that take as long on the way from L2, where rows are whole lines.
  int64_t as_lines(const Chunk& chunk) const;

  const Tick latency_, far_latency_, dram_latency_, merge_, spread_;
  const double request_bytes_;
  const std::vector<uint32_t> half_of_gpc_;
  const uint32_t gpcs_, half_count_;
  std::vector<Chunk> chunks_;
  const uint32_t first_piece_;
  const int64_t capacity_;  ///< of a half
  std::array<Half, 2> halves_;
  Queue dram_;
  std::vector<Queue> gpc_, gpc_out_;
  std::vector<Tick> asked_, arrives_;  ///< by chunk and GPC: the last read
  std::vector<uint32_t> askers_;       ///< by chunk and GPC: TPCs that took part in it
  int64_t unplaced_ = 0;               ///< bytes of D that are less than a piece
  uint32_t next_piece_ = 0;            ///< of D, in L2: chunks behind all others, used in turn
  int64_t l2_bytes_ = 0, dram_read_ = 0, dram_written_ = 0;
  uint64_t requests_ = 0;
};

}  // namespace sim::timing
