// What the executor tells the order checker: the same events in the machine's terms. Every cluster has an observer while
// somebody checks, and none otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "check/fragments.h"
#include "check/order/world.h"
#include "machine/cluster.h"
#include "ptx/module.h"

namespace sim {

/// What an instruction's modifiers say about order. Read once per kernel.
struct Ordering {
  order::Scope scope = order::Scope::Cta;
  bool strong = false;  ///< volatile, relaxed, or more
  bool is_volatile = false;
  bool acquires = false, releases = false;
  enum class Fence : uint8_t {
    None,
    Threads,
    ProxyAsync,
    BarrierInit,
    BeforeThreadSync,
    AfterThreadSync,
    TensorMap,
    Grid
  };
  Fence fence = Fence::None;
  bool shared = false, global = false;  ///< of a proxy fence
};
class Orderings {
 public:
  /// Of no program: none.
  explicit Orderings(const Program* program);
  const Ordering& operator[](uint32_t pc) const { return orderings_[pc]; }
  const Fragments& fragments() const { return fragments_; }
  /// Is the branch no more than a predicate of one instruction? In machine code it is one, and lanes stay together.
  bool is_predicate(uint32_t branch, uint32_t target) const;

 private:
  const Program* program_;
  std::vector<Ordering> orderings_;
  Fragments fragments_;
};

/// A bulk operation in flight, for whoever completes it.
using Watched = std::shared_ptr<order::Operation>;

class Observer {
 public:
  Observer(order::World& world, const Orderings& orderings)
      : world_(world), orderings_(orderings), registers_(orderings.fragments()) {}

  /// Who is told of findings while this cluster acts; nullptr: nobody.
  void call(order::Witness* witness) { world_.call(witness); }

  /// Before each instruction.
  void executes(Warp& warp, uint32_t pc) {
    if (orderings_.fragments().touch(pc)) registers_.executed(warp, pc);
  }

  void began(Cta& cta);

  // Lanes of a warp.
  /// At a branch to `target`.
  void parted(Warp& warp, Mask some, Mask others, uint32_t target);
  void aligned(Warp& warp, Mask lanes);
  void met(Warp& warp, Mask lanes);
  void synced(Warp& warp, Mask lanes);
  void fence(Warp& warp, Mask lanes);
  void exited(Warp& warp, Mask lanes);
  void ended(Cta& cta);

  // Barriers of CTAs and clusters.
  void arrived(Warp& warp, Mask lanes, uint32_t barrier, bool whole_cta, uint32_t pc);
  void completed(Cta& cta, uint32_t barrier);
  void passed(Warp& warp, Mask lanes, uint32_t barrier, uint32_t pc);
  void cluster_arrived(Warp& warp, Mask lanes);
  void cluster_completed(Cluster& cluster);
  void cluster_passed(Warp& warp, Mask lanes, uint32_t pc);

  // mbarriers.
  void initialised(Warp& warp, int lane, uint32_t offset);
  void invalidated(Warp& warp, int lane, uint32_t offset);
  /// What an arrival of this lane brings. It is delivered with the effect.
  order::Signal signal(Warp& warp, int lane);
  void delivered(Cta& target, uint32_t offset, const order::Signal& signal);
  void phase_completed(Cta& target, uint32_t offset);
  /// These lanes have asked, at `pc`; those in `seen` have found the phase complete.
  void asked(Warp& warp, Mask lanes);
  void waited(Warp& warp, Mask seen, uint32_t offset, uint32_t pc);

  // Memory. Addresses by lane: offsets in shared memory of `target`, or global ones if it is null.
  void accessed(Warp& warp, Mask lanes, Cta* target, const uint64_t* address, uint32_t bytes, order::Role role);
  void accessed(Warp& warp, Mask lanes, Cta* target, const uint64_t* address, uint32_t bytes, order::Role role,
                uint32_t pc);
  void stored(bool changed) { world_.stored(changed); }
  /// These lanes have stored to global or shared memory, at `host` by lane, `bytes` bytes each: one after the other in
  /// `values`.
  void lanes_stored(Warp& warp, Mask lanes, uint8_t* const* host, const uint8_t* values, uint32_t bytes);
  /// A tensor map that may have been changed by the kernel: fence.proxy.tensormap::generic.acquire; its use by TMA.
  void map_acquired(Warp& warp, int lane, uint64_t address) { world_.acquire_map(by(warp, 1u << lane), address); }
  void map_used(Warp& warp, int lane, uint64_t address) { world_.use_map(by(warp, 1u << lane), address); }

  // cp.async.
  void copied(Warp& warp, Mask lanes, const uint64_t* to, const uint64_t* from, uint32_t bytes, Mask reading);
  void copies_committed(Warp& warp, Mask lanes);
  void copies_waited(Warp& warp, Mask lanes, uint32_t pending, bool open_too, uint32_t pc);
  order::Signal copies_signal(Warp& warp, int lane);

  // Bulk copies.
  struct Landing {
    Cta* cta;
    std::vector<order::Range> ranges;
    Cta* barrier_cta;
    uint32_t barrier;
  };
  Watched loads(Warp& warp, int lane, order::Role role, std::span<const Landing> landings, const Cta* from_cta,
                const std::vector<order::Range>& from, bool reduces = false);
  void landed(order::Operation& operation, size_t landing, Cta& barrier_cta, uint32_t barrier);
  Watched stores(Warp& warp, int lane, const std::vector<order::Range>& from, const std::vector<order::Range>& to,
                 bool reduces);
  void writing(order::Operation& operation) { world_.writing(operation); }
  void written(order::Operation& operation, bool changed) { world_.written(operation, changed); }
  void bulk_committed(Warp& warp, Mask lanes);
  void bulk_waited(Warp& warp, Mask lanes, uint32_t pending, bool reads_only, uint32_t pc);

  // Tensor cores.
  void wgmma_fenced(Warp& warp) { registers_.fenced(warp); }
  void wgmma(Warp& warp, const std::vector<order::Range>& operands);
  void wgmma_committed(Warp& warp);
  void wgmma_waited(Warp& warp, uint32_t pending, uint32_t pc);
  void tensor_operation(Warp& warp, int lane, const order::World::Mma& mma);
  order::Signal tensor_commit(Warp& warp, int lane, uint32_t group);
  void tensor_transfer(Warp& warp, Mask lanes, const std::vector<order::Range>& cells, bool stores);
  void tensor_waited(Warp& warp, Mask lanes, bool stores, uint32_t pc);
  void tensor_allocated(Warp& warp, Mask lanes, const std::vector<order::Range>& cells, uint32_t pc, order::Role role);

  static order::Cta& checked(const Cta& cta) { return *cta.order; }

 private:
  order::By by(Warp& warp, Mask lanes, uint32_t pc) const;
  order::By by(Warp& warp, Mask lanes) const { return by(warp, lanes, warp.split().pc); }

  order::World& world_;
  const Orderings& orderings_;
  FragmentWatch registers_;
};

inline Observer* observer_of(const Warp& warp) { return warp.cta->cluster->observer; }

}  // namespace sim
