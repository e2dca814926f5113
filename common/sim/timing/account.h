// The account of tensor cores: every cycle of every SM's tensor core belongs to one cause.
//
// Warps and loads leave segments of time behind, each linked to what came before it. When an MMA ends a tensor core's
// idle time, the account goes back from that MMA: it asks what the issuing warp did at each moment, and where the warp
// waited, what the event that ended the wait did then.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "timing/memory_model.h"

namespace sim::timing {

enum class Part : uint8_t {
  Useful,
  Wasted,    ///< more than D needs: rows and columns beyond it, halves of MMAs that are not used
  Issue,     ///< operands and accumulator are there
  NotAsked,  ///< the load of the operands was not issued yet, or came late because its warp had other things to do
  Latency,   ///< the load was under way, in no queue, and had waited for a free stage
  Tma,       ///< the load stood in the queue of this resource
  Port,      ///< of the GPC
  L2,
  Link,  ///< into a half of L2
  Dram,
  Registers,  ///< the epilogue read the accumulator, or computed with it
  Shared,     ///< it accessed shared memory
  Conflicts,  ///< because of bank conflicts for longer than it had to
  Stores,     ///< it stored D, or waited for its stores
  Peer,       ///< another CTA of the cluster was late
  Begin,      ///< launch, set-up, first loads of a CTA
  End,        ///< last epilogue of the SM
  Idle,       ///< the SM has no CTA any more
  Unexplained,
  kCount
};
inline constexpr size_t kParts = static_cast<size_t>(Part::kCount);
struct PartName {
  std::string_view key, title;
};
inline constexpr std::array<PartName, kParts> kPartNames{{
    {"useful", "useful"},
    {"wasted", "wasted"},
    {"issue", "issue"},
    {"not_asked", "operands: not asked for"},
    {"latency", "operands: latency"},
    {"tma", "operands: TMA"},
    {"port", "operands: port to L2"},
    {"l2", "operands: L2"},
    {"link", "operands: link between L2's halves"},
    {"dram", "operands: DRAM"},
    {"registers", "accumulator: tensor memory, registers"},
    {"shared", "accumulator: shared memory"},
    {"conflicts", "accumulator: bank conflicts"},
    {"stores", "accumulator: stores"},
    {"peer", "pair and cluster"},
    {"begin", "begin"},
    {"end", "end"},
    {"idle", "idle SM"},
    {"unexplained", "unexplained"},
}};

/// By part: ticks of all tensor cores together.
struct Shares {
  std::array<Tick, kParts> ticks{};
  Tick& operator[](Part part) { return ticks[static_cast<size_t>(part)]; }
  Tick operator[](Part part) const { return ticks[static_cast<size_t>(part)]; }
  Tick total() const;
  /// Of the total; 0 if there is nothing.
  double share(Part part) const;
  /// What was added since then beside work, by part.
  std::vector<std::pair<Part, Tick>> rests_since(const Shares& before) const;
  /// Moves what was multiplied beyond these FLOP from useful to wasted.
  void only_useful(double useful_flops, double all_flops);
};

class Account {
 public:
  /// A moment in a chain of segments: at the end of one, or later.
  struct Tail {
    Tick time = kNever;
    uint32_t segment = 0;
    bool by_warp = false;  ///< a warp arrived; otherwise an asynchronous operation completed
    static constexpr Tick kNever = INT64_MIN;
  };
  /// The last contributions to a phase of a barrier: of its own CTA, and of others.
  struct Causes {
    Tail own, peer;
    void add(const Tail& tail, bool is_peer) {
      Tail& last = is_peer ? peer : own;
      if (tail.time >= last.time) last = tail;
    }
  };
  enum class Doing : uint8_t {
    Runs,
    Reads,         ///< tensor memory
    Shared,        ///< accesses shared memory
    Stores,        ///< or waits for its stores
    OrdinaryLoad,  ///< waits for one
    Waits,         ///< at a barrier
    Load           ///< TMA does, for a warp
  };

  explicit Account(size_t sms) : sms_(sms) {}

  /// The end of the empty chain of a warp on this SM.
  static uint32_t start(size_t sm) { return static_cast<uint32_t>(sm) << kNumberBits; }

  /// A warp has done this; `*last` is the end of its chain. `conflicts`: the part that is due to bank conflicts.
  void note(uint32_t* last, Doing doing, Tick begin, Tick end, Tick conflicts = 0);
  void note_wait(uint32_t* last, Tick begin, Tick end, const Causes& causes);
  /// The way of a load that the warp issues, beside its chain.
  Tail load(uint32_t last, Tick issued, Tick arrives, const Queued& queued);

  /// An MMA whose warp was ready at a time. `work`: of its duration, what it takes at the tensor core's full rate.
  /// `freed_by`: of a CTA's first MMA, the exit that made room for the CTA, if there was one; otherwise null.
  void multiply(size_t sm, uint32_t last, Tick ready, Tick begin, Tick end, Tick work, const Tail* freed_by);
  void leave(size_t sm, Tick time) { sms_[sm].left = std::max(sms_[sm].left, time); }
  /// So far, of all SMs.
  const Shares& shares() const { return shares_; }
  /// Of all SMs until `end`.
  Shares finish(Tick end);

 private:
  static constexpr uint32_t kNumberBits = 20, kNumbers = (1u << kNumberBits) - 1;  ///< of a segment on its SM
  static constexpr uint32_t kSegments = 1u << 12;                                  ///< the latest, that an SM has
  static constexpr int kDeepest = 12;
  struct Segment {
    Tick begin = 0, end = 0;
    uint32_t number = 0, before = 0;  ///< the SM's, and in its lower bits that among the SM's segments; 0: none
    Causes causes;                    ///< of a wait
    Queued queued;                    ///< of a load
    Tick conflicts = 0, runs = 0;     ///< parts of it: bank conflicts, and instructions in between
    Doing doing = Doing::Runs;
  };
  struct Sm {
    std::vector<Segment> segments;  ///< the latest, used cyclically
    uint32_t last = 0;              ///< number of segments so far
    Tick covered = 0, left = 0;     ///< until when its tensor core's time has a cause; when its last CTA has left
  };
  /// Of a warp on the way back: it issues MMAs; its load was waited for; it is an epilogue; it is in another CTA; it
  /// did something before it issued a load that came late.
  enum class Role : uint8_t { Issuer, Loader, Epilogue, Peer, Asker, PeerAsker };

  void add(uint32_t* last, Segment segment);
  Segment* find(uint32_t number);
  /// Books the time from `low` to `high` by what a chain did then.
  void walk(const Tail& tail, Tick low, Tick high, Role role, int depth = 0);
  void book(const Segment& segment, Tick low, Tick high, Role role, int depth);
  void book_wait(const Causes& causes, Tick low, Tick high, Role role, int depth);
  void book_load(const Segment& load, Tick length, Role role, int depth);
  void book(Part part, Tick length) { shares_[part] += length; }

  std::vector<Sm> sms_;
  Shares shares_;
};

}  // namespace sim::timing
