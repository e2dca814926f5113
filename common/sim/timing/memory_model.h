// The memory system that all SMs share: L2, the links to it, and DRAM. Times are integers, in ticks.
//
// L2 has two halves. Every line has its home in one half, and only that half requests it from DRAM. SMs read from the
// half of their GPC; a line whose home is the other half comes over the link between the halves, and is kept in both.
// So each half holds everything that its own SMs read. Until a line has come, each GPC that requests it there sends a
// request of its own over the link, and gets an answer of its own. CTAs in different halves that load the same data
// save DRAM traffic, but nothing on the link. DRAM serves the halves in turn: while both wait for it, each gets half of
// it, however much it asks for.
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

/// Serves one request after the other, at a fixed number of bytes per cycle.
class Queue {
 public:
  explicit Queue(double bytes_per_cycle) : ticks_per_kib_(ticks(1024 / bytes_per_cycle)) {}
  /// The time at which the last byte of a request made at `now` is served.
  Tick serve(Tick now, int64_t bytes) {
    const Tick begin = now > free_ ? now : free_;
    free_ = begin + bytes * ticks_per_kib_ / 1024;
    busy_ += free_ - begin;
    return free_;
  }
  Tick busy() const { return busy_; }
  /// Time until it has served all requests.
  Tick ahead(Tick now) const { return std::max(free_ - now, Tick{0}); }

 private:
  Tick ticks_per_kib_, free_ = 0, busy_ = 0;
};

/// Serves two clients in turn. While both wait, each gets half of the bytes per cycle.
class SharedQueue {
 public:
  explicit SharedQueue(double bytes_per_cycle) : ticks_per_kib_(ticks(1024 / bytes_per_cycle)) {}
  /// The time at which the last byte of a request is served, if no later request slows it down.
  Tick serve(Tick now, int64_t bytes, uint32_t client) {
    advance(now);
    const Tick length = bytes * ticks_per_kib_ / 1024;
    busy_ += length;
    waiting_[client] += length;
    return now + ahead(now, client);
  }
  Tick busy() const { return busy_; }
  /// Time until it begins to serve what a client requests now.
  Tick ahead(Tick now, uint32_t client) {
    advance(now);
    return now_ - now + waiting_[client] + std::min(waiting_[client], waiting_[1 - client]);
  }
  /// Time until it has served all requests.
  Tick ahead(Tick now) const { return std::max(now_ + waiting_[0] + waiting_[1] - now, Tick{0}); }

 private:
  void advance(Tick now) {
    if (now <= now_) return;
    Tick served = std::min(now - now_, 2 * std::min(waiting_[0], waiting_[1]));
    for (Tick& each : waiting_) each -= served / 2;
    served = now - now_ - served;
    for (Tick& each : waiting_) each = std::max(each - served, Tick{0});
    now_ = now;
  }

  Tick ticks_per_kib_, now_ = 0, busy_ = 0;
  std::array<Tick, 2> waiting_{};  ///< work of each client, in ticks of the whole rate
};

/// Cycles, at most 65535, that a load stood in the queues of shared resources.
struct Queued {
  uint16_t tma = 0, port = 0, l2 = 0, link = 0, dram = 0;
  static uint16_t cycles(Tick time) { return static_cast<uint16_t>(std::clamp<Tick>(time / kCycle, 0, UINT16_MAX)); }
};

/// Models L2 and DRAM by chunks of tensors, each of which is in L2 as a whole or not at all.
class MemoryModel {
 public:
  /// DRAM sends a chunk and its `partner` together; a chunk may be its own partner. `row_bytes`: of each request for a
  /// part of it.
  struct Chunk {
    uint32_t bytes, partner, row_bytes;
  };
  /// `half_of_gpc`: the half of L2 of each GPC; all 0: L2 is not divided.
  MemoryModel(const Constants& constants, std::vector<Chunk> chunks, std::vector<uint32_t> half_of_gpc, double ghz);

  /// The times at which the first and the last row of a chunk are requested. Service begins with the first.
  struct Asked {
    Tick first, last;
  };
  /// Returns when a chunk that an SM of this GPC requests arrives there. Reads of one GPC that are close in time use
  /// the links once, unless they are multicasts; those of the two SMs of a TPC are one request for L2, too.
  Tick read(uint32_t chunk, uint32_t gpc, uint32_t tpc, Asked asked, bool is_multicast = false);
  /// Where the chunk of the latest read stood in queues.
  const Queued& queued() const { return queued_; }
  /// Returns when the last of `bytes` bytes that an SM's ordinary loads request leaves L2; the share `from_dram` of
  /// them comes from DRAM.
  Tick read_ordinary(int64_t bytes, double from_dram, uint32_t gpc, Tick now);
  /// Returns when the last of `bytes` bytes of D has left an SM, in `sent` bytes of sectors. L2 merges partial writes.
  Tick write(int64_t bytes, int64_t sent, uint32_t gpc, Tick now);

  int64_t l2_bytes() const { return l2_bytes_; }
  int64_t link_bytes() const { return link_bytes_; }
  int64_t dram_read() const { return dram_read_; }
  int64_t dram_written() const { return dram_written_; }
  /// Busy time of the busier half.
  Tick l2_busy() const { return std::max(halves_[0].l2.busy(), halves_[1].l2.busy()); }
  Tick link_busy() const { return std::max(halves_[0].link.busy(), halves_[1].link.busy()); }
  Tick dram_busy() const { return dram_.busy(); }
  /// Outstanding work: reads of L2 and over the link in the busier half, and DRAM.
  Tick l2_ahead(Tick now) const { return std::max(halves_[0].l2.ahead(now), halves_[1].l2.ahead(now)); }
  Tick link_ahead(Tick now) const { return std::max(halves_[0].link.ahead(now), halves_[1].link.ahead(now)); }
  Tick dram_ahead(Tick now) const { return dram_.ahead(now); }

 private:
  /// `l2`, `dram`: their speed at this clock, relative to the highest clock.
  MemoryModel(const Constants& constants, std::vector<Chunk> chunks, std::vector<uint32_t> half_of_gpc, double ghz,
              double l2, double dram);

  /// The part of a chunk that a half holds: nothing, the lines whose home it is, or all lines.
  enum class Held : uint8_t { Nothing, Homes, All };
  struct Link {
    uint32_t before, after;
  };
  struct Half {
    Queue l2, link;           ///< what its SMs read; what comes to it from the other half
    std::vector<Link> order;  ///< of use: a circular list whose head follows the last chunk
    std::vector<Held> held;
    std::vector<Tick> home_ready, ready;  ///< when the lines whose home it is have arrived, and all lines
    std::vector<uint16_t> in_dram;        ///< cycles that the former stood in DRAM's queue
    int64_t bytes = 0;                    ///< held
  };
  Half half(const Constants& constants, double ghz, double l2) const;
  int64_t bytes_of(uint32_t chunk, Held held) const;
  static void unlink(Half& half, uint32_t chunk);
  /// Records that the half holds at least this part of a chunk and has just used it.
  void keep(Half& half, uint32_t chunk, Held held);
  /// Fetches lines from DRAM into homes that do not hold them, for one half's SMs. Returns when the last has arrived.
  Tick fetch(uint32_t chunk, Tick now, uint32_t client);
  /// Bytes in whole lines whose transfer from L2 takes as long as this chunk's.
  int64_t as_lines(const Chunk& chunk) const;

  const Tick latency_, far_latency_, dram_latency_, merge_, spread_;
  const double request_bytes_;
  const std::vector<uint32_t> half_of_gpc_;
  const uint32_t gpcs_, half_count_;
  std::vector<Chunk> chunks_;
  const uint32_t first_piece_;
  const int64_t capacity_;  ///< of a half
  std::array<Half, 2> halves_;
  SharedQueue dram_;
  std::vector<Queue> gpc_, gpc_out_;
  std::vector<Tick> asked_, arrives_;  ///< by chunk and GPC: the last read
  std::vector<uint32_t> askers_;       ///< by chunk and GPC: TPCs that shared it
  std::vector<Queued> stood_;          ///< by chunk and GPC: in queues, the last read
  Queued queued_;
  int64_t unplaced_ = 0;     ///< bytes of D that do not yet fill a piece
  uint32_t next_piece_ = 0;  ///< of D in L2: chunks after all others, used cyclically
  int64_t l2_bytes_ = 0, link_bytes_ = 0, dram_read_ = 0, dram_written_ = 0;
  uint64_t requests_ = 0;
};

}  // namespace sim::timing
