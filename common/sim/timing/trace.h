// A run over time, with reasons: what warps and hardware units do, what barriers count, what ends each wait. In
// modelled cycles, for Perfetto, scripts/timeline.py and scripts/explore.py.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine/warp.h"
#include "machine/watcher.h"

namespace sim {

struct Cluster;
struct Launch;

/// The actor: an asynchronous operation, or a warp at an instruction.
struct Actor {
  static constexpr uint32_t kNobody = ~0u;  ///< time, for instance
  uint32_t operation = kNobody;             ///< index of its event among those of the cluster
  uint32_t cta = 0, warp = kNobody;         ///< rank in the cluster
  uint32_t pc = 0;
  uint64_t time = 0;
};

struct TraceEvent {
  enum class Kind : uint8_t {
    Run,        ///< a warp executes
    Wait,       ///< a warp is blocked: `wait` says in what
    Operation,  ///< a unit works on an asynchronous operation
    Barrier,    ///< something happens to a barrier, at `begin`
    Report,     ///< something is wrong, at `begin`
  };
  Kind kind = Kind::Run;
  Wait wait = Wait::None;
  uint32_t cta = 0;             ///< linear index in the grid
  int32_t warp = -1;            ///< of Run and Wait; of Operation: that issued it
  uint64_t begin = 0, end = 0;  ///< cycles
  uint32_t pc = 0;              ///< of the wait, of the first instruction of a run, or of what issued the operation
  uint32_t last_pc = 0;         ///< Run: of its last instruction
  uint64_t issued = 0;          ///< Operation: when
  uint64_t seen = 0;            ///< Operation: when its effect can be seen (completion); `end` is when the unit is free
  bool is_open = true;          ///< Wait, Operation: its end has not come
  Actor actor;          ///< Wait: what ended it. Operation: what started it, if an operation did. Barrier: the actor
  BarrierName barrier;  ///< Wait: for which, and `amount` is the parity. Barrier
  BarrierState state;   ///< Barrier: afterwards
  uint32_t amount = 0;  ///< Barrier: arrivals or bytes
  std::string name;     ///< of the operation, of what happens to the barrier; the report
  std::vector<Spot> sides;               ///< Report: what conflicts, in the order in which it happened
  std::unique_ptr<Footprint> footprint;  ///< Operation
};

/// How long what L2 and DRAM have been asked for keeps them busy, in cycles: reading L2, filling its halves, DRAM.
struct QueueSample {
  uint64_t cycle, l2, fill, dram;
};

/// A CTA's time on its SM, in cycles. `cluster`: linear index in the grid of clusters.
struct Residence {
  uint32_t sm, cluster, rank;
  uint64_t begin, end;
};

class Trace {
 public:
  static constexpr int kVersion = 2;  ///< of the form in which it is written

  /// One cluster's.
  struct Part {
    size_t launch;               ///< index into launches_
    std::vector<uint32_t> ctas;  ///< linear index in the grid, by rank
    std::vector<TraceEvent> events;
  };

  /// Events of one cluster, in any order. Thread-safe. Beyond a limit further clusters are left out.
  void add(const Cluster& cluster, std::vector<TraceEvent> events);
  void add(const Launch& launch, std::vector<uint32_t> ctas, std::vector<TraceEvent> events);
  /// The cluster that was added last; it is no longer in the trace.
  Part take();
  /// The times of this launch, whose events are there, are those of a predicted clock; of any other, a cycle is a
  /// nanosecond.
  /// `residences`: of all its CTAs. `queues`: what L2 and DRAM had still to serve meanwhile.
  void predicted(const Launch& launch, double ghz, std::vector<Residence> residences, std::vector<QueueSample> queues);
  /// Chrome trace format: a process per CTA, a thread per unit and warp. Of what was predicted, also a process whose
  /// threads are the places for CTAs of all SMs, and counters of the queues.
  /// docs/explorer.md lists the members. Throws base::FileError.
  void write(const std::string& path, const std::string& gpu) const;

 private:
  struct LaunchInfo {
    const struct Program* program;
    uint64_t number;
    std::array<uint32_t, 3> grid, block, cluster;
    uint32_t dynamic_smem;  ///< offset where it begins
    double ghz = 1;
    std::vector<Residence> residences{};
    std::vector<QueueSample> queues{};
  };
  mutable std::mutex mutex_;
  std::vector<LaunchInfo> launches_;
  std::vector<Part> parts_;
  size_t count_ = 0, left_out_ = 0;
};

}  // namespace sim
