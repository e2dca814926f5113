// tcgen05.alloc, dealloc, relinquish_alloc_permit.
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/report.h"
#include "exec/tensor/tcgen05/group.h"

namespace sim {
namespace tcgen05 {
namespace {

/// Notifies watchers that columns [first, first + columns) of tensor memory are allocated or deallocated; `group`:
/// cta_group.
void tell_of_columns(Warp& w, uint32_t pc, int first, uint32_t columns, TensorEvent::What what, int group) {
  const Watchers& watchers = cluster_of(w).watchers;
  if (!watchers.want(EventKind::Tensor)) return;
  TensorAccesses accesses{.group = static_cast<uint32_t>(group)};
  for (const Range& range : tensor_range(0, 128, first, static_cast<int>(columns)))
    accesses.results.push_back({w.cta->rank, range});
  watchers.tell(TensorEvent{.what = what,
                            .cluster = cluster_of(w),
                            .warp = &w,
                            .lanes = w.live,
                            .pc = pc,
                            .amount = columns,
                            .accesses = &accesses});
}

/// Writes the address of the warp's new columns, from `first` on, to shared memory.
void grant(Cluster& cluster, Warp& w, uint32_t pc, uint32_t address, int first, uint32_t columns, int group) {
  uint8_t* at = shared_location(cluster, *w.cta, address, 4, 4, true, "tcgen05.alloc");
  std::memcpy(at, &first, 4);
  tell_of_columns(w, pc, first, columns, TensorEvent::What::Allocate, group);
  if (!cluster.watchers.want(EventKind::Access)) return;
  uint64_t addresses[32] = {};
  const int lane = first_lane(w.live);
  addresses[lane] = address;
  cluster.watchers.tell(AccessEvent{.warp = w,
                                    .lanes = 1u << lane,
                                    .is_done = true,
                                    .memory = AccessEvent::Memory::Shared,
                                    .role = Role::Allocation,
                                    .address = addresses,
                                    .bytes = 4,
                                    .pc = pc,
                                    .is_own_instruction = false});
  cluster.watchers.tell(StoreEvent{.cluster = cluster, .warp = &w, .is_done = true, .changed = true});
}

struct AllocOperands {
  Address result;  ///< in shared memory
  int32_t columns;
  int group;
};
Flow alloc(Warp& w, const AllocOperands& o, Mask m) {
  require(w);
  if (!gather_all(w, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  Cta& cta = *w.cta;
  const uint32_t columns = uniform<uint32_t>(w, o.columns, m);
  const uint32_t address = to_shared(o.result.of(w, first_lane(m)), "tcgen05.alloc");
  if (columns < 32 || columns > 512 || !std::has_single_bit(columns)) { throw Fault{faults::alloc_columns, {columns}}; }
  if (cta.tmem.permit_relinquished) throw Fault{faults::alloc_after_relinquish};
  if (o.group == 1) {
    const int first = cta.tmem.allocate(static_cast<int>(columns));
    if (first < 0) return block(w, Wait::TmemAllocation, columns);
    grant(cluster, w, w.split().pc, address, first, columns, 1);
    note_effect(w);
    return Flow::Next;
  }
  Cta& peer = peer_of(cta, "tcgen05.alloc");
  if (!peer.tmem_allocation.waiting) {  // the first of the pair waits for the other
    cta.tmem_allocation = {true, w.index, w.current, columns, address};
    return block(w, Wait::TmemAllocation, columns);
  }
  const Cta::TmemRequest other = peer.tmem_allocation;
  peer.tmem_allocation = {};
  if (other.columns != columns) { throw Fault{faults::alloc_of_pair_differs, {columns, other.columns}}; }
  const int first = cta.tmem.allocate(static_cast<int>(columns)),
            second = peer.tmem.allocate(static_cast<int>(columns));
  if (first < 0 || first != second) {
    throw Fault{faults::alloc_of_pair_finds_none, {columns, cta.tmem.describe(), peer.tmem.describe()}};
  }
  Warp& peers = peer.warps[other.warp];
  grant(cluster, w, w.split().pc, address, first, columns, 2);
  grant(cluster, peers, peers.splits[other.split].pc, other.address, first, columns, 2);
  note_effect(w);
  resume(peer.warps[other.warp], static_cast<uint8_t>(other.split),
         static_cast<uint64_t>(cluster.costs().remote_arrive));
  return Flow::Next;
}

void release(Warp& w, uint32_t address, uint32_t columns) {
  Cta& cta = *w.cta;
  const int first = static_cast<int>(address & 0xFFFF), count = static_cast<int>(columns);
  if (address >> 16 == 0 && cta.tmem.release(first, count)) return;
  const Fault fault{faults::dealloc_of_free, {columns, address, cta.rank, cta.tmem.describe()}};
  if (address >> 16 != 0 || !cta.tmem.was_released(first, count)) throw fault;
  tolerate_violation(*cta.cluster, Habit::RepeatedDealloc, fault, &w, nullptr);
}

struct DeallocOperands {
  int32_t address, columns;
  int group;
};
Flow dealloc(Warp& w, const DeallocOperands& o, Mask m) {
  require(w);
  if (!gather_all(w, &m)) return Flow::Block;
  Cta& cta = *w.cta;
  const uint32_t address = uniform<uint32_t>(w, o.address, m), columns = uniform<uint32_t>(w, o.columns, m);
  if (o.group == 1) {
    tell_of_columns(w, w.split().pc, tmem_column(address), columns, TensorEvent::What::Deallocate, 1);
    release(w, address, columns);
    note_effect(w);
    // An allocation of another warp may be waiting for these columns: it tries again.
    for (Warp& other : cta.warps) {
      for_waiting(other, Wait::TmemAllocation, [&](uint8_t split) { retry(other, split, 0); });
    }
    return Flow::Next;
  }
  Cta& peer = peer_of(cta, "tcgen05.dealloc");
  if (!peer.tmem_deallocation.waiting) {
    cta.tmem_deallocation = {true, w.index, w.current, columns, address};
    return block(w, Wait::TmemDeallocation, columns);
  }
  const Cta::TmemRequest other = peer.tmem_deallocation;
  peer.tmem_deallocation = {};
  Warp& peers = peer.warps[other.warp];
  tell_of_columns(w, w.split().pc, tmem_column(address), columns, TensorEvent::What::Deallocate, 2);
  tell_of_columns(peers, peers.splits[other.split].pc, tmem_column(other.address), other.columns,
                  TensorEvent::What::Deallocate, 2);
  release(w, address, columns);
  release(peers, other.address, other.columns);
  note_effect(w);
  resume(peer.warps[other.warp], static_cast<uint8_t>(other.split),
         static_cast<uint64_t>(cta.cluster->costs().remote_arrive));
  return Flow::Next;
}

Flow relinquish(Warp& w, const NoOperands&, Mask m) {
  require(w);
  if (!gather_all(w, &m)) return Flow::Block;
  w.cta->tmem.permit_relinquished = true;
  return Flow::Next;
}

constexpr Mnemonic kMnemonics[] = {
    {"tcgen05.alloc",
     [](Decoder& d) {
       d.emit<alloc>({.result = d.address(0), .columns = d.source(1, ptx::Type::B32), .group = group_of(d)});
     }},
    {"tcgen05.dealloc",
     [](Decoder& d) {
       d.emit<dealloc>(
           {.address = d.source(0, ptx::Type::B32), .columns = d.source(1, ptx::Type::B32), .group = group_of(d)});
     }},
    {"tcgen05.relinquish_alloc_permit",
     [](Decoder& d) {
       d.ignore({"cta_group::2"});
       d.emit<relinquish>({});
     }},
};
constexpr std::string_view kIgnored[] = {"sync", "aligned", "cta_group::1", "shared::cta", "b32"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_alloc{
    .mnemonics = tcgen05::kMnemonics, .ignored = tcgen05::kIgnored, .manner = {.alone = kNoEffect}};

}  // namespace sim
