#include "check/order/rules.h"

#include <array>
#include <iterator>

namespace sim::order {
namespace {

using enum Grounds;

constexpr RuleText kRules[] = {
    {"read after write", Grade::Error, Text, "PTX ISA 8.10, causality order",
     "A thread that reads what another wrote acquires what that thread released, at a scope that holds both. What a "
     "phase of an mbarrier or a group counts itself is visible to a thread that has waited for it."},
    {"write after read", Grade::Error, Text, "PTX ISA 8.10, causality order",
     "A thread that overwrites what another reads knows that the read is over. Any successful wait tells, relaxed ones "
     "too."},
    {"write after write", Grade::Error, Text, "PTX ISA 8.10, causality order",
     "Two writes of one place are ordered, or both are atomic."},
    {"across proxies", Grade::Error, Text, "PTX ISA 9.7.13.4 (fence.proxy.async); fails on an H200 in every launch",
     "A thread that writes with ordinary stores what TMA or a tensor core then reads or overwrites executes "
     "fence.proxy.async between the store and what tells of it."},
    {"tensor memory", Grade::Error, Text, "PTX ISA 9.7.16.6",
     "Operations on tensor memory are asynchronous: MMA and cp are complete for a thread that has waited for a commit, "
     "ld "
     "and st for the thread that executed tcgen05.wait. A CTA of a pair deallocates only after both have allocated."},
    {"CTA has begun", Grade::Error, Text, "CUDA guide, distributed shared memory; PTX ISA 9.7.16 (CTA pairs)",
     "A thread accesses shared memory of another CTA of its cluster only after that CTA has begun. The same holds for "
     "tcgen05.alloc of a pair. A barrier of the cluster says so."},
    {"barrier exists", Grade::Error, Text, "PTX ISA 9.7.13.15.9",
     "A thread uses an mbarrier only after its initialisation: a barrier of the CTA, or of the cluster, says so. A "
     "thread "
     "invalidates it only after all waits for it are over."},
    {"barrier lifetime", Grade::Error, Text, "PTX ISA 9.7.13.15.9 and 9.7.13.15.10",
     "An mbarrier that is valid is invalidated (mbarrier.inval) before its address is initialised again."},
    {"phase known", Grade::Error, Text, "PTX ISA 9.7.13.15.4 and 9.7.13.15.16",
     "A thread that arrives in a phase of an mbarrier, or waits for it, knows that the phase before it is complete. A "
     "wait says so, and so does the knowledge of all its arrivals. Otherwise the arrival may be counted in another "
     "phase, "
     "and an earlier phase of the same parity may satisfy the wait."},
    {"phase held", Grade::Error, Text, "PTX ISA 9.7.13.15.16",
     "A phase completes only after every wait for the phase before it: only the current and the preceding phase can be "
     "asked for, and a late waiter finds the parity flipped again."},
    {"exit", Grade::Error, Text, "PTX ISA 9.7.16 (CTA pairs), 9.7.9.25; CUDA guide, distributed shared memory",
     "Nothing may be on its way to the shared memory or the mbarriers of a CTA that ends."},
    {"response of try_cancel", Grade::Error, Example, "PTX ISA 9.7.13.17, example",
     "After ordinary loads of the response, each reader executes fence.proxy.async before what lets the next "
     "try_cancel overwrite it."},
    {"tensor map", Grade::Error, Text, "PTX ISA 9.7.13.4 (fence.proxy.tensormap)",
     "A tensor map that the kernel has changed is used after fence.proxy.tensormap, release and acquire. An operation "
     "reads "
     "its map until it is complete; the phase of the mbarrier that counts its bytes, or cp.async.bulk.wait_group.read "
     "for "
     "its group, says that the map may be changed."},
    {"wgmma registers", Grade::Error, Text, "PTX ISA 9.7.15.7.1 (wgmma.fence), 9.7.15.5 (wgmma.mma_async)",
     "Registers that other instructions have touched belong to a wgmma only after wgmma.fence by the same warp. "
     "Registers "
     "of A are overwritten only after wgmma.wait_group."},
    {"launches", Grade::Error, Text, "PTX ISA 9.7.13.13 (griddepcontrol); CUDA guide, programmatic dependent launch",
     "A launch that may overlap its predecessor touches what that one wrote, or overwrites what it reads, only after "
     "griddepcontrol.wait. Launches of different streams are ordered by events."},
    {"read, then asynchronous write", Grade::Strict, Text, "PTX ISA 8.10 and 9.7.13.4 (proxies)",
     "A proxy fence also between ordinary loads and the TMA load that overwrites what they read."},
    {"MMA, then ordinary write", Grade::Strict, Text, "PTX ISA 9.7.16.6.5",
     "A proxy fence also between an MMA that has read shared memory and ordinary stores there: a commit is no bridge."},
    {"visible", Grade::Strict, Text, "PTX ISA 8.10",
     "Release and acquire also where it is enough that a read is over."},
    {"earlier tensor map", Grade::Strict, Example, "CUDA guide, tensor maps in global memory",
     "A tensor map in global memory that a copy or an earlier kernel has written is used after "
     "fence.proxy.tensormap::generic.acquire."},
};
static_assert(std::size(kRules) == static_cast<size_t>(Rule::kCount));

}  // namespace

const RuleText& text_of(Rule rule) { return kRules[static_cast<size_t>(rule)]; }

}  // namespace sim::order
