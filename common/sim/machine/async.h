// Asynchronous operations, and the interface of the scheduler that decides when they take effect.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sim {

struct Cluster;
struct Cta;
struct Fault;
struct Mark;
struct Warp;
enum class Habit : uint8_t;

/// The issuer of an operation, for reports and traces.
struct Origin {
  uint8_t cta_rank = 0;
  uint16_t warp = 0;
  uint8_t lane = 0;
  uint32_t pc = 0;
};

/// What an operation moves, for traces.
struct Footprint {
  struct Place {
    enum class Space : uint8_t {
      Shared,     ///< bytes of a CTA's shared memory
      Tensor,     ///< columns of its tensor memory
      Registers,  ///< of `count` warps, from `first` on
    } space = Space::Shared;
    bool written = false;
    uint32_t rank = 0;  ///< of the CTA
    uint32_t first = 0, count = 0;
  };
  uint64_t bytes = 0;
  std::vector<Place> places{};
  /// Of a tensor in global memory: its address, and the coordinates and extent of the box, innermost first.
  uint64_t tensor = 0;
  std::vector<int64_t> coordinates{};
  std::vector<uint32_t> extent{};
  std::vector<uint64_t> descriptors{};  ///< of an MMA's operands in shared memory
  bool overwrites = false;              ///< an MMA that does not add to what its accumulator holds
};

/// What executes an asynchronous operation.
enum class OperationUnit : uint8_t { Signals, Loads, Stores, TensorMemory, TensorCore, TensorCoreOfWarpgroup };

/// One asynchronous operation in flight. It holds what it reads and writes and which barriers it signals; the scheduler
/// decides when.
class AsyncOperation {
 public:
  virtual ~AsyncOperation() = default;
  /// Takes effect now. May submit further operations (a store's write after its read). Throws Fault.
  virtual void complete(Cluster& cluster) = 0;
  /// Its effect on a warp that is executed alone (Warp::alone).
  virtual void complete_alone(Cluster& cluster) { (void)cluster; }
  /// `next` follows this one in its queue. True: complete() of this one does the work of both, in order, and complete()
  /// of `next` only reports completion. Called only where no warp can observe the state between the two.
  virtual bool try_fuse(Cluster& cluster, AsyncOperation& next) { return (void)cluster, (void)next, false; }
  /// It writes global memory: in the latest schedule, all warps and clusters that can run do so first.
  virtual bool writes_globally() const { return false; }
  /// It does nothing but arrive at a barrier.
  virtual bool only_arrives() const { return false; }
  /// "TMA load of 16,384 bytes into CTA 0 +0x400", for reports and traces.
  virtual std::string describe() const = 0;
  virtual OperationUnit unit() const { return OperationUnit::Signals; }
  /// Used by traces only.
  virtual Footprint footprint() const { return {}; }
  Origin origin;
  std::shared_ptr<Mark> mark;  ///< attached by a watcher
};

/// A unit of hardware that works on one operation at a time.
struct Pipe {
  uint64_t free_at = 0;  ///< cycle at which the unit can start the next operation
};

/// Operations of a queue take effect in the order of their submission.
struct Scheduled;  // engine/
struct OrderQueue {
  std::deque<std::shared_ptr<Scheduled>> waiting;  ///< the scheduler's heap holds only the first
};

/// How long an operation takes. It occupies `unit` (if any) for `busy` cycles, as soon as the unit is free, and takes
/// effect `latency` cycles later. With `order`, it takes effect after all operations submitted to that queue before it.
struct Latency {
  Pipe* unit = nullptr;
  uint64_t busy = 0;
  uint64_t latency = 0;
  OrderQueue* order = nullptr;
};

/// The engine implements it (engine/cluster_engine.h).
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void submit(std::unique_ptr<AsyncOperation> operation, const Latency& when) = 0;
  /// A blocked split of this warp can run again, `delay` cycles from now.
  virtual void wake(Warp& warp, uint64_t delay) = 0;
  /// Reports a violation that hardware tolerates (Launch::lenient), by this warp's current instruction or, if `warp` is
  /// null, by an asynchronous operation. `tolerate_violation` in exec/core/report.h decides whether to call it.
  virtual void remark(Habit habit, const Fault& what, const Warp* warp, const Origin* origin) = 0;
  /// Whether the try_wait that this warp executes returns False although it could wait, which the ISA permits at any
  /// time. `in_doubt`: a watcher asks for it, in the default schedule, too. For each instruction a few times at most.
  virtual bool times_out(Warp& warp, bool in_doubt) = 0;
};

}  // namespace sim
