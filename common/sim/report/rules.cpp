#include "report/rules.h"

#include <array>
#include <iterator>

namespace sim {
namespace {

constexpr RuleText kRules[] = {
    {"read after write", Grade::Error, "PTX ISA 8.10, causality order",
     "Before a thread reads what another thread has written, it must acquire what that thread released, at a scope "
     "that includes both. The data of asynchronous operations that a phase of an mbarrier or a group counts is "
     "visible to each thread that has waited for that phase or group."},
    {"write after read", Grade::Error, "PTX ISA 8.10, causality order",
     "Before overwriting data, a thread must know that all reads of it have finished. Any successful wait provides "
     "this knowledge, even a relaxed one."},
    {"write after write", Grade::Error, "PTX ISA 8.10, causality order",
     "Two writes to one location must be ordered, or both must be atomic."},
    {"across proxies", Grade::Error, "PTX ISA 9.7.13.4 (fence.proxy.async); fails on an H200 in every launch",
     "TMA and tensor cores access memory through another proxy. If they later read what ordinary stores have written, "
     "the storing thread must execute fence.proxy.async, of the state space of the data, between the stores and the "
     "arrival or barrier that follows them."},
    {"tensor memory", Grade::Error, "PTX ISA 9.7.16.6",
     "Operations on tensor memory are asynchronous. MMA and cp are complete for threads that have waited for their "
     "commit; ld and st are complete for the thread that executed tcgen05.wait. A CTA of a pair may deallocate only "
     "after both CTAs have allocated."},
    {"CTA has begun", Grade::Error, "CUDA guide, distributed shared memory; PTX ISA 9.7.16 (CTA pairs)",
     "A thread may access shared memory of another CTA of its cluster only after that CTA has started. The same holds "
     "for tcgen05.alloc of a CTA pair. A barrier of the cluster ensures it."},
    {"barrier exists", Grade::Error, "PTX ISA 9.7.13.15.9",
     "A thread may use an mbarrier only after its initialisation, which a barrier of the CTA or of the cluster must "
     "order. A thread may invalidate it only after all waits for it have finished."},
    {"barrier lifetime", Grade::Error, "PTX ISA 9.7.13.15.9 and 9.7.13.15.10",
     "A valid mbarrier must be invalidated (mbarrier.inval) before its address is initialised again, and all "
     "operations that report to it must be known to be complete before that."},
    {"phase known", Grade::Error, "PTX ISA 9.7.13.15.4 and 9.7.13.15.16",
     "A thread that arrives in a phase of an mbarrier, or waits for it, must know that the preceding phase is "
     "complete. A wait for that phase ensures this, and so does knowledge of all its arrivals. Otherwise the arrival "
     "may be counted in another phase, and an earlier phase of the same parity may satisfy the wait."},
    {"phase held", Grade::Error, "PTX ISA 9.7.13.15.16",
     "A phase may complete only after every wait for the preceding phase has finished. A wait can test only the "
     "current and the preceding phase; a late wait finds the parity flipped again."},
    {"exit", Grade::Error, "PTX ISA 9.7.16 (CTA pairs), 9.7.9.25; CUDA guide, distributed shared memory",
     "No operation may still use the shared memory or the mbarriers of a CTA when that CTA exits."},
    {"response of try_cancel", Grade::Error, "PTX ISA 9.7.13.17, example",
     "After ordinary loads of the response, each reading thread must execute fence.proxy.async before the arrival or "
     "barrier that lets the next try_cancel overwrite it."},
    {"tensor map", Grade::Error, "PTX ISA 9.7.13.4 (fence.proxy.tensormap)",
     "A tensor map that the kernel has changed may be used only after fence.proxy.tensormap, release and acquire. An "
     "operation reads its map until it completes. The map may be changed after a wait for the phase of the mbarrier "
     "that counts the operation's bytes, or after cp.async.bulk.wait_group.read for its group."},
    {"wgmma registers", Grade::Error, "PTX ISA 9.7.15.7.1 (wgmma.fence), 9.7.15.5 (wgmma.mma_async)",
     "A wgmma may use registers that other instructions have accessed only after wgmma.fence by the same warp. "
     "Registers of A may be overwritten only after wgmma.wait_group."},
    {"register count", Grade::Error, "PTX ISA 9.7.19.5 (setmaxnreg)",
     "All warps of a warpgroup must execute the same setmaxnreg instructions."},
    {"read-only data", Grade::Error, "PTX ISA 9.7.9.8 (ld.global.nc); fails on an H100 in every launch",
     "ld.global.nc (__ldg, const __restrict__) reads through a cache that is not coherent: nothing may write the data "
     "during the launch before it is read."},
    {"launches", Grade::Error, "PTX ISA 9.7.13.13 (griddepcontrol); CUDA guide, programmatic dependent launch",
     "A launch that may overlap its predecessor may access what the predecessor wrote, or overwrite what it reads, "
     "only after griddepcontrol.wait. Launches in different streams must be ordered by events."},
    {"read, then asynchronous write", Grade::Strict, "PTX ISA 8.10 and 9.7.13.4 (proxies)",
     "A proxy fence is also required between ordinary loads and a TMA load that overwrites the same data."},
    {"write, then asynchronous write", Grade::Strict, "PTX ISA 8.10 and 9.7.13.4 (proxies)",
     "A proxy fence is also required between ordinary stores and a TMA load that overwrites the same data. An H100 "
     "never shows the older data."},
    {"MMA, then ordinary write", Grade::Strict, "PTX ISA 9.7.16.6.5",
     "A proxy fence is also required between an MMA that has read shared memory and ordinary stores there: a commit "
     "does not order across proxies."},
    {"visible", Grade::Strict, "PTX ISA 8.10",
     "Release and acquire are also required where it would be enough to know that a read has finished."},
    {"earlier tensor map", Grade::Strict, "CUDA guide, tensor maps in global memory",
     "A tensor map in global memory that a copy or an earlier kernel has written may be used only after "
     "fence.proxy.tensormap::generic.acquire."},
    {"elected lane", Grade::Strict, "PTX ISA 9.7.13.14 (elect.sync)",
     "Which lane elect.sync elects is not specified: it is the same one for the same mask. A commit or a wait concerns "
     "operations of its own thread only. Hardware elects the lowest lane; --check=strict the highest."},
};
static_assert(std::size(kRules) == static_cast<size_t>(Rule::kCount));

}  // namespace

const RuleText& text_of(Rule rule) { return kRules[static_cast<size_t>(rule)]; }

}  // namespace sim
