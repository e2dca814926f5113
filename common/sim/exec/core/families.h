// The families of instructions, by folder; each is implemented in the file of its name.
#pragma once

#include "exec/core/decoder.h"

namespace sim::families {

// arithmetic/
extern const Family integer, video, floating, mixed, half, predicate, convert, move;
// memory/
extern const Family load, store, atomic, matrix, address, cache;
// async/
extern const Family cp_async, bulk_group, bulk_load, bulk_store, tensor_load, tensor_store, st_async, tensormap,
    launch_control;
// sync/
extern const Family barrier, cluster_barrier, mbarrier, fence, dependent_launch, warp;
// control/
extern const Family branch, call, setmaxnreg;
// tensor/
extern const Family mma, wmma, wgmma, tcgen05_alloc, tcgen05_mma, tcgen05_commit, tcgen05_copy, tcgen05_shift,
    tcgen05_transfer;

inline const Family* const kAll[] = {&integer,
                                     &video,
                                     &floating,
                                     &mixed,
                                     &half,
                                     &predicate,
                                     &convert,
                                     &move,
                                     &load,
                                     &store,
                                     &atomic,
                                     &matrix,
                                     &address,
                                     &cache,
                                     &cp_async,
                                     &bulk_group,
                                     &bulk_load,
                                     &bulk_store,
                                     &tensor_load,
                                     &tensor_store,
                                     &st_async,
                                     &tensormap,
                                     &launch_control,
                                     &barrier,
                                     &cluster_barrier,
                                     &mbarrier,
                                     &fence,
                                     &dependent_launch,
                                     &warp,
                                     &branch,
                                     &call,
                                     &setmaxnreg,
                                     &mma,
                                     &wmma,
                                     &wgmma,
                                     &tcgen05_alloc,
                                     &tcgen05_mma,
                                     &tcgen05_commit,
                                     &tcgen05_copy,
                                     &tcgen05_shift,
                                     &tcgen05_transfer};

}  // namespace sim::families
