// Asynchronous operations, and what decides when they take effect.
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
  /// Of a tensor in global memory: where it begins, and the box, innermost first.
  uint64_t tensor = 0;
  std::vector<int64_t> coordinates{};
  std::vector<uint32_t> extent{};
  std::vector<uint64_t> descriptors{};  ///< of an MMA's operands in shared memory
  bool overwrites = false;              ///< an MMA that does not add to what its accumulator holds
};

/// One asynchronous operation in flight: it knows what it reads, what it writes and whom it tells; never when.
class AsyncOperation {
 public:
  virtual ~AsyncOperation() = default;
  /// Takes effect now. May submit further operations (a store's write after its read). Throws Fault.
  virtual void complete(Cluster& cluster) = 0;
  /// `next` follows this one in its queue. True: complete() of this one does the work of both, in their order, and that of
  /// `next` only tells that it is done. Asked where no warp looks for what takes effect between the two.
  virtual bool try_fuse(Cluster& cluster, AsyncOperation& next) { return (void)cluster, (void)next, false; }
  /// It writes global memory: the latest schedule lets everybody else go on before.
  virtual bool writes_globally() const { return false; }
  /// It does nothing but arrive at a barrier.
  virtual bool only_arrives() const { return false; }
  /// "TMA load of 16,384 bytes into CTA 0 +0x400", for reports and traces.
  virtual std::string describe() const = 0;
  /// Asked for traces only.
  virtual Footprint footprint() const { return {}; }
  Origin origin;
  std::shared_ptr<Mark> mark;  ///< of a watcher
};

/// A unit of hardware that works on one operation after the other.
struct Pipe {
  uint64_t free_at = 0;  ///< cycle at which the unit can start the next operation
};

/// Operations of a queue take effect in the order of their submission.
struct Scheduled;  // engine/
struct OrderQueue {
  std::deque<std::shared_ptr<Scheduled>> waiting;  ///< the first one is the scheduler's to complete
};

/// How long an operation takes: it occupies `unit` (if any) for `busy` cycles as soon as that is free, and takes effect
/// `latency` cycles after; with `order`, not before its predecessors there.
struct Latency {
  Pipe* unit = nullptr;
  uint64_t busy = 0;
  uint64_t latency = 0;
  OrderQueue* order = nullptr;
};

/// Implemented by engine/.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void submit(std::unique_ptr<AsyncOperation> operation, const Latency& when) = 0;
  /// A split of this warp that was blocked can run again, `delay` cycles from now.
  virtual void wake(Warp& warp, uint64_t delay) = 0;
  /// Something is wrong that hardware lets pass (Launch::lenient): by this warp's current instruction, or, if `warp` is
  /// null, by an asynchronous operation. `tolerate_violation` in exec/core/report.h decides whether to call it.
  virtual void remark(Habit habit, const Fault& what, const Warp* warp, const Origin* origin) = 0;
};

}  // namespace sim
