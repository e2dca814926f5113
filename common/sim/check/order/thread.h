// What the threads of a warp know. Lanes that know the same share it; nearly always that is all of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "check/order/message.h"

namespace sim::order {

/// A warp's own rows: its threads, and the queues whose completion each of its lanes waits for by itself.
enum class Own : uint8_t { Threads, Copies, BulkReads, BulkWrites, TensorLoads, TensorStores, kCount };
inline constexpr size_t kOwn = static_cast<size_t>(Own::kCount);

/// What a thread knows of its own rows.
using Self = std::array<Entry, kOwn>;

/// What a fence lets a later relaxed write release: what its thread knew then, what it had done, and what it had waited
/// for.
struct Fenced {
  Clock now;
  Self self{};
  mutable uint32_t references = 0;
  bool operator==(const Fenced& other) const { return now == other.now && self == other.self; }
};

/// Of some lanes.
struct Knowledge {
  Clock now;     ///< of all others, and of one another
  Clock tensor;  ///< `now` at the last tcgen05.fence::after_thread_sync: what later tcgen05 operations may rely on
  std::array<Ref<const Fenced>, 3> fenced;  ///< by scope; none if no fence of that scope has come
  Message seen;                             ///< by relaxed reads: a fence of this thread acquires it
  Clock flags;                              ///< `now`, if no such fence were needed: for the habit flag-without-fence
  Self self{};  ///< each lane of itself: of its queues, and which of its accesses it has fenced

  bool same(const Knowledge& other) const {
    return now == other.now && tensor == other.tensor && self == other.self && flags == other.flags && seen.empty() &&
           other.seen.empty() && same_fences(other);
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

/// Something that a warp did by which others may learn, or which orders what it did: for reports.
struct SyncEvent {
  enum class Kind : uint8_t { Tells, TellsRelaxed, Fence, ProxyFence, TensorFence, Meets, Exit } kind = Kind::Tells;
  Tick tick = 0;  ///< what was done up to this position is before it
  uint32_t site = 0;
  Mask lanes = 0;
  bool shared = true, global = true;  ///< of a proxy fence: which memory it is about

  bool tells() const { return kind == Kind::Tells || kind == Kind::TellsRelaxed; }
};

class WarpKnowledge {
 public:
  WarpKnowledge(GridPosition place, uint16_t index, uint16_t warps, Mask lanes);

  const GridPosition place;
  const uint16_t index;               ///< in the CTA, and its threads' row
  const uint16_t warps;               ///< of the CTA
  const Mask exists;                  ///< lanes that the warp was started with
  Mask live;                          ///< that have not exited
  Tick tick = 1;                      ///< what its lanes do now is done at this position
  std::array<uint16_t, kOwn> rows{};  ///< of its own queues; 0 for those that it has not used, but for its threads'
  std::array<Tick, kOwn> issued{};    ///< operations in these queues so far
  /// Groups that lanes have committed, in order: up to which position of the queue.
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
  size_t wgmma_forgotten = 0;  ///< groups before those

  struct Group {
    Mask lanes;
    Knowledge knows;
  };
  const std::vector<Group>& groups() const { return groups_; }
  const Knowledge& knowledge(int lane) const;

  /// Calls f(knowledge, lanes) for every group, with those of its lanes that are among `lanes`.
  template <class F>
  void for_groups(Mask lanes, F f) const {
    for (const Group& group : groups_) {
      if (group.lanes & lanes) f(group.knows, group.lanes & lanes);
    }
  }
  /// Calls f(knowledge, lanes) for the groups within `lanes`, made apart from the others first: f may change them.
  template <class F>
  void update(Mask lanes, F f) {
    isolate(lanes);
    for (Group& group : groups_) {
      if (group.lanes & lanes) f(group.knows, group.lanes);
    }
    if (groups_.size() > 1) unite();
  }

  /// One of its lanes has done something that a position names.
  void act() { acted_ = true; }
  /// What is done from now on has a later position.
  void close() {
    if (acted_) ++tick;
    acted_ = false;
  }
  /// The same, by an event. Returns the position of all that has been done so far.
  Tick close(Mask lanes, uint32_t site, SyncEvent::Kind kind, bool shared = true, bool global = true);
  /// All that these lanes know, themselves up to the last close included, in these senses.
  Clock published(Mask lanes, Fields own = kDone) const;
  /// What all lanes know of their own rows, if they know the same of others; none if they do not.
  std::vector<Clock::Update> own_updates() const;
  /// What a relaxed write of these lanes releases, of which `fence` was the last fence.
  Clock released(const Fenced& fence, Mask lanes) const;
  /// The first event by one of these lanes that comes after what was done at `tick`, and of which `is` holds; nullptr if
  /// there is none, or it is forgotten.
  template <class F>
  const SyncEvent* event_after(Tick from, Mask lanes, F is) const {
    const size_t count = events_.size();
    for (size_t i = 0; i < count; ++i) {
      const SyncEvent& event = events_[count < kEvents ? i : (next_event_ + i) % kEvents];
      if (event.tick >= from && event.lanes & lanes && is(event)) return &event;
    }
    return nullptr;
  }
  /// The first time that these lanes told anybody of it.
  const SyncEvent* told_after(Tick from, Mask lanes) const {
    return event_after(from, lanes, [](const SyncEvent& event) { return event.tells(); });
  }

  /// What all of these lanes know becomes known to each of them, in these senses.
  void meet(Mask lanes, Fields fields, uint32_t site);

  /// How far all of these lanes, which share `knows`, know their own row in one sense.
  Tick own_position(const Knowledge& knows, Own own, Mask lanes, Field field) const;

  // ---- convergence
  /// Lanes that took different ways, or may have.
  void part(Mask lanes, uint32_t site);  ///< each of them from each other
  void part(Mask some, Mask others, uint32_t site);
  void converge(Mask lanes);
  bool together(Mask lanes) const;
  /// Where lanes that are not together took different ways last.
  uint32_t parted_at(Mask lanes) const;

 private:
  void isolate(Mask lanes);
  void unite();
  /// `clock`, and what these lanes know of their own rows.
  Clock with_self(const Clock& clock, const Self& self, Mask lanes) const;
  std::vector<Clock::Update> updates_of(const Self& self, Mask lanes) const;
  void rename_ways();

  std::vector<Group> groups_;
  std::array<uint8_t, 32> way_{};      // lanes with the same number are together
  std::array<uint32_t, 32> parted_{};  // at which instruction
  uint8_t ways_ = 0;
  bool acted_ = false;
  static constexpr size_t kEvents = 128;
  std::vector<SyncEvent> events_;  // a ring
  size_t next_event_ = 0;
};

}  // namespace sim::order
