// Groups of asynchronous copies, kept per lane: cp.async (wait_group) and bulk copies (bulk wait_group, .read).
#pragma once

#include <cstdint>

#include "machine/warp.h"

namespace sim {

// cp.async. A copy belongs to the group that is open when it is issued. Groups are numbered from the kernel's start.
uint64_t begin_copy(Warp& warp, int lane);
void finish_copy(Warp& warp, int lane, uint64_t group);
void commit_copies(Warp& warp, int lane);
/// Are at most `pending` of the newest committed groups unfinished, in every lane? With `open`, also the open group.
bool copies_done(const Warp& warp, Mask mask, uint32_t pending, bool open);
void wake_copy_waiters(Warp& warp);
/// Is every copy that this lane has issued so far finished?
bool no_copies_in_flight(const Warp& warp, int lane);

// Bulk copies with .bulk_group completion: a read phase (the source) and a write phase (visibility).
uint64_t begin_bulk(Warp& warp, int lane);
void finish_bulk_read(Warp& warp, int lane, uint64_t group);
void finish_bulk_write(Warp& warp, int lane, uint64_t group);
/// A load's tensor map in global memory belongs to a bulk group of the lane, too, until it has been read.
uint64_t begin_map_read(Warp& warp, int lane);
void finish_map_read(Warp& warp, int lane, uint64_t group);
void commit_bulk(Warp& warp, int lane);
bool bulk_done(const Warp& warp, Mask mask, uint32_t pending, bool read_only);
void wake_bulk_waiters(Warp& warp);
/// Bulk copies of this warp whose source in shared memory is still being read.
uint32_t bulk_reads_in_flight(const Warp& warp);

}  // namespace sim
