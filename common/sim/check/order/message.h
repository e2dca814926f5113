// Knowledge that a synchronisation passes on: a phase of a barrier collects arrivals, and each waiting thread acquires
// all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "check/order/access.h"
#include "check/order/clock.h"

namespace sim::order {

/// Knowledge that holds only in part, or that only a habit would give: it is passed on beside a thread's knowledge.
struct Aside {
  Clock shared;      ///< an acquiring fence restricted to shared memory has received it
  Clock own_shared;  ///< a releasing fence has announced it, restricted to the shared memory of its own CTA
  Clock scopes;      ///< an mbarrier has passed it on, but at too small a scope: habit remote-arrival-scope

  explicit operator bool() const { return shared || own_shared || scopes; }
  bool operator==(const Aside&) const = default;
  void add(const Aside& other) {
    if (!other) return;
    shared = shared.join(other.shared), own_shared = own_shared.join(other.own_shared);
    scopes = scopes.join(other.scopes);
  }
};

/// The contribution of one arrival: all that its thread knows to have happened, and what it releases, to a scope.
struct Signal {
  Clock happened;
  Clock released;  ///< empty if it is relaxed and no fence came before
  Clock flags;     ///< see Knowledge::flags
  Aside aside;
  Scope scope = Scope::Cta;
  bool unscoped = false;  ///< asynchronous work: visible to each waiting thread
  GridPosition from;
  uint16_t warp = 0;
  Mask lanes = 0;
  Tick tick = 0;            ///< of the arrival, in its warp
  uint16_t queue = 0;       ///< of a commit: its row,
  Tick queue_position = 0;  ///< and where it stands there
  uint32_t pc = 0;
};

class Message {
 public:
  /// The first few contributors, for reports.
  struct Contributor {
    GridPosition from;
    uint16_t warp;
    Mask lanes;
    uint32_t pc;
    Scope scope;
    bool releases, unscoped;
  };

  void add(const Signal& signal);
  /// An arrival that releases `base` to its CTA and, beyond that, what the thread knows of its own rows. Most often all
  /// arrivals have the same base: then they are joined only once.
  void add(Contributor contributor, const Clock& base, uint16_t warps, const std::vector<Clock::Update>& own);
  /// Adds those parts of another message that reach a read of this scope at this position.
  void add(const Message& other, GridPosition place, Scope scope);
  /// The knowledge of a thread at `place` that knew `before` and acquires this message at `scope`. Without a scope the
  /// acquire is relaxed: all of the message has happened, but only asynchronous work is visible.
  const Clock& acquired_by(const Clock& before, GridPosition place, std::optional<Scope> scope) const;

  const Clock& happened() const {
    gather();
    return happened_;
  }
  const Clock& flags() const { return flags_; }
  const Aside& aside() const { return aside_; }
  /// What arrivals of other CTAs release to a smaller scope than a wait of this scope at `place` needs.
  Clock out_of_scope(GridPosition place, Scope scope) const;
  const std::vector<Contributor>& contributors() const { return contributors_; }
  bool empty() const { return !happened_ && parts_.empty() && gathered_.own.empty() && !aside_; }
  void clear() { *this = Message{}; }
  /// Joins this clock to all parts of the message.
  void add(const Clock& addition);

 private:
  struct Part {
    GridPosition from;
    Scope scope;
    bool unscoped;
    Clock clock;
  };
  void release(GridPosition from, Scope scope, bool unscoped, const Clock& happened, const Clock& released) const;
  void gather() const;

  /// Arrivals with a common base that have not been joined yet.
  struct Gathered {
    GridPosition from;
    Clock base;
    uint16_t warps = 0;
    std::vector<Clock::Update> own;
  };
  mutable Gathered gathered_;
  mutable Clock happened_;
  Clock flags_;
  Aside aside_;
  /// A cache: the threads of a CTA that pass a barrier nearly always had the same knowledge before.
  struct Acquired {
    Clock before, after;
    uint32_t cta = 0;
    std::optional<Scope> scope;
  };
  mutable Acquired acquired_;
  mutable std::vector<Part> parts_;
  std::vector<Contributor> contributors_;
};

}  // namespace sim::order
