// The checker for clusters that can affect one another: the knowledge of their threads, the accesses to each location,
// and the operations in flight. Events are reported to it in the order in which they happen. It changes the execution
// in one way only: a wait may return False if its thread does not know that the phase is complete (is_in_doubt). Only
// one host thread uses it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/order/finding.h"
#include "check/order/message.h"
#include "check/order/shadow.h"
#include "check/order/thread.h"

namespace sim::order {

class RaceDetector;
struct CtaKnowledge;

/// Instructions and locations, named in the program's terms. A pc is the number of an instruction in the program.
class ProgramNames {
 public:
  virtual ~ProgramNames() = default;
  virtual std::string kernel() const = 0;
  virtual std::string cta(const CtaKnowledge& cta) const = 0;  ///< "CTA 3 (rank 1 of its cluster)"
  virtual Location locate(uint32_t pc) const = 0;
  virtual uint32_t first_of_line(uint32_t pc) const = 0;   ///< one pc for all instructions of a source line
  virtual std::string shared(uint64_t offset) const = 0;   ///< "dynamic shared memory +0x400"
  virtual std::string global(uint64_t address) const = 0;  ///< "cudaMalloc #3 +0x100"
  /// The current contents; nullptr if they are not known. `cta` is null for global memory.
  virtual const uint8_t* bytes(const CtaKnowledge* cta, uint64_t address) const = 0;
};

/// An arrival that a phase has counted. A clock that contains all of them implies that the phase is complete.
struct Counted {
  uint32_t cta;
  uint16_t row;  ///< of its thread; for a commit, of its queue
  Mask lanes;
  Tick position;  ///< in the row; 0: bytes, which only the phase itself makes known
};

/// An mbarrier: a channel whose positions are its phases, with the message of each phase.
struct BarrierChannel {
  uint16_t row = 0;
  Tick completed = 0;                           ///< number of complete phases since the row exists
  Tick first = 0;                               ///< `completed` when it was initialised
  uint32_t init = 0;                            ///< the access that initialised it
  bool valid = false;                           ///< it has been initialised, and not invalidated
  bool fenced = false;                          ///< fence.mbarrier_init, or a proxy fence, came after
  Message open, last;                           ///< of the current phase, and of the preceding one
  std::array<std::vector<Counted>, 3> counted;  ///< by the current phase and the two before it
  struct Waiter {
    uint32_t cta;
    uint16_t warp;
    Mask lanes;
    Tick tick;
    uint32_t pc;
    Tick wgmma_issued;  ///< by this warp before the wait
  };
  std::vector<Waiter> waiters;  ///< successful waits for the preceding phase
  uint32_t waited_at = 0;       ///< the instruction of the last wait; 0: no wait yet
  uint64_t waiting_warps = 0;   ///< a bit per warp that has waited, by its index
  bool has_waited(uint16_t warp) const { return waiting_warps >> (warp % 64) & 1; }
  /// Operations in flight that will report to it, and signals from other CTAs.
  struct Coming {
    uint32_t cta;
    uint16_t warp;
    Mask lanes;
    uint32_t pc;
    uint16_t queue;  ///< of a commit, and where it stands there
    Tick queue_position;
  };
  std::vector<Coming> coming;
  /// Arrivals in phases for which no thread has waited: they must have finished before the CTA exits.
  struct Arrival {
    uint32_t cta;
    uint16_t row;
    Mask lanes;
    Tick position;
    uint32_t pc;
    Tick phase;
    bool asynchronous;
    uint16_t queue;
    Tick queue_position;
  };
  std::vector<Arrival> arrivals;
};

struct CtaKnowledge {
  GridPosition place;               ///< numbers in the grid
  const uint8_t* memory = nullptr;  ///< its shared memory, to compare values
  uint32_t rank = 0;                ///< in the cluster
  std::vector<WarpKnowledge> warps;
  uint16_t rows = 0;                            ///< number of warps and channels so far
  std::map<uint32_t, BarrierChannel> barriers;  ///< by offset; kept when invalidated, for its row
  Shadow shared, tensor;
  struct Named {
    uint16_t row = 0;  ///< 0 until a part of the CTA uses the barrier
    Tick completed = 0;
    Tick first = 0;  ///< phases completed before that: all threads took part, so each knows that they are complete
    Message open, last;
    std::array<std::vector<Counted>, 2> counted;  ///< by the current generation and the preceding one
    struct Participant {
      uint16_t warp;
      uint32_t pc;
      bool waits;
    };
    std::vector<Participant> participants;  ///< the arrivals so far, for reports
    /// Arrivals in a phase that their thread does not know, while no warp has waited. If none ever does, they are told
    /// only beside other errors: the wait may be what is missing.
    struct Unknown {
      uint16_t warp;
      Mask lanes;
      uint32_t pc;
    };
    std::vector<Unknown> unknown;
  };
  std::array<Named, 16> named;
  std::map<uint32_t, std::pair<uint16_t, Tick>>
      queues;                                ///< of tcgen05, by warp * 64 + lane * 2 + cta_group - 1: row, operations
  std::map<uint64_t, uint32_t> allocations;  ///< of tensor memory: the last access that allocated, by first cell
  Clock end;                                 ///< the knowledge of its threads when they exited
  bool exited = false;
};

/// The lanes of a warp that execute an instruction.
struct By {
  CtaKnowledge& cta;
  uint16_t warp;
  Mask lanes;
  uint32_t pc;
  WarpKnowledge& threads() const { return cta.warps[warp]; }
};

enum class MemoryKind : uint8_t { Shared, Global, Tensor };

/// An access by lanes, each at an address of its own.
struct WarpAccess {
  MemoryKind space = MemoryKind::Shared;
  CtaKnowledge* target = nullptr;     ///< the CTA that owns the shared memory
  const uint64_t* address = nullptr;  ///< by lane: offset in the CTA, or global address
  uint32_t bytes = 0;
  Role role = Role::Load;
  bool reads = false, writes = false;
  bool strong = false;  ///< volatile, relaxed, acquire, release, atomic
  bool is_volatile = false;
  bool read_modify_write = false;
  bool read_only = false;  ///< ld.global.nc
  bool acquires = false, releases = false;
  Scope scope = Scope::Cta;
};

/// The link that is missing between two accesses.
enum class Lack : uint8_t {
  Everything,
  Visibility,
  ProxyFence,
  BeforeFence,
  AfterFence,
  FlagFence,
  LateFence,
  Coherence
};

/// The checker's record of an asynchronous operation in flight. The executor stores it with the operation.
struct OperationRecord final : Mark {
  Signal signal;     ///< released by its completion
  uint32_t map = 0;  ///< its use of a tensor map
  /// A bulk load: the access to its source (or 0), then one to each destination. A bulk store: the writes.
  std::vector<uint32_t> accesses;
};

class RaceDetector {
 public:
  RaceDetector(Findings& findings, const ProgramNames& names, Clock start);
  ~RaceDetector();

  /// Sets the listener; nullptr: none.
  void call(FindingListener* witness) { witness_ = witness; }
  /// Adds a finding and notifies the listener.
  template <class Make>
  void tell(const Findings::Key& key, uint32_t cluster, uint64_t bytes, Make make, int lacks = 0, uint64_t times = 1) {
    findings_.add(key, cluster, ++tellings_, bytes, make, lacks, times);
    any_errors_ |= key.grade == Grade::Error;
    if (witness_ != nullptr && told_.emplace(cluster, key).second) witness_->on_finding(Findings::graded(make(), key));
  }

  // ---- life
  CtaKnowledge& begin(GridPosition place, uint32_t rank, uint32_t threads);
  void exit(const By& by);
  /// The CTA's last thread has exited: no thread and no operation in flight may still use its memory.
  void end(CtaKnowledge& cta);

  // ---- order among threads
  /// `restricted`: to shared memory; a release to that of its own CTA.
  void fence(const By& by, Scope scope, bool acquires, bool releases, bool restricted = false);
  /// Of shared memory of its own CTA, of global memory, of shared memory of other CTAs.
  void fence_proxy_async(const By& by, bool shared, bool global, bool peers = false);
  void fence_barrier_init(const By& by);
  void fence_before_thread_sync(const By& by);
  void fence_after_thread_sync(const By& by);
  void sync_warp(const By& by);
  /// shfl, vote and the like: these lanes wait for one another, which does not order memory.
  void meet(const By& by);
  /// An .aligned instruction: its lanes must be converged.
  void aligned(const By& by);
  void part(const By& by, Mask others) { by.threads().part(by.lanes, others, by.pc); }
  /// The outcome of a wait may differ from lane to lane.
  void may_part(const By& by);

  /// A warp arrives at a named barrier. The last arrival completes it; then each waiting warp passes.
  void barrier_arrive(const By& by, uint32_t id, bool whole_cta);
  void barrier_complete(CtaKnowledge& cta, uint32_t id);
  void barrier_pass(const By& by, uint32_t id);
  void cluster_arrive(const By& by, bool releases);
  void cluster_complete(uint32_t cluster);
  void cluster_pass(const By& by, bool acquires);

  // ---- memory
  void access(const By& by, const WarpAccess& access);
  /// The store of the last call of access() has been executed; `changed`: it changed some value.
  void stored(bool changed);
  /// These lanes have written different values to one address with one store.
  void collide(const By& by, const CtaKnowledge* target, uint64_t address, uint32_t bytes);

  // ---- tensor maps in global memory, 128 bytes each
  void release_maps(const By& by, Scope scope = Scope::Gpu);
  void acquire_map(const By& by, uint64_t address, Scope scope = Scope::Gpu);
  /// The bulk operation that this thread issues next, at the same instruction, reads the map until it completes.
  void use_map(const By& by, uint64_t address);

  // ---- mbarriers
  void barrier_init(const By& by, uint32_t offset);
  void barrier_invalidate(const By& by, uint32_t offset);
  /// The contribution of an arrival by these lanes; arrived() applies it when the arrival takes effect.
  Signal signal(const By& by, bool releases, Scope scope);
  void arrived(CtaKnowledge& target, uint32_t offset, const Signal& signal);
  /// A signal or an operation of these lanes is on its way to the barrier.
  void coming(const By& by, CtaKnowledge& target, uint32_t offset, const Signal& signal);
  /// The barrier's phase has completed.
  void phase_complete(CtaKnowledge& target, uint32_t offset);
  /// These lanes have observed that the last phase is complete. After a relaxed wait, a later fence acquires.
  void waited(const By& by, uint32_t offset, Scope scope, bool acquires);
  /// Whether some of these lanes, about to wait for the barrier, do not know that its last phase is complete.
  bool is_in_doubt(const By& by, uint32_t offset) const;
  /// setmaxnreg by a warp.
  void set_registers(const By& by, uint32_t count) { by.threads().registers.emplace_back(by.pc, count); }

  // ---- copies for which each lane waits by itself: cp.async
  /// Lanes that are not in `reading` write zeros.
  void copy_async(const By& by, const uint64_t* to, const uint64_t* from, uint32_t bytes, Mask reading);
  void copy_commit(const By& by);
  void copy_wait(const By& by, uint32_t pending, bool open_too);
  /// An arrival that happens when the lane's earlier copies are complete.
  Signal copy_signal(const By& by);

  // ---- bulk copies
  struct Landing {
    CtaKnowledge* cta;
    std::vector<Range> ranges;
    CtaKnowledge* barrier_cta;
    uint32_t barrier;
  };
  /// From global memory, or from the shared memory of `from_cta`.
  std::unique_ptr<OperationRecord> bulk_load(const By& by, Role role, const std::vector<Landing>& landings,
                                             const CtaKnowledge* from_cta, const std::vector<Range>& from,
                                             bool reduces = false);
  /// The operation's bytes are about to be counted at the barrier of landing `index`.
  void landed(OperationRecord& operation, size_t index, CtaKnowledge& barrier_cta, uint32_t barrier);
  std::unique_ptr<OperationRecord> bulk_store(const By& by, const std::vector<Range>& from,
                                              const std::vector<Range>& to, bool reduces);
  /// The bytes of a bulk store are about to be written to global memory; have been written.
  void writing(OperationRecord& operation);
  void written(OperationRecord& operation, bool changed);
  void bulk_commit(const By& by);
  void bulk_wait(const By& by, uint32_t pending, bool reads_only);

  // ---- wgmma, by warp
  void wgmma(const By& by, const std::vector<Range>& operands);
  /// The instruction `before` has accessed the wgmma's registers without a fence since. If `before` is the wgmma
  /// itself, no fence precedes the warp's first wgmma.
  void wgmma_unfenced(const By& by, uint32_t before);
  /// These lanes overwrite registers of A of the wgmma at `wgmma`, for which they have not waited.
  void wgmma_overwritten(const By& by, uint32_t wgmma);
  void wgmma_commit(const By& by);
  void wgmma_wait(const By& by, uint32_t pending);

  // ---- tcgen05
  struct TensorRanges {
    CtaKnowledge* cta;
    std::vector<Range> ranges;
  };
  static constexpr auto tensor_range = &sim::tensor_range;
  struct Mma {
    uint32_t group = 1;
    std::vector<TensorRanges> operands = {}, sources = {};  ///< in shared memory; read in tensor memory
    std::vector<TensorRanges> results = {};                 ///< written to tensor memory
    uint64_t accumulator = 0;  ///< address and shape of D: MMAs with equal values write in order
    Role result = Role::MmaResult;
    bool accumulates = true;
  };
  void tensor_operation(const By& by, const Mma& mma);
  /// The signal of a commit, sent when the operations that its thread has issued are complete.
  Signal tensor_commit(const By& by, uint32_t group);
  void tensor_transfer(const By& by, const std::vector<Range>& cells, bool stores);
  void tensor_wait(const By& by, bool stores);
  /// Role::Allocation or Deallocation of the warp's own CTA's columns; of a pair, together with `peer`.
  void tensor_allocate(const By& by, const std::vector<Range>& cells, Role role, const CtaKnowledge* peer = nullptr);

  /// Sets the launch, which knows the accesses of earlier launches. Without one, nothing is known of them.
  void belongs_to(class LaunchCheck& launch) { launch_ = &launch; }
  void grid_wait(const By& by);
  /// Calls f(number of the access, access, begin, end, writes) for the last writers of all global memory and their
  /// later readers, by address.
  template <class F>
  void for_global(F f) {
    global_.for_all_sorted([&](const Cell& cell, uint64_t begin, uint32_t bytes) {
      for (const uint32_t each : sets_.members(cell.write)) f(each, accesses_[each], begin, begin + bytes, true);
      for (const uint32_t each : sets_.members(cell.read)) f(each, accesses_[each], begin, begin + bytes, false);
    });
  }

 private:
  struct Context;
  struct Verdict;

  uint16_t row_of(CtaKnowledge& cta, WarpKnowledge& warp, Own own);
  std::pair<uint16_t, Tick>& queue_of(const By& by, uint32_t group);
  Signal work_signal(const By& by);
  void learn_of_queue(const By& by, Own own, const std::vector<WarpKnowledge::Commit>& commits, uint32_t pending);
  uint32_t record(RecordedAccess access) { return accesses_.add(std::move(access)); }
  RecordedAccess made_by(const By& by, Role role, Proxy proxy) const;
  void touch_lanes(RecordedAccess access, Shadow& shadow, const uint64_t* address, uint32_t bytes,
                   const Context& context);
  void touch(Shadow& shadow, std::span<const Range> ranges, uint32_t number, const Context& context);
  void touch(Shadow& shadow, const Range& range, uint32_t number, const Context& context) {
    touch(shadow, {&range, 1}, number, context);
  }
  Verdict judge(const RecordedAccess& before, const RecordedAccess& now, const Context& context, uint64_t begin,
                uint32_t bytes) const;
  Verdict judge_tensor(const RecordedAccess& before, const RecordedAccess& now, const Context& context) const;
  Verdict judge_volatile(const RecordedAccess& before, const RecordedAccess& now, const Context& context) const;
  bool warp_knows(const RecordedAccess& before, Mask missing, Field field, const Context& context) const;
  std::optional<Verdict> judge_warpgroup(const RecordedAccess& before, const RecordedAccess& now, Mask missing) const;
  bool warpgroup_is_done(uint32_t cta, uint16_t warp, Tick position, const Clock& clock) const;
  Mask unknown(const RecordedAccess& before, Mask lanes, const Context& context, Mask now_lanes, const Clock& clock,
               Field field) const;
  static Mask by_themselves(const RecordedAccess& before, const RecordedAccess& now, Mask lanes, Mask now_lanes,
                            uint64_t begin, uint32_t bytes);
  void found(const Verdict& verdict, uint32_t before, uint32_t now, const Context& context, const Shadow& shadow,
             uint64_t begin, uint32_t bytes);
  bool has_executed(const RecordedAccess& one, uint32_t pc, uint64_t before, bool is_line) const;
  bool is_reversed(const RecordedAccess& before, const RecordedAccess& now);
  int distance(const Verdict& verdict, const RecordedAccess& before, const Context& context) const;
  Finding describe(const Verdict& verdict, const RecordedAccess& before, const RecordedAccess& now,
                   const Context& context, const Shadow& shadow, uint64_t begin, uint32_t bytes) const;
  MissingLink missing_between(MissingLink::What what, uint32_t from, uint32_t to) const;
  MissingLink missing_link(const Verdict& verdict, const RecordedAccess& before, const RecordedAccess& now,
                           const Context& context) const;
  MissingLink late_wait(const RecordedAccess& before, const SyncEvent& signal, const Context& context) const;
  static bool knows_last_phase(const By& by, const CtaKnowledge& target, const BarrierChannel& barrier);
  static Tick counting_phase(const By& by, const CtaKnowledge& target, const BarrierChannel& barrier);
  std::optional<MissingLink> phase_without(const RecordedAccess& load) const;
  static MissingLink::Reach reach(const RecordedAccess& before, const Context& context);
  std::optional<MissingLink> lanes_that_told(const RecordedAccess& before, Mask missing, Field field,
                                             const Context& context) const;
  std::optional<MissingLink> who_knows(const RecordedAccess& before, Mask missing, Field field,
                                       const Context& context) const;
  const CtaKnowledge* owner(const Shadow& shadow) const;
  void synchronise(const By& by, const WarpAccess& what);
  Side side(const By& by) const;
  Side side(const RecordedAccess& access) const;
  std::string line(uint32_t pc) const;
  std::string who(const By& by) const;
  std::string who(const RecordedAccess& access) const;
  // A thread that uses a barrier must know that the barrier exists, and its current phase.
  void check_exists(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                    const Context& context, bool asynchronous);
  void check_exists(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                    const Signal& signal);
  void barrier_write(const By& by, uint32_t offset, BarrierChannel& barrier);
  template <class Kind>
  void about_init(Kind kind, const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                  Violation violation, MissingLink::What missing, const char* instruction = "");
  void initialised_twice(const By& by, uint32_t offset, const BarrierChannel& barrier, bool is_habit);
  void missing_init(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier);
  void unfenced_init(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier);
  void check_phase_known(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                         const Clock& knows, Tick position, bool waits);
  static bool knows_all(const Clock& knows, const std::vector<Counted>& arrivals, Field field);
  void check_generation_known(const By& by, uint32_t id, CtaKnowledge::Named& barrier, const Clock& knows);
  void unknown_generation(const By& by, uint32_t id);
  std::vector<std::string> participants_of(const By& by, uint32_t id) const;
  void lapped(CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
              const BarrierChannel::Waiter& waiter, Mask missing);
  void note_waiter(const By& by, BarrierChannel& barrier);
  void check_unwaited(const By& by, uint32_t offset, const BarrierChannel& barrier);
  void check_settled(const By& by, uint32_t offset, const BarrierChannel& barrier);
  void issued(const By& by, size_t queue);
  void ended(const By& by, size_t queue);
  void elected_other(const By& by, const WarpKnowledge::Open& open);
  void check_registers(const CtaKnowledge& cta);
  void check_written(const By& by, const CtaKnowledge& cta, std::span<const Range> cells);
  void check_begun(const By& by, const CtaKnowledge& target, Violation violation);
  void check_pair_allocated(const By& by, const CtaKnowledge& peer, uint64_t cell, const Context& context);
  std::vector<uint32_t> writers_of_map(uint64_t address);
  bool is_acquired(const By& by, const Knowledge& knows, uint64_t address, uint32_t writer,
                   Scope scope = Scope::Cta) const;
  void unacquired_map(const By& by, uint64_t address);
  uint32_t take_map(const By& by);
  bool map_is_read(const RecordedAccess& use, const Context& context, Mask now_lanes, const Clock& clock,
                   Field field) const;
  void unfenced_map(const By& by, const RecordedAccess& write, uint64_t address, bool is_released, Scope scope);
  /// No arrival at the barrier may still be in flight.
  void check_quiet(CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier, const Clock& knows);
  std::optional<Location> end_of(const CtaKnowledge& target, const BarrierChannel& barrier) const;
  void unfinished(CtaKnowledge& cta, uint32_t access, uint64_t offset, std::vector<bool>& seen);

  void collect();

  uint64_t time() const { return witness_ != nullptr ? witness_->now() : 0; }

  Findings& findings_;
  const ProgramNames& names_;
  FindingListener* witness_ = nullptr;
  std::set<std::pair<uint32_t, Findings::Key>> told_;  // reported to the listener, by cluster
  uint64_t tellings_ = 0;
  bool any_errors_ = false;
  std::map<std::pair<uint32_t, uint32_t>, bool> reversed_;  ///< by the lines of two accesses, as executed
  const Clock start_;
  LaunchCheck* launch_ = nullptr;
  std::vector<uint32_t> last_stores_;
  std::vector<uint32_t> members_;  // of the set under construction
  RecordedAccesses accesses_;
  Sets sets_;
  Shadow global_;
  std::unordered_map<uint32_t, std::unique_ptr<CtaKnowledge>> ctas_;
  struct ClusterBarrier {
    Message open, last;
  };
  std::unordered_map<uint32_t, ClusterBarrier> clusters_;
  /// Two unordered stores to one location. If both store the same value, the program cannot observe the order.
  struct Doubt {
    Findings::Key key;
    uint32_t cluster;
    uint32_t before, now;  // accesses
    const CtaKnowledge* cta;
    std::vector<Range> ranges;
    uint64_t times;              // occurrences
    std::vector<uint8_t> bytes;  // contents before the second store, range by range
  };
  void doubt(const Findings::Key& key, uint32_t before, uint32_t now, const Context& context, const CtaKnowledge* cta,
             uint64_t begin, uint32_t bytes, Finding finding);
  void open_doubts(uint32_t number);
  void settle_doubts(uint32_t number);
  void append(Doubt& doubt, const Range& range) const;
  bool is_equal(const Doubt& doubt) const;
  std::unordered_map<uint32_t, Doubt> doubts_;                     // by a number
  std::unordered_map<uint32_t, std::vector<uint32_t>> doubts_of_;  // of an access
  uint32_t last_doubt_ = 0;
  std::map<Findings::Key, Finding> doubtful_;
  /// The threads that have acquired a tensor map as these accesses wrote it; stored by the map's address.
  struct AcquiredMap {
    uint32_t cta;
    uint16_t warp;
    Tick tick;
    std::vector<uint32_t> writers;
    Scope scope;
  };
  std::unordered_map<uint64_t, std::vector<AcquiredMap>> maps_;
  std::array<Clock, 3> maps_released_;  ///< what a fence has released for use as a tensor map, by scope
  /// The channels in which the use of a map ends, by its access: each barrier that counts the operation's bytes, and
  /// the bulk groups of its thread. Position 0: not complete there.
  struct MapRead {
    struct End {
      uint32_t cta;
      uint16_t row;
      Mask lanes;
      Tick position;
    };
    std::vector<End> ends;
    uint32_t in_flight = 1;  ///< number of completions still to come
    bool loads = false;
  };
  std::unordered_map<uint32_t, MapRead> map_reads_;
  struct UsedMap {
    uint32_t access = 0, cta = 0, pc = 0;
    uint16_t warp = 0;
    Mask lanes = 0;
  };
  UsedMap used_map_;  ///< by the operation that is issued next
  /// Whether relaxed writes release more than fences did, so that Knowledge::flags may differ from `now`.
  bool flags_are_heard_ = false;
  std::unordered_map<uint64_t, Message> variables_;         // by address: what strong writes to it have released
  std::unordered_map<uint64_t, Message> shared_variables_;  // the same, by CTA and offset
};

}  // namespace sim::order
