// The checker of clusters that can affect one another: what their threads know, the accesses to each location, what is
// in flight. It is told what happens, in the order in which it happens, and never changes it. One thread uses it.
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

/// Instructions and places in the words of the program. A site is the number of an instruction.
class ProgramNames {
 public:
  virtual ~ProgramNames() = default;
  virtual std::string cta(const CtaKnowledge& cta) const = 0;   ///< "CTA 3 (rank 1 of its cluster)"
  virtual std::string instruction(uint32_t site) const = 0;     ///< "st.shared.v4.b32 (PTX line 77, kernel.cuh:201)"
  virtual std::string line(uint32_t site) const = 0;            ///< "kernel.cuh:201"
  virtual std::string innermost_line(uint32_t site) const = 0;  ///< of a function that is inlined there
  virtual uint32_t first_of_line(uint32_t site) const = 0;      ///< the same for all instructions of a source line
  virtual std::string shared(uint64_t offset) const = 0;        ///< "dynamic shared memory +0x400"
  virtual std::string global(uint64_t address) const = 0;       ///< "cudaMalloc #3 +0x100"
  /// What lies there now; nullptr if that cannot be told. `cta` is null for global memory.
  virtual const uint8_t* bytes(const CtaKnowledge* cta, uint64_t address) const = 0;
};

/// An arrival that a phase has counted. What knows of all of them knows that the phase is complete.
struct Counted {
  uint32_t cta;
  uint16_t row;  ///< of its thread; of a commit its queue
  Mask lanes;
  Tick position;  ///< there; 0: of bytes, which only the phase itself tells of
};

/// An mbarrier: a channel whose positions are its phases, and what travels with each.
struct BarrierChannel {
  uint16_t row = 0;
  Tick completed = 0;                           ///< phases, since the row exists
  Tick first = 0;                               ///< `completed` when it was initialised
  uint32_t init = 0;                            ///< the access
  bool valid = false;                           ///< it has been initialised, and not invalidated
  bool fenced = false;                          ///< fence.mbarrier_init, or a proxy fence, came after
  Message open, last;                           ///< of the running phase, and of the one before it
  std::array<std::vector<Counted>, 3> counted;  ///< by the running phase, the one before it, and the one before that
  struct Waiter {
    uint32_t cta;
    uint16_t warp;
    Mask lanes;
    Tick tick;
    uint32_t site;
    Tick wgmma_issued;  ///< by this warp until then
  };
  std::vector<Waiter> waiters;  ///< successful waits for the phase before the running one
  uint32_t waited_at = 0;       ///< where the last of them all was; 0: no wait yet
  uint64_t waiting_warps = 0;   ///< those that have waited, by their index
  bool has_waited(uint16_t warp) const { return waiting_warps >> (warp % 64) & 1; }
  /// Arrivals in phases without a wait: they must be over before the CTA exits.
  struct Arrival {
    uint32_t cta;
    uint16_t row;
    Mask lanes;
    Tick position;
    uint32_t site;
    Tick phase;
    bool asynchronous;
  };
  std::vector<Arrival> arrivals;
};

struct CtaKnowledge {
  RaceDetector* world = nullptr;
  GridPosition place;               ///< numbers in the grid
  const uint8_t* memory = nullptr;  ///< its shared memory, where values can be looked up
  uint32_t rank = 0;                ///< in the cluster
  std::vector<WarpKnowledge> warps;
  uint16_t rows = 0;                            ///< warps and channels so far
  std::map<uint32_t, BarrierChannel> barriers;  ///< by offset; kept when invalidated, for its row
  Shadow shared, tensor;
  struct Named {
    uint16_t row = 0;
    Tick completed = 0;
    Message open, last;
    std::array<std::vector<Counted>, 2> counted;  ///< by the running generation, and the one before it
    struct Participant {
      uint16_t warp;
      uint32_t site;
      bool waits;
    };
    std::vector<Participant> participants;  ///< the arrivals so far, for reports
  };
  std::array<Named, 16> named;
  std::map<uint32_t, std::pair<uint16_t, Tick>>
      queues;                                ///< of tcgen05, by warp * 64 + lane * 2 + cta_group - 1: row, operations
  std::map<uint64_t, uint32_t> allocations;  ///< of tensor memory, the last by first cell: the access
  Clock end;                                 ///< what its threads knew when they exited
  bool exited = false;
};

/// An actor: lanes of a warp, at an instruction.
struct By {
  CtaKnowledge& cta;
  uint16_t warp;
  Mask lanes;
  uint32_t site;
  WarpKnowledge& threads() const { return cta.warps[warp]; }
};

enum class MemoryKind : uint8_t { Shared, Global, Tensor };

/// An access of lanes, at addresses of their own.
struct WarpAccess {
  MemoryKind space = MemoryKind::Shared;
  CtaKnowledge* target = nullptr;     ///< of shared memory
  const uint64_t* address = nullptr;  ///< by lane: offset in the CTA, or global address
  uint32_t bytes = 0;
  Role role = Role::Load;
  bool reads = false, writes = false;
  bool strong = false;  ///< volatile, relaxed, acquire, release, atomic
  bool is_volatile = false;
  bool read_modify_write = false;
  bool acquires = false, releases = false;
  Scope scope = Scope::Cta;
};

/// What is missing between two accesses.
enum class Lack : uint8_t { Everything, Visibility, ProxyFence, BeforeFence, AfterFence, FlagFence, LateFence };

/// An asynchronous operation in flight, as the checker remembers it. The executor keeps it with its own.
struct OperationRecord final : Mark {
  Signal signal;     ///< what its completion tells
  uint32_t map = 0;  ///< its use of a tensor map
  /// A bulk load: of its source (or 0), then of each destination. A bulk store: of what it writes.
  std::vector<uint32_t> accesses;
};

class RaceDetector {
 public:
  RaceDetector(Findings& findings, const ProgramNames& names, Clock start);
  ~RaceDetector();

  /// The listener from now on; nullptr: none.
  void call(FindingListener* witness) { witness_ = witness; }
  /// A finding, for all listeners.
  template <class Make>
  void tell(const Findings::Key& key, uint32_t cluster, uint64_t bytes, Make make, int lacks = 0, uint64_t times = 1) {
    findings_.add(key, cluster, ++tellings_, bytes, make, lacks, times);
    if (witness_ != nullptr && told_.emplace(cluster, key).second) witness_->on_finding(Findings::graded(make(), key));
  }

  // ---- life
  CtaKnowledge& begin(GridPosition place, uint32_t rank, uint32_t threads);
  void exit(const By& by);
  /// Its last thread has exited: no thread may need its memory, and no operation may be in flight to it.
  void end(CtaKnowledge& cta);

  // ---- order among threads
  void fence(const By& by, Scope scope, bool acquires, bool releases);
  void fence_proxy_async(const By& by, bool shared, bool global);
  void fence_barrier_init(const By& by);
  void fence_before_thread_sync(const By& by);
  void fence_after_thread_sync(const By& by);
  void sync_warp(const By& by);
  /// shfl, vote and the like: these lanes wait for one another, without ordering memory.
  void meet(const By& by);
  /// An .aligned instruction; its lanes must be together.
  void aligned(const By& by);
  void part(const By& by, Mask others) { by.threads().part(by.lanes, others, by.site); }
  /// The outcome of a wait may differ from lane to lane.
  void may_part(const By& by);

  /// A warp arrives at a named barrier; the last arrival completes it, and then each warp that waits passes.
  void barrier_arrive(const By& by, uint32_t id, bool whole_cta);
  void barrier_complete(CtaKnowledge& cta, uint32_t id);
  void barrier_pass(const By& by, uint32_t id);
  void cluster_arrive(const By& by, bool releases);
  void cluster_complete(uint32_t cluster);
  void cluster_pass(const By& by, bool acquires);

  // ---- memory
  void access(const By& by, const WarpAccess& access);
  /// The store that access() was told of last has been executed; `changed`: not all of it was there already.
  void stored(bool changed);
  /// These lanes have written different values to one place with one store.
  void collide(const By& by, const CtaKnowledge* target, uint64_t address, uint32_t bytes);

  // ---- tensor maps in global memory, 128 bytes each
  void release_maps(const By& by);
  void acquire_map(const By& by, uint64_t address);
  /// The bulk operation that this thread starts next, at the same instruction, reads the map until it is complete.
  void use_map(const By& by, uint64_t address);

  // ---- mbarriers
  void barrier_init(const By& by, uint32_t offset);
  void barrier_invalidate(const By& by, uint32_t offset);
  /// What an arrival by these lanes brings to a barrier of `target`; apply it with arrived() when it takes effect.
  Signal signal(const By& by, bool releases, Scope scope);
  void arrived(CtaKnowledge& target, uint32_t offset, const Signal& signal);
  /// The barrier's phase has completed.
  void phase_complete(CtaKnowledge& target, uint32_t offset);
  /// These lanes have seen the last phase complete. Without a scope: relaxed.
  void waited(const By& by, uint32_t offset, std::optional<Scope> scope);

  // ---- copies that lanes wait for themselves: cp.async
  /// Lanes that are not in `reading` fill with zeros.
  void copy_async(const By& by, const uint64_t* to, const uint64_t* from, uint32_t bytes, Mask reading);
  void copy_commit(const By& by);
  void copy_wait(const By& by, uint32_t pending, bool open_too);
  /// An arrival when the lane's earlier copies are done.
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
  /// Its bytes are about to be counted at the barrier of landing `index`.
  void landed(OperationRecord& operation, size_t index, CtaKnowledge& barrier_cta, uint32_t barrier);
  std::unique_ptr<OperationRecord> bulk_store(const By& by, const std::vector<Range>& from,
                                              const std::vector<Range>& to, bool reduces);
  /// The bytes of a bulk store are about to be written to global memory; they have been.
  void writing(OperationRecord& operation);
  void written(OperationRecord& operation, bool changed);
  void bulk_commit(const By& by);
  void bulk_wait(const By& by, uint32_t pending, bool reads_only);

  // ---- wgmma, by warp
  void wgmma(const By& by, const std::vector<Range>& operands);
  /// Its registers have been touched by the instruction `before`, or no fence has come before it, if that is itself.
  void wgmma_unfenced(const By& by, uint32_t before);
  /// These lanes overwrite registers of A of the wgmma at `wgmma`, which has not been waited for.
  void wgmma_overwritten(const By& by, uint32_t wgmma);
  void wgmma_commit(const By& by);
  void wgmma_wait(const By& by, uint32_t pending);

  // ---- tcgen05
  struct TensorRange {
    CtaKnowledge* cta;
    Range range;
  };
  static constexpr auto tensor_range = &sim::tensor_range;
  struct Mma {
    uint32_t group = 1;
    std::vector<TensorRange> operands = {}, sources = {};  ///< in shared memory; read in tensor memory
    std::vector<TensorRange> results = {};                 ///< written to tensor memory
    uint64_t accumulator = 0;  ///< where and of which shape: the same one is written in order
    Role result = Role::MmaResult;
    bool accumulates = true;
  };
  void tensor_operation(const By& by, const Mma& mma);
  /// What a commit tells, when what its thread has issued is complete.
  Signal tensor_commit(const By& by, uint32_t group);
  void tensor_transfer(const By& by, const std::vector<Range>& cells, bool stores);
  void tensor_wait(const By& by, bool stores);
  /// Role::Allocation or Deallocation of the warp's own CTA's columns; of a pair, together with `peer`.
  void tensor_allocate(const By& by, const std::vector<Range>& cells, Role role, const CtaKnowledge* peer = nullptr);

  /// Of the launch that it belongs to: what is known of earlier ones. None: nothing is.
  void belongs_to(class LaunchCheck& launch) { launch_ = &launch; }
  void grid_wait(const By& by);
  /// Calls f(number of the access, access, begin, end, writes) for the last writers and the readers since of all global memory, by address.
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
  bool warpgroup_is_done(uint32_t cta, uint16_t warp, Tick position, const Clock& clock) const;
  Mask unknown(const RecordedAccess& before, Mask lanes, const Context& context, Mask now_lanes, const Clock& clock,
               Field field) const;
  static Mask by_themselves(const RecordedAccess& before, const RecordedAccess& now, Mask lanes, Mask now_lanes,
                            uint64_t begin, uint32_t bytes);
  void found(const Verdict& verdict, uint32_t before, uint32_t now, const Context& context, const Shadow& shadow,
             uint64_t begin, uint32_t bytes);
  int distance(const Verdict& verdict, const RecordedAccess& before, const Context& context) const;
  Finding describe(const Verdict& verdict, const RecordedAccess& before, const RecordedAccess& now,
                   const Context& context, const Shadow& shadow, uint64_t begin, uint32_t bytes) const;
  std::string missing_link(const Verdict& verdict, const RecordedAccess& before, const RecordedAccess& now,
                           const Context& context) const;
  std::string phase_without(const RecordedAccess& load) const;
  std::string link(const RecordedAccess& before, const Context& context) const;
  std::string between(uint32_t from, uint32_t to) const;
  std::string lanes_that_told(const RecordedAccess& before, Mask missing, Field field, const Context& context) const;
  std::string who_knows(const RecordedAccess& before, Mask missing, Field field, const Context& context) const;
  const CtaKnowledge* owner(const Shadow& shadow) const;
  void synchronise(const By& by, const WarpAccess& what);
  Side side(const By& by) const;
  Side side(const RecordedAccess& access) const;
  std::string who(const By& by) const;
  std::string who(const RecordedAccess& access) const;
  // A thread that uses a barrier must know that it exists, and in which phase it is.
  void check_exists(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                    const Context& context, bool asynchronous);
  void check_exists(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                    const Signal& signal);
  void barrier_write(const By& by, uint32_t offset, BarrierChannel& barrier);
  template <class Kind, class Missing>
  void about_init(Kind kind, const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                  const char* what, Missing missing);
  void initialised_twice(const By& by, uint32_t offset, const BarrierChannel& barrier);
  void missing_init(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier);
  void unfenced_init(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier);
  void check_phase_known(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                         const Clock& knows, Tick position, bool waits);
  static bool knows_all(const Clock& knows, const std::vector<Counted>& arrivals, Field field);
  void check_generation_known(const By& by, uint32_t id, const CtaKnowledge::Named& barrier, const Clock& knows);
  std::string participants_of(const By& by, uint32_t id) const;
  void lapped(CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
              const BarrierChannel::Waiter& waiter, Mask missing);
  void note_waiter(const By& by, BarrierChannel& barrier);
  void check_unwaited(const By& by, uint32_t offset, const BarrierChannel& barrier);
  void check_begun(const By& by, const CtaKnowledge& target, const char* does);
  void check_pair_allocated(const By& by, const CtaKnowledge& peer, uint64_t cell, const Context& context);
  std::vector<uint32_t> writers_of_map(uint64_t address);
  bool is_acquired(const By& by, const Knowledge& knows, uint64_t address, uint32_t writer) const;
  void unacquired_map(const By& by, uint64_t address);
  uint32_t take_map(const By& by);
  bool map_is_read(const RecordedAccess& use, const Context& context, Mask now_lanes, const Clock& clock,
                   Field field) const;
  void unfenced_map(const By& by, const RecordedAccess& write, uint64_t address, bool is_released);
  /// Nothing that has been said to a barrier may still be on its way.
  void check_quiet(CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier, const Clock& knows);
  std::string end_of(const CtaKnowledge& target, const BarrierChannel& barrier) const;
  void unfinished(CtaKnowledge& cta, uint32_t access, uint64_t offset, std::vector<bool>& seen);

  void collect();

  uint64_t time() const { return witness_ != nullptr ? witness_->now() : 0; }

  Findings& findings_;
  const ProgramNames& names_;
  FindingListener* witness_ = nullptr;
  std::set<std::pair<uint32_t, Findings::Key>> told_;  // to the witness, by cluster
  uint64_t tellings_ = 0;
  const Clock start_;
  LaunchCheck* launch_ = nullptr;
  std::vector<uint32_t> last_stores_;
  std::vector<uint32_t> members_;  // of a set that is being made
  RecordedAccesses accesses_;
  Sets sets_;
  Shadow global_;
  std::unordered_map<uint32_t, std::unique_ptr<CtaKnowledge>> ctas_;
  struct ClusterBarrier {
    Message open, last;
  };
  std::unordered_map<uint32_t, ClusterBarrier> clusters_;
  /// Two stores to one place, unordered. If they stored the same, hardware cannot tell.
  struct Doubt {
    Findings::Key key;
    uint32_t cluster;
    uint32_t before, now;  // accesses
    const CtaKnowledge* cta;
    std::vector<Range> ranges;
    uint64_t times;              // so often
    std::vector<uint8_t> bytes;  // as they were, range by range
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
  /// By address of a tensor map: the threads that have acquired what these accesses wrote there.
  struct AcquiredMap {
    uint32_t cta;
    uint16_t warp;
    Tick tick;
    std::vector<uint32_t> writers;
  };
  std::unordered_map<uint64_t, std::vector<AcquiredMap>> maps_;
  Clock maps_released_;  ///< what a fence has released to uses as a tensor map
  /// Where the use of a map is over, by its access: in each barrier that counts its operation's bytes, and in the bulk
  /// groups of its thread. Position 0: it is not complete there.
  struct MapRead {
    struct End {
      uint32_t cta;
      uint16_t row;
      Mask lanes;
      Tick position;
    };
    std::vector<End> ends;
    uint32_t in_flight = 1;  ///< so many completions are still to come
    bool loads = false;
  };
  std::unordered_map<uint32_t, MapRead> map_reads_;
  struct UsedMap {
    uint32_t access = 0, cta = 0, site = 0;
    uint16_t warp = 0;
    Mask lanes = 0;
  };
  UsedMap used_map_;  ///< by an operation that is about to begin
  /// Do relaxed writes tell of more than fences have released? Once anything here may depend on that.
  bool flags_are_heard_ = false;
  std::unordered_map<uint64_t, Message> variables_;         // by address: what strong writes there have released
  std::unordered_map<uint64_t, Message> shared_variables_;  // the same, by CTA and offset
};

}  // namespace sim::order
