// Barriers of whole CTAs and clusters, and the fences between memory proxies. Barriers in shared memory: mbarrier.cuh.
#pragma once

#include <cstdint>

namespace ptx {

/// `bar.sync id, threads;`
/// Waits until `threads` threads (a multiple of 32) have arrived at barrier `id` (0..15; 0 is __syncthreads).
/// Executed by: whole warps. Orders: earlier ordinary memory accesses of all participants before later ones.
/// ISA 9.7.13.1 (bar.sync), PTX 1.0.
__device__ __forceinline__ void bar_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// `bar.arrive id, threads;`
/// Counts this warp in at barrier `id` without waiting: `threads` counts those that arrive and those that wait
/// together. Executed by: whole warps. Orders: earlier ordinary memory accesses of this warp before later ones of those
/// that bar_sync() there.
/// ISA 9.7.13.1 (bar.arrive), PTX 2.0.
__device__ __forceinline__ void bar_arrive(uint32_t id, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// `barrier.cluster.arrive.release.aligned;`
/// Counts this thread in at the one barrier that the cluster has. Does not wait.
/// Executed by: every thread of every CTA that has not exited, warps converged.
/// Orders: (release) this thread's earlier ordinary accesses before the wait of the others. Asynchronous copies and
/// MMAs are not covered. ISA 9.7.13.3 (barrier.cluster), PTX 7.8, sm_90.
__device__ __forceinline__ void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// `barrier.cluster.wait.acquire.aligned;`
/// Waits until every thread of the cluster has arrived in this phase.
/// Executed by: as the arrive, once after each. Orders: (acquire) the others' accesses before their arrive are visible.
/// ISA 9.7.13.3 (barrier.cluster), PTX 7.8, sm_90.
__device__ __forceinline__ void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// `fence.mbarrier_init.release.cluster;`
/// Executed by: the thread that initialised mbarriers, before the barrier that lets others use them.
/// Orders: its mbarrier.init before any use of the barriers in the cluster, by threads, TMA or tensor core.
/// ISA 9.7.13.4 (fence), PTX 8.0, sm_90.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// `fence.proxy.async.shared::cta;`
/// Executed by: each thread that wrote shared memory with ordinary stores which TMA or the tensor core will read;
/// before the barrier that hands the data over. Orders: this thread's ordinary (generic proxy) accesses of shared
/// memory before asynchronous (async proxy) ones, and the other way round. No rendezvous.
/// ISA 9.7.13.4 (fence.proxy), PTX 8.0, sm_90.
__device__ __forceinline__ void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// `griddepcontrol.launch_dependents;`
/// Lets a launch that has the attribute programmatic stream serialization start before this one ends, as soon as every
/// CTA of this one has said so or has exited. Nothing happens if no such launch follows.
/// Executed by: any thread; the first of its CTA counts. Orders: nothing.
/// ISA 9.7.13.13 (griddepcontrol), PTX 7.8, sm_90.
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// `griddepcontrol.wait;`
/// Waits until the launches that this one was allowed to overtake have ended. Does not wait if there are none.
/// Executed by: any thread. Orders: all of their memory accesses before what follows here.
/// ISA 9.7.13.13 (griddepcontrol), PTX 7.8, sm_90.
__device__ __forceinline__ void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace ptx
