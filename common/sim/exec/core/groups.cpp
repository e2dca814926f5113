#include "exec/core/groups.h"

#include "machine/cluster.h"
#include "machine/wake.h"

namespace sim {
namespace {

CopyGroups& groups_of(std::unique_ptr<CopyGroups>& owner) {
  if (!owner) {
    owner = std::make_unique<CopyGroups>();
    owner->groups.emplace_back();  // the open group
  }
  return *owner;
}

CopyGroups::Group& group(CopyGroups& groups, uint64_t number) { return groups.groups[number - groups.first]; }

void commit(CopyGroups& groups) {
  groups.groups.emplace_back();
  // Remove finished groups at the front, but never the open one.
  size_t done = 0;
  const auto is_done = [](const CopyGroups::Group& each) {
    return each.reads == 0 && each.writes == 0 && each.maps == 0;
  };
  while (done + 1 < groups.groups.size() && is_done(groups.groups[done])) ++done;
  groups.groups.erase(groups.groups.begin(), groups.groups.begin() + static_cast<ptrdiff_t>(done));
  groups.first += done;
}

bool done(const CopyGroups* groups, uint32_t pending, bool read_only, bool open) {
  if (groups == nullptr) return true;
  const size_t committed = groups->groups.size() - 1;
  const size_t must = committed > pending ? committed - pending : 0;
  for (size_t i = 0; i < must; ++i) {
    const CopyGroups::Group& each = groups->groups[i];
    if (each.reads > 0 || each.maps > 0 || (!read_only && each.writes > 0)) return false;
  }
  return !open || groups->groups.back().writes == 0;
}

void wake_if(Warp& warp, Wait kind, bool (*ready)(const Warp&, const Split&)) {
  for_waiting(warp, kind, [&](uint8_t split) {
    const Split& waiting = warp.splits[split];
    if (!ready(warp, waiting)) return;
    warp.cta->cluster->watchers.tell(WaitEvent{
        WaitEvent::What::Wakes, kind, warp, waiting.mask, waiting.pc, {}, waiting.arguments[0], waiting.arguments[1]});
    resume(warp, split, 0);
  });
}

}  // namespace

uint64_t begin_copy(Warp& warp, int lane) {
  CopyGroups& groups = groups_of(warp.copies[static_cast<size_t>(lane)]);
  ++groups.groups.back().writes;
  return groups.first + groups.groups.size() - 1;
}
void finish_copy(Warp& warp, int lane, uint64_t number) {
  --group(*warp.copies[static_cast<size_t>(lane)], number).writes;
}
void commit_copies(Warp& warp, int lane) { commit(groups_of(warp.copies[static_cast<size_t>(lane)])); }
bool copies_done(const Warp& warp, Mask mask, uint32_t pending, bool open) {
  for (Mask rest = mask; rest; rest &= rest - 1) {
    if (!done(warp.copies[static_cast<size_t>(std::countr_zero(rest))].get(), pending, false, open)) return false;
  }
  return true;
}
bool no_copies_in_flight(const Warp& warp, int lane) {
  const CopyGroups* groups = warp.copies[static_cast<size_t>(lane)].get();
  if (groups == nullptr) return true;
  for (const CopyGroups::Group& each : groups->groups) {
    if (each.writes > 0) return false;
  }
  return true;
}
void wake_copy_waiters(Warp& warp) {
  wake_if(warp, Wait::CopyGroup, [](const Warp& w, const Split& split) {
    return copies_done(w, split.mask, split.arguments[0], split.arguments[1] != 0);
  });
}

uint64_t begin_bulk(Warp& warp, int lane) {
  CopyGroups& groups = groups_of(warp.bulk[static_cast<size_t>(lane)]);
  ++groups.groups.back().reads;
  ++groups.groups.back().writes;
  return groups.first + groups.groups.size() - 1;
}
void finish_bulk_read(Warp& warp, int lane, uint64_t number) {
  --group(*warp.bulk[static_cast<size_t>(lane)], number).reads;
}
void finish_bulk_write(Warp& warp, int lane, uint64_t number) {
  --group(*warp.bulk[static_cast<size_t>(lane)], number).writes;
}
uint64_t begin_map_read(Warp& warp, int lane) {
  CopyGroups& groups = groups_of(warp.bulk[static_cast<size_t>(lane)]);
  ++groups.groups.back().maps;
  return groups.first + groups.groups.size() - 1;
}
void finish_map_read(Warp& warp, int lane, uint64_t number) {
  --group(*warp.bulk[static_cast<size_t>(lane)], number).maps;
}
void commit_bulk(Warp& warp, int lane) { commit(groups_of(warp.bulk[static_cast<size_t>(lane)])); }
bool bulk_done(const Warp& warp, Mask mask, uint32_t pending, bool read_only) {
  for (Mask rest = mask; rest; rest &= rest - 1) {
    if (!done(warp.bulk[static_cast<size_t>(std::countr_zero(rest))].get(), pending, read_only, false)) return false;
  }
  return true;
}
void wake_bulk_waiters(Warp& warp) {
  wake_if(warp, Wait::BulkGroup, [](const Warp& w, const Split& split) {
    return bulk_done(w, split.mask, split.arguments[0], split.arguments[1] != 0);
  });
}
uint32_t bulk_reads_in_flight(const Warp& warp) {
  uint32_t total = 0;
  for (const auto& groups : warp.bulk) {
    if (!groups) continue;
    for (const CopyGroups::Group& each : groups->groups) total += each.reads;
  }
  return total;
}

}  // namespace sim
