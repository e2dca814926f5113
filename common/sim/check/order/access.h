// A memory access as the shadow remembers it: thread, kind, instruction, and bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check/order/clock.h"
#include "exec/core/traits.h"
#include "machine/watcher.h"

namespace sim::order {

using sim::Range;
using sim::Role;
using sim::Scope;

/// The path to memory.
enum class Proxy : uint8_t { Generic, Async, Tensor };

/// A CTA's position in the grid. It decides whether two threads share a scope.
struct GridPosition {
  uint32_t cta = 0, cluster = 0;
};
/// Whether a release at scope `from` by a thread in `a` reaches an acquire at scope `to` by a thread in `b`.
inline bool reaches(GridPosition a, Scope from, GridPosition b, Scope to) {
  if (a.cta == b.cta) return true;
  const Scope needed = a.cluster == b.cluster ? Scope::Cluster : Scope::Gpu;
  return from >= needed && to >= needed;
}

struct RecordedAccess {
  uint32_t cta = 0;     ///< the CTA that owns `row`
  uint16_t row = 0;     ///< of the threads, or of the channel in which it completes
  Tick position = 0;    ///< in the row; 0: not complete, and its position is not known yet
  Mask lanes = kAll;    ///< of the row
  uint32_t pc = 0;      ///< the instruction
  GridPosition issuer;  ///< of the thread that executed it
  uint16_t warp = 0;    ///< its warp
  Tick issued = 0;      ///< that warp's tick at issue
  uint64_t serial = 0;  ///< in the order of their execution
  uint64_t time = 0;    ///< the listener's time at issue, if there is a listener
  Proxy proxy = Proxy::Generic;
  Role role = Role::Load;
  bool reads = false, writes = false;
  bool atomic = false;  ///< relaxed or stronger: does not race with other such accesses
  bool is_volatile = false;
  bool read_only = false;  ///< ld.global.nc
  bool silent = false;     ///< a store that changed nothing
  bool in_flight = false;  ///< it is not complete yet
  Scope scope = Scope::Cta;
  uint64_t detail = 0;  ///< MMA: accumulator and shape; bulk load: phases complete at its issue; tensor map: its number

  // The bytes of each lane, for an access by lanes: `width` bytes at base + lane * stride, or as listed.
  uint64_t base = 0;
  int64_t stride = 0;
  uint16_t width = 0;  ///< 0: all bytes belong to all lanes
  std::vector<uint64_t> addresses;

  /// The lanes that access any of these bytes.
  Mask lanes_at(uint64_t begin, uint32_t bytes) const;
  /// Bit i is set if the access includes byte begin + i. At most 16 bytes.
  uint32_t bytes_at(uint64_t begin, uint32_t bytes) const;
  uint64_t address_of(int lane) const {
    return addresses.empty() ? base + static_cast<uint64_t>(stride * lane) : addresses[static_cast<size_t>(lane)];
  }
};

/// All accesses to which the shadow still refers, by number. 0 is none.
class RecordedAccesses {
 public:
  RecordedAccesses() : slots_(1), marked_(1) {}
  uint32_t add(RecordedAccess access);
  RecordedAccess& operator[](uint32_t number) { return slots_[number]; }
  const RecordedAccess& operator[](uint32_t number) const { return slots_[number]; }

  size_t count() const { return slots_.size(); }  ///< numbers are below it
  /// Of the accesses so far, as far as they are remembered.
  template <class F>
  bool any(F f) const {
    return std::any_of(slots_.begin() + 1, slots_.end(), f);
  }

  /// When crowded, the accesses that are not marked between begin_marking() and sweep() are removed.
  bool crowded() const { return live_ >= limit_; }
  void begin_marking();
  void mark(uint32_t number) { marked_[number] = true; }
  void sweep();

 private:
  std::vector<RecordedAccess> slots_;
  std::vector<bool> marked_;
  std::vector<uint32_t> free_;
  uint64_t serial_ = 0;
  size_t live_ = 0, limit_ = 1u << 14;
};

}  // namespace sim::order
