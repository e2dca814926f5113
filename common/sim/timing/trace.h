// A trace of a run in modelled cycles: activities of warps and hardware units, counts of barriers, and the cause that
// ended each wait. For Perfetto, scripts/timeline.py and scripts/explore.py.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/async.h"
#include "machine/warp.h"
#include "machine/watcher.h"
#include "timing/contents.h"

namespace sim {

struct Cluster;
struct Launch;

/// The actor: an asynchronous operation, or a warp at an instruction.
struct Actor {
  static constexpr uint32_t kNone = ~0u;  ///< no actor: a timeout, for instance
  uint32_t operation = kNone;             ///< index of its event among those of the cluster
  uint32_t cta = 0, warp = kNone;         ///< rank in the cluster
  uint32_t pc = 0;
  uint64_t time = 0;
};

struct TraceEvent {
  enum class Kind : uint8_t {
    Run,        ///< a warp executes
    Wait,       ///< a warp is blocked, in `wait`
    Operation,  ///< a unit works on an asynchronous operation
    Barrier,    ///< a barrier changes, at `begin`
    Report,     ///< an error or a finding, at `begin`
  };
  Kind kind = Kind::Run;
  Wait wait = Wait::None;
  OperationUnit unit = OperationUnit::Signals;  ///< of Operation
  uint32_t cta = 0;                             ///< linear index in the grid
  int32_t warp = -1;                            ///< of Run and Wait; of Operation: the issuing warp
  uint64_t begin = 0, end = 0;                  ///< cycles
  uint32_t pc = 0;       ///< of the wait, of the first instruction of a run, or of the operation's issue
  uint32_t last_pc = 0;  ///< Run: of its last instruction
  uint64_t issued = 0;   ///< Operation: time of issue
  uint64_t seen = 0;     ///< Operation: when its effect is visible (completion); `end` is when the unit is free
  bool is_open = true;   ///< Wait, Operation: it has not ended
  Actor actor;           ///< Wait: what ended it. Operation: what started it, if an operation did. Barrier: the actor
  BarrierName barrier;   ///< Wait: the barrier; `amount` is the parity. Barrier
  BarrierState state;    ///< Barrier: after the event
  uint32_t amount = 0;   ///< Barrier: arrivals or bytes. Operation: its number in its CTA
  std::string name;      ///< of the operation, of the barrier's event; or the report
  std::vector<Spot> sides;               ///< Report: the conflicting accesses, in the order of execution
  std::unique_ptr<Footprint> footprint;  ///< Operation
  /// Operation, with Trace::contents: a digest of what it read in shared memory as it took effect; of the one named
  /// there the bytes, place after place.
  std::optional<uint32_t> read;
  std::string bytes;
  /// Of an MMA, predicted: cycles for which its tensor core did nothing before, by the name of the account's part.
  std::vector<std::pair<std::string_view, uint64_t>> rests;
};

/// Processes of a launch in the file: one per CTA; the last two are those of a prediction.
constexpr uint64_t kProcessesPerLaunch = 1'000'000;

/// Outstanding work in cycles: of reads of L2, of fills of its halves, of DRAM.
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
  static constexpr int kVersion = 2;  ///< of the file format

  std::optional<Contents> contents;  ///< what operations read is kept, too

  /// The events of one cluster.
  struct Part {
    size_t launch;               ///< index into launches_
    std::vector<uint32_t> ctas;  ///< linear index in the grid, by rank
    std::vector<TraceEvent> events;
  };

  /// Adds the events of one cluster; clusters may come in any order. Thread-safe. Clusters beyond a limit are left out.
  void add(const Cluster& cluster, std::vector<TraceEvent> events);
  void add(const Launch& launch, std::vector<uint32_t> ctas, std::vector<TraceEvent> events);
  /// Removes and returns the cluster that was added last.
  Part take();
  /// Marks the times of this launch, whose events have been added, as cycles of a predicted clock. In any other launch,
  /// a cycle is shown as a nanosecond. `residences`: of all its CTAs. `queues`: what L2 and DRAM had still to serve
  /// meanwhile.
  void predicted(const Launch& launch, double ghz, std::vector<Residence> residences, std::vector<QueueSample> queues);
  /// Writes the Chrome trace format: a process per CTA, a thread per unit and warp. For predicted launches also a
  /// process whose threads are the slots for CTAs of all SMs, and counters of the queues. docs/explorer.md lists the
  /// members. Throws base::FileError.
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
