// What travels with a synchronisation: arrivals gather in a phase of a barrier, and whoever waits for it learns from all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "check/order/access.h"
#include "check/order/clock.h"

namespace sim::order {

/// What one arrival brings: all that its thread knows to have happened; and what it releases, to a scope.
struct Signal {
  Clock happened;
  Clock released;  ///< empty if it is relaxed and no fence came before
  Clock flags;     ///< see Knowledge::flags
  Scope scope = Scope::Cta;
  bool unscoped = false;  ///< of asynchronous work: visible to whoever waits
  Place from;
  uint16_t warp = 0;
  Mask lanes = 0;
  Tick tick = 0;  ///< of the warp, before the arrival
  uint32_t site = 0;
};

class Message {
 public:
  /// Who has contributed, for reports; the first few.
  struct Contributor {
    Place from;
    uint16_t warp;
    Mask lanes;
    uint32_t site;
    Scope scope;
    bool releases, unscoped;
  };

  void add(const Signal& signal);
  /// What of another message reaches a read of this scope at this place.
  void add(const Message& other, Place place, Scope scope);
  /// What a thread at `place` knows that knew `before` and acquires this at `scope`; without a scope it is relaxed: all of
  /// this has happened, and visible is only what asynchronous work has brought.
  Clock acquired_by(const Clock& before, Place place, std::optional<Scope> scope) const;

  const Clock& happened() const { return happened_; }
  const Clock& flags() const { return flags_; }
  const std::vector<Contributor>& contributors() const { return contributors_; }
  bool empty() const { return !happened_ && parts_.empty(); }
  void clear() { *this = Message{}; }
  /// Adds this to all that it holds.
  void add(const Clock& addition);

 private:
  struct Part {
    Place from;
    Scope scope;
    bool unscoped;
    Clock clock;
  };
  Clock happened_, flags_;
  std::vector<Part> parts_;
  std::vector<Contributor> contributors_;
};

}  // namespace sim::order
