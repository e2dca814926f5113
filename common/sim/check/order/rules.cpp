#include "check/order/rules.h"

#include <array>
#include <iterator>

namespace sim::order {
namespace {

using enum Grounds;

constexpr RuleText kRules[] = {
    {"read after write", Grade::Error, Text, "PTX ISA 8.10, causality order",
     "Who reads what another thread wrote acquires what that thread released, at a scope that holds both. What a "
     "phase of an mbarrier or a group counts itself is visible to whoever has waited for it."},
    {"write after read", Grade::Error, Text, "PTX ISA 8.10, causality order",
     "Who overwrites what another reads knows that the read is over. Any successful wait tells, relaxed ones too."},
    {"write after write", Grade::Error, Text, "PTX ISA 8.10, causality order",
     "Two writes of one place are ordered, or both are atomic."},
    {"across proxies", Grade::Error, Text, "PTX ISA 9.7.13.4 (fence.proxy.async); fails on an H200 in every launch",
     "A thread that writes with ordinary stores what TMA or a tensor core then reads or overwrites executes "
     "fence.proxy.async between the store and what tells of it."},
    {"tensor memory", Grade::Error, Text, "PTX ISA 9.7.16.6",
     "Operations on tensor memory are asynchronous: MMA and cp are complete for whoever has waited for a commit, ld "
     "and "
     "st for the thread that executed tcgen05.wait."},
    {"CTA has begun", Grade::Error, Text, "CUDA guide, distributed shared memory",
     "Who accesses shared memory of another CTA of its cluster knows that this CTA has begun: by a barrier of the "
     "cluster."},
    {"barrier exists", Grade::Error, Text, "PTX ISA 9.7.13.15.9",
     "Who uses an mbarrier knows of its initialisation: after a barrier of the CTA; in other CTAs after "
     "fence.mbarrier_init (or a release) and a barrier of the cluster. Who invalidates it knows that all waits for it "
     "are over."},
    {"phase known", Grade::Error, Text, "PTX ISA 9.7.13.15.4 and 9.7.13.15.16",
     "Who arrives in a phase of an mbarrier, or waits for it, knows that the phase before it is complete. Otherwise "
     "the "
     "arrival may be counted in another phase, and the wait be satisfied by an earlier one of the same parity."},
    {"phase held", Grade::Error, Text, "PTX ISA 9.7.13.15.16",
     "A phase completes only after every wait for the phase before it: only the current and the preceding phase can be "
     "asked for, and a late waiter finds the parity flipped again."},
    {"exit", Grade::Error, Text, "PTX ISA 9.7.16 (CTA pairs), 9.7.9.25; CUDA guide, distributed shared memory",
     "Nothing may be on its way to the shared memory or the mbarriers of a CTA that ends."},
    {"response of try_cancel", Grade::Error, Example, "PTX ISA 9.7.13.17, example",
     "After ordinary loads of the response, each reader executes fence.proxy.async before what lets the next "
     "try_cancel overwrite it."},
    {"tensor map", Grade::Error, Text, "PTX ISA 9.7.13.4 (fence.proxy.tensormap)",
     "A tensor map that the kernel has changed is used after fence.proxy.tensormap, release and acquire."},
    {"wgmma registers", Grade::Error, Text, "PTX ISA 9.7.15.7.1 (wgmma.fence)",
     "Registers that other instructions have touched belong to a wgmma only after wgmma.fence by the same warp."},
    {"launches", Grade::Error, Text, "PTX ISA 9.7.13.13 (griddepcontrol); CUDA guide, programmatic dependent launch",
     "A launch that may overlap its predecessor touches what that one wrote, or overwrites what it reads, only after "
     "griddepcontrol.wait. Launches of different streams are ordered by events."},
    {"read, then asynchronous write", Grade::Strict, Text, "PTX ISA 8.10 and 9.7.13.4 (proxies)",
     "A proxy fence also between ordinary loads and the TMA load that overwrites what they read."},
    {"MMA, then ordinary write", Grade::Strict, Text, "PTX ISA 9.7.16.6.5",
     "A proxy fence also between an MMA that has read shared memory and ordinary stores there: a commit is no bridge."},
    {"visible", Grade::Strict, Text, "PTX ISA 8.10",
     "Release and acquire also where it is enough that a read is over."},
};
static_assert(std::size(kRules) == static_cast<size_t>(Rule::kCount));

}  // namespace

const RuleText& text_of(Rule rule) { return kRules[static_cast<size_t>(rule)]; }

}  // namespace sim::order
