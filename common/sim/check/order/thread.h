// The knowledge of the threads of a warp. Lanes with the same knowledge share it; nearly always all lanes do.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "check/order/message.h"

namespace sim::order {

/// A warp's own rows: its threads, and the queues for whose completion each lane waits by itself.
enum class Own : uint8_t { Threads, Copies, BulkReads, BulkWrites, TensorLoads, TensorStores, kCount };
inline constexpr size_t kOwn = static_cast<size_t>(Own::kCount);

/// What a thread knows of its own rows.
using Self = std::array<Entry, kOwn>;

/// What a later relaxed write may release because of a fence: the knowledge of its thread at the fence, what the thread
/// had done, and what it had waited for.
struct Fenced {
  Clock now;
  Self self{};
  bool restricted = false;  ///< to the shared memory of its CTA
  mutable uint32_t references = 0;
  bool operator==(const Fenced& other) const {
    return now == other.now && self == other.self && restricted == other.restricted;
  }
};

/// The knowledge of some lanes.
struct Knowledge {
  Clock now;     ///< of other warps, and of one another
  Clock tensor;  ///< `now` at the last tcgen05.fence::after_thread_sync, on which later tcgen05 operations may rely
  std::array<Ref<const Fenced>, 3> fenced;  ///< by scope; null before the first fence of that scope
  Message seen;                             ///< received by relaxed reads: a fence of this thread acquires it
  Clock flags;  ///< `now` without the need for such a fence: for the habit flag-without-fence
  Aside aside;
  Self self{};  ///< each lane's knowledge of its own queues, and of its accesses that it has fenced

  bool same(const Knowledge& other) const {
    return now == other.now && tensor == other.tensor && self == other.self && flags == other.flags &&
           aside == other.aside && seen.empty() && other.seen.empty() && same_fences(other);
  }

 private:
  bool same_fences(const Knowledge& other) const {
    for (size_t i = 0; i < fenced.size(); ++i) {
      const Ref<const Fenced>&a = fenced[i], &b = other.fenced[i];
      if (!(a == b) && !(a && b && *a == *b)) return false;
    }
    return true;
  }
};

/// A synchronisation by a warp, which signals other threads or orders the warp's own accesses. For reports only.
struct SyncEvent {
  enum class Kind : uint8_t { Tells, TellsRelaxed, Fence, ProxyFence, TensorFence, Meets, Exit } kind = Kind::Tells;
  Tick tick = 0;  ///< accesses up to this position come before the event
  uint32_t pc = 0;
  Mask lanes = 0;
  bool shared = true, global = true;  ///< proxy fence: the memory that it orders

  bool tells() const { return kind == Kind::Tells || kind == Kind::TellsRelaxed; }
};

class WarpKnowledge {
 public:
  WarpKnowledge(GridPosition place, uint16_t index, uint16_t warps, Mask lanes);

  const GridPosition place;
  const uint16_t index;               ///< in the CTA, and its threads' row
  const uint16_t warps;               ///< number of warps in the CTA
  const Mask exists;                  ///< lanes that the warp was started with
  Mask live;                          ///< that have not exited
  Tick tick = 1;                      ///< the position of what its lanes do now
  std::array<uint16_t, kOwn> rows{};  ///< of its own queues; 0 for unused ones, except the threads' row
  std::array<Tick, kOwn> issued{};    ///< number of operations in these queues so far
  /// The last instruction that waited for each; for Own::Threads, of wgmma.
  std::array<uint32_t, kOwn> waited_at{};
  /// A group that lanes have committed: it extends up to this position of the queue. In order of the commits.
  struct Commit {
    Tick position;
    Mask lanes;
  };
  std::vector<Commit> copies, bulk;
  /// wgmma completes for the warp as a whole.
  uint16_t wgmma_row = 0;
  Tick wgmma_issued = 0;
  struct WgmmaGroup {
    Tick position;
    Tick tick;  ///< of its threads, when it was committed
  };
  std::vector<WgmmaGroup> wgmma_groups;
  size_t wgmma_forgotten = 0;          ///< number of groups before those in `wgmma_groups`
  std::array<Tick, 64> wgmma_ticks{};  ///< of the last wgmmas: the tick of their issue, by position % 64
  /// The lane that elect.sync elected last; and lanes with operations that no commit, or no wait, of theirs includes:
  /// tcgen05 of groups 1 and 2, bulk stores, and groups of these.
  Mask elected = 0;
  struct Open {
    Mask lanes = 0;
    uint32_t pc = 0;  ///< of the last one
  };
  std::array<Open, 4> open;
  /// setmaxnreg: the instructions and their operands.
  std::vector<std::pair<uint32_t, uint32_t>> registers;

  struct Group {
    Mask lanes;
    Knowledge knows;
  };
  const std::vector<Group>& groups() const { return groups_; }
  const Knowledge& knowledge(int lane) const;

  /// Calls f(knowledge, lanes) for every group that contains some of `lanes`, with these lanes.
  template <class F>
  void for_groups(Mask lanes, F f) const {
    for (const Group& group : groups_) {
      if (group.lanes & lanes) f(group.knows, group.lanes & lanes);
    }
  }
  /// Splits groups at the border of `lanes`, then calls f(knowledge, lanes) for those inside; f may change the
  /// knowledge.
  template <class F>
  void update(Mask lanes, F f) {
    isolate(lanes);
    for (Group& group : groups_) {
      if (group.lanes & lanes) f(group.knows, group.lanes);
    }
    if (groups_.size() > 1) unite();
  }

  /// One of its lanes has done something to which the current position refers.
  void act() { acted_ = true; }
  /// Actions from now on have a later position.
  void close() {
    if (acted_) ++tick;
    acted_ = false;
  }
  /// The same, and adds an event. Returns the position of all actions so far.
  Tick close(Mask lanes, uint32_t pc, SyncEvent::Kind kind, bool shared = true, bool global = true);
  /// All that these lanes know, including their own actions up to the last close() in the senses `own`.
  Clock published(Mask lanes, Fields own = kDone) const;
  /// What all lanes know of their own rows; empty unless all lanes have the same knowledge of other warps.
  std::vector<Clock::Update> own_updates() const;
  /// What a relaxed write of these lanes releases if `fence` was their last fence.
  Clock released(const Fenced& fence, Mask lanes) const;
  /// The first event by one of these lanes after the actions at `from` for which `is` holds; nullptr if there is none
  /// or it is no longer remembered.
  template <class F>
  const SyncEvent* event_after(Tick from, Mask lanes, F is) const {
    const size_t count = events_.size();
    for (size_t i = 0; i < count; ++i) {
      const SyncEvent& event = events_[count < kEvents ? i : (next_event_ + i) % kEvents];
      if (event.tick >= from && event.lanes & lanes && is(event)) return &event;
    }
    return nullptr;
  }
  /// The first signal by one of these lanes after the actions at `from`.
  const SyncEvent* told_after(Tick from, Mask lanes) const {
    return event_after(from, lanes, [](const SyncEvent& event) { return event.tells(); });
  }

  /// Each of these lanes acquires what any of them knows, in these senses.
  void meet(Mask lanes, Fields fields, uint32_t pc);

  /// The position up to which all of these lanes, which share `knows`, know their own row in one sense.
  Tick own_position(const Knowledge& knows, Own own, Mask lanes, Field field) const;

  // ---- convergence
  /// These lanes have taken, or may have taken, different paths.
  void part(Mask lanes, uint32_t pc);  ///< each lane a path of its own
  void part(Mask some, Mask others, uint32_t pc);
  void converge(Mask lanes);
  bool together(Mask lanes) const;
  /// The instruction at which lanes that are not together last took different paths.
  uint32_t parted_at(Mask lanes) const;

 private:
  void isolate(Mask lanes);
  void unite();
  /// `clock` joined with what these lanes know of their own rows.
  Clock with_self(const Clock& clock, const Self& self, Mask lanes) const;
  std::vector<Clock::Update> updates_of(const Self& self, Mask lanes) const;
  void rename_ways();

  std::vector<Group> groups_;
  std::array<uint8_t, 32> way_{};      // lanes with the same number are converged
  std::array<uint32_t, 32> parted_{};  // at which instruction
  uint8_t ways_ = 0;
  bool acted_ = false;
  static constexpr size_t kEvents = 128;
  std::vector<SyncEvent> events_;  // a ring
  size_t next_event_ = 0;
};

}  // namespace sim::order
