// The one interface through which other parts observe a cluster: counters, traces, the demands that the timing model
// times, the taint tracking of a run without data, the order checker. Machine, exec and engine know none of them by
// name.
//
// A watcher declares which events it wants; an event that no watcher wants costs one test of a bit. Some events are
// reported both before and after they happen; a member distinguishes the two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/finding.h"

namespace sim {

class AsyncOperation;
struct Box;  // exec/async/box.h
struct Cluster;
struct Cta;
struct Destination;  // exec/async/destination.h
struct Op;           // exec/core/op.h
struct Origin;
struct Slot;
struct Warp;
enum class Wait : uint8_t;
using Mask = uint32_t;

// ---- parts of events

/// The data that a watcher attaches to an asynchronous operation, or to an arrival in flight. At most one watcher does.
struct Mark {
  virtual ~Mark() = default;
};

/// The kind of a memory access.
enum class Role : uint8_t {
  Load,
  Store,
  Atomic,
  CopyAsync,     ///< cp.async
  BulkLoad,      ///< TMA, bulk copies: the write to shared memory
  RemoteStore,   ///< st.async, red.async: writes to shared memory in the generic proxy
  BulkStore,     ///< TMA, bulk copies: the read of shared memory and the write to global memory
  Cancel,        ///< the response of clusterlaunchcontrol.try_cancel
  WgmmaOperand,  ///< A or B of wgmma
  MmaOperand,    ///< A or B of tcgen05.mma, the source of tcgen05.cp, in shared memory
  MmaResult,     ///< D of tcgen05.mma
  MmaSource,     ///< A of tcgen05.mma in tensor memory
  TensorCopy,    ///< the write of tcgen05.cp
  TensorLoad,    ///< tcgen05.ld
  TensorStore,   ///< tcgen05.st
  Allocation,    ///< tcgen05.alloc
  Deallocation,  ///< tcgen05.dealloc
  BarrierInit,   ///< mbarrier.init, inval
  TensorMap      ///< TMA's read of a tensor map
};

/// A range of memory. Shared memory: offsets in a CTA. Tensor memory: see tensor_range.
struct Range {
  uint64_t begin, end;
};
/// Cells of tensor memory: `lanes` lanes from `lane` on (multiples of 16), `columns` columns from `column` on.
std::vector<Range> tensor_range(int lane, int lanes, int column, int columns);

/// A barrier of any kind.
struct BarrierName {
  enum class Kind : uint8_t {
    None,
    Mbarrier,  ///< `id` is its offset in the CTA's shared memory
    Named,     ///< `id` is its number
    Cluster,
  };
  Kind kind = Kind::None;
  uint32_t cta = 0;  ///< rank in the cluster
  uint32_t id = 0;
};

/// The counters of a barrier after an event.
struct BarrierState {
  uint32_t phase = 0;   ///< number of completed phases; of mbarriers only
  int32_t pending = 0;  ///< arrivals (of other kinds: threads) that the phase still waits for
  int32_t tx = 0;       ///< bytes expected and not yet delivered
  bool completes = false;
};

// ---- events

enum class EventKind : uint8_t {
  Life,
  Work,  ///< no event: Cluster::warp_instructions and lane_instructions are counted
  Step,
  SomeSteps,  ///< StepEvent, but only before the instructions that Watcher::steps names
  Lanes,
  Access,
  Store,
  Fill,
  Fence,
  Signal,
  Barrier,
  Phase,
  Wait,
  Issue,
  Landing,
  Commit,
  Tensor,
  Operands,  ///< TensorEvent, with TensorEvent::accesses
  Schedule,
  Report,
  kCount
};

/// A cluster begins, in its initial state; or it ends, at a time.
struct LifeEvent {
  static constexpr EventKind kind = EventKind::Life;
  enum class What : uint8_t { Begins, Ends, Fails } what;
  Cluster& cluster;
  uint64_t time = 0;
};

/// A warp executes an instruction for `lanes`: those of the lanes at it, `standing`, whose guard is true.
struct StepEvent {
  static constexpr EventKind kind = EventKind::Step;
  Warp& warp;
  const Op& op;
  uint32_t pc;
  Mask standing, lanes;
  bool is_done = false;  ///< it has been executed, or it is a move that waits for its source
};

/// Lanes of a warp diverge, meet or exit.
struct LaneEvent {
  static constexpr EventKind kind = EventKind::Lanes;
  enum class What : uint8_t {
    Part,        ///< `lanes` branch to `target` (0: several targets), `others` do not
    MayPart,     ///< an outcome may differ from lane to lane
    Aligned,     ///< the lanes execute an .aligned instruction together
    Meet,        ///< shfl, vote and the like: the lanes wait for one another, without ordering memory
    Sync,        ///< bar.warp.sync
    Exit,        ///< the lanes are about to exit
    WarpExits,   ///< the warp's last lanes have exited
    CtaExits,    ///< the CTA's last lanes have exited
    NextLaunch,  ///< griddepcontrol.launch_dependents
    Registers,   ///< setmaxnreg to `target` registers
    Elects,      ///< elect.sync has elected the one lane in `lanes`
  } what;
  Warp& warp;
  Mask lanes = 0, others = 0;
  uint32_t target = 0;
};

/// Lanes access memory with ordinary loads, stores or atomic operations.
struct AccessEvent {
  static constexpr EventKind kind = EventKind::Access;
  enum class Memory : uint8_t { Global, Constant, Shared, Local };
  Warp& warp;
  Mask lanes;
  bool is_done;               ///< false: before the access; only `address_slot` is set
  int32_t address_slot = -1;  ///< the register that holds the addresses; -1: no register does
  Memory memory = Memory::Global;
  Role role = Role::Load;
  const uint64_t* address = nullptr;  ///< by lane; in shared memory with the CTA's rank in bits 31..24
  uint32_t bytes = 0;                 ///< of each lane
  uint32_t pc = 0;
  bool is_own_instruction = true;                            ///< false: a side effect of another instruction
  uint64_t allocation = 0, allocation_bytes = ~uint64_t{0};  ///< that contains all global addresses
};

/// Values are about to be stored, or have been.
struct StoreEvent {
  static constexpr EventKind kind = EventKind::Store;
  Cluster& cluster;
  Warp* warp;  ///< null: an asynchronous operation
  bool is_done;
  bool changed = false;  ///< memory has changed; valid once it is done
  Mask lanes = 0;
  uint8_t* const* host = nullptr;   ///< where, by lane
  const uint8_t* values = nullptr;  ///< lane after lane; null: unknown, or no other thread can read them
  uint64_t bytes = 0;               ///< of each lane
};

/// Registers or memory get values other than by an access or an arithmetic result; or a loaded value becomes known.
struct FillEvent {
  static constexpr EventKind kind = EventKind::Fill;
  enum class What : uint8_t { Shared, Registers, Local, Loaded } what;
  Warp* warp = nullptr;                      ///< of registers, local memory, loaded values
  bool is_known = false;                     ///< the value is known although no data were moved
  uint32_t rank = 0, first = 0, bytes = 0;   ///< of shared memory; of local memory, `first` is the source
  uint32_t to = 0;                           ///< in local memory
  Mask lanes = 0;                            ///< of local memory, loaded values
  const std::vector<Slot>* slots = nullptr;  ///< registers
};

struct FenceEvent {
  static constexpr EventKind kind = EventKind::Fence;
  enum class What : uint8_t {
    Memory,        ///< fence, membar, tcgen05.fence, and instructions that include one
    WgmmaFence,    ///< wgmma.fence
    TensorMapRead  ///< fence.proxy.tensormap that acquires the map at `map`
  } what = What::Memory;
  Warp& warp;
  Mask lanes;
  uint64_t map = 0;
};

/// A thread signals an mbarrier: at once, or by an operation that is in flight from now on.
struct SignalEvent {
  static constexpr EventKind kind = EventKind::Signal;
  enum class What : uint8_t {
    Thread,     ///< an arrival, or bytes
    Copies,     ///< when the lane's cp.async are done
    Tensor,     ///< tcgen05.commit
    Delivered,  ///< the signal is about to be counted; `mark` is the one attached at issue
  } what;
  Cluster& cluster;
  uint32_t rank, offset;  ///< of the barrier; of tcgen05.commit in each of the CTAs in `ranks`
  Warp* warp = nullptr;
  int lane = 0;
  bool expects = false;  ///< an expect_tx of `expected` bytes
  uint32_t expected = 0;
  uint32_t arrivals = 0;
  uint32_t group = 1;                            ///< of tcgen05.commit: cta_group
  uint32_t ranks = 0;                            ///< mask of CTAs
  mutable std::shared_ptr<Mark> mark = nullptr;  ///< a watcher may attach one
};

/// The state of a barrier changes.
struct BarrierEvent {
  static constexpr EventKind kind = EventKind::Barrier;
  enum class What : uint8_t { Init, Invalidate, Arrive, ArriveDrop, ExpectTx, CompleteTx, Sync } what;
  Cluster& cluster;
  BarrierName barrier;
  uint32_t amount = 0;  ///< arrivals, threads or bytes
  BarrierState state = {};
  Warp* warp = nullptr;  ///< null: the cause may not be a thread
  Mask lanes = 0;
  uint32_t expected = 0;  ///< threads that a named barrier waits for; 0: all of the CTA
  bool is_aligned = false;
};

/// A barrier's phase has completed; the waiting lanes are about to be released.
struct PhaseEvent {
  static constexpr EventKind kind = EventKind::Phase;
  Cluster& cluster;
  BarrierName barrier;
};

/// Lanes wait for something.
struct WaitEvent {
  static constexpr EventKind kind = EventKind::Wait;
  enum class What : uint8_t {
    Asks,    ///< the lanes execute the instruction
    Passes,  ///< the lanes continue at once
    Wakes,   ///< the lanes continue after they have waited
    Tries    ///< the lanes are about to execute a wait for an mbarrier; a watcher may set `in_doubt`
  } what;
  Wait why;
  Warp& warp;
  Mask lanes;
  uint32_t pc;
  BarrierName barrier = {};
  uint32_t first = 0, second = 0;  ///< groups that may be unfinished, and modifiers; or an mbarrier's parity
  Mask passed = 0;                 ///< of an mbarrier: lanes that have observed the phase's completion
  /// The lanes do not know whether the phase is complete: in another interleaving the wait may return False.
  mutable bool in_doubt = false;
};

/// A lane (or lanes, of cp.async) starts copies.
struct IssueEvent {
  static constexpr EventKind kind = EventKind::Issue;
  Role role;
  Warp& warp;
  Mask lanes;
  AsyncOperation* operation = nullptr;  ///< gets the mark
  const Destination* to = nullptr;      ///< in shared memory, with barriers
  const Box* box = nullptr;             ///< of tensor copies
  uint64_t bytes = 0;                   ///< of each destination
  uint64_t from = 0;                    ///< of bulk copies and stores: an offset or a global address
  const Cta* from_cta = nullptr;        ///< null: from global memory
  uint64_t to_global = 0;               ///< of bulk stores
  bool reduces = false;
  bool to_all = false;  ///< of a request to cancel a cluster: every CTA gets the response
  const uint64_t *to_lanes = nullptr, *from_lanes = nullptr;  ///< of cp.async: addresses by lane
  Mask reading = 0;                                           ///< of cp.async: lanes that read; the others write zeros
};

/// A copy takes effect.
struct LandingEvent {
  static constexpr EventKind kind = EventKind::Landing;
  enum class What : uint8_t {
    Lands,    ///< in a CTA's shared memory; its bytes are about to be counted at the barrier
    Writes,   ///< before a write to global memory
    Written,  ///< after it
  } what;
  Cluster& cluster;
  Mark* mark;           ///< may be null
  uint32_t number = 0;  ///< of the destination
  BarrierName barrier = {};
  bool changed = false;
  uint64_t bytes = 0;
};

/// A group of copies or of wgmma ends.
struct CommitEvent {
  static constexpr EventKind kind = EventKind::Commit;
  enum class What : uint8_t { Bulk, Copies, Wgmma } what;
  Warp& warp;
  Mask lanes;
};

/// Which memory a tensor operation accesses.
struct TensorAccesses {
  struct Part {
    uint32_t rank;  ///< of the CTA
    Range range;
  };
  uint32_t group = 1;                             ///< cta_group
  std::vector<Part> operands = {}, sources = {};  ///< in shared memory; read in tensor memory
  std::vector<Part> results = {};                 ///< written to tensor memory
  uint64_t accumulator = 0;                       ///< address and shape: MMAs with equal ones execute in order
  Role result = Role::MmaResult;
  bool accumulates = true;
};

/// Tensor cores and tensor memory.
struct TensorEvent {
  static constexpr EventKind kind = EventKind::Tensor;
  enum class What : uint8_t {
    Wgmma,
    Mma,    ///< tcgen05.mma
    Move,   ///< tcgen05.cp, tcgen05.shift
    Load,   ///< tcgen05.ld
    Store,  ///< tcgen05.st
    Allocate,
    Deallocate,
    Multiplies,  ///< `multiply_adds` by one instruction
  } what;
  Cluster& cluster;
  Warp* warp = nullptr;
  Mask lanes = 0;
  uint32_t pc = 0;
  int m = 0, n = 0, k = 0;
  int ctas = 1;              ///< CTAs that execute it together
  bool a_elsewhere = false;  ///< A comes from registers or tensor memory
  uint32_t leader = 0;       ///< rank
  uint32_t amount = 0;       ///< columns, or bytes of a transfer
  uint64_t multiply_adds = 0;
  /// Only if a watcher wants EventKind::Operands. Of wgmma, transfers and allocations: ranges of the warp's own CTA, in
  /// `results`.
  const TensorAccesses* accesses = nullptr;
};

/// The engine runs a warp, or an asynchronous operation.
struct ScheduleEvent {
  static constexpr EventKind kind = EventKind::Schedule;
  enum class What : uint8_t {
    Runs,         ///< the warp runs from its clock on
    Stops,        ///< it has stopped, at its clock
    Wakes,        ///< a blocked split of the warp can continue
    Submitted,    ///< at `time`; a unit works on it from `begin` to `end`
    TakesEffect,  ///< at `time`
    IsDone,
  } what;
  Cluster& cluster;
  const Warp* warp = nullptr;
  const AsyncOperation* operation = nullptr;
  uint64_t number = 0;  ///< of the operation in its cluster, in the order of submission
  uint64_t time = 0, begin = 0, end = 0;
};

/// An error: of a warp's current instruction, of an asynchronous operation (`origin`), or a finding of a watcher.
struct ReportEvent {
  static constexpr EventKind kind = EventKind::Report;
  Cluster& cluster;
  const Finding& finding;
  uint64_t time;
  const Warp* warp = nullptr;
  const Origin* origin = nullptr;
};

// ---- watchers

class EventSet {
 public:
  constexpr EventSet() = default;
  constexpr EventSet(std::initializer_list<EventKind> events) {
    for (const EventKind event : events) bits_ |= 1u << static_cast<int>(event);
  }
  constexpr bool contains(EventKind event) const { return bits_ >> static_cast<int>(event) & 1; }
  constexpr void add(EventSet others) { bits_ |= others.bits_; }

 private:
  uint32_t bits_ = 0;
};

/// Observes the clusters that one engine runs, one after the other.
class Watcher {
 public:
  explicit Watcher(EventSet wants) : wants_(wants) {}
  virtual ~Watcher() = default;

  EventSet wants() const { return wants_; }
  /// With EventKind::SomeSteps: by pc, whether it wants a StepEvent before the instruction is executed.
  virtual const uint8_t* steps() const { return nullptr; }
  /// The engine runs no further cluster: the watcher adds its results to the launch's.
  virtual void retires(const Cluster&) {}

  virtual void on(const LifeEvent&) {}
  virtual void on(const StepEvent&) {}
  virtual void on(const LaneEvent&) {}
  virtual void on(const AccessEvent&) {}
  virtual void on(const StoreEvent&) {}
  virtual void on(const FillEvent&) {}
  virtual void on(const FenceEvent&) {}
  virtual void on(const SignalEvent&) {}
  virtual void on(const BarrierEvent&) {}
  virtual void on(const PhaseEvent&) {}
  virtual void on(const WaitEvent&) {}
  virtual void on(const IssueEvent&) {}
  virtual void on(const LandingEvent&) {}
  virtual void on(const CommitEvent&) {}
  virtual void on(const TensorEvent&) {}
  virtual void on(const ScheduleEvent&) {}
  virtual void on(const ReportEvent&) {}

 private:
  EventSet wants_;
};

/// The watchers of one cluster.
class Watchers {
 public:
  void add(Watcher& watcher);
  bool want(EventKind event) const { return wanted_.contains(event); }
  template <class E>
  void tell(const E& event) const {
    for (Watcher* const each : by_event_[static_cast<size_t>(E::kind)]) each->on(event);
  }
  /// By pc: whether a watcher wants this instruction's StepEvent. Null: none does.
  const uint8_t* steps() const { return steps_; }
  void tell_some(const StepEvent& event) const {
    for (Watcher* const each : by_event_[static_cast<size_t>(EventKind::SomeSteps)]) each->on(event);
  }

 private:
  EventSet wanted_;
  const uint8_t* steps_ = nullptr;
  std::array<std::vector<Watcher*>, static_cast<size_t>(EventKind::kCount)> by_event_;
};

/// Observes a launch: makes a watcher for each engine that runs its clusters. Engines may run in parallel.
class LaunchWatcher {
 public:
  virtual ~LaunchWatcher() = default;
  virtual std::unique_ptr<Watcher> watch(Cluster& cluster) = 0;
  /// From the first call to the second, all clusters alternate on one host thread and can affect one another.
  virtual void in_turns() {}
  virtual void turns_are_over() {}
};

}  // namespace sim
