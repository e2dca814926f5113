// The production kernel for Blackwell: level 08 with tiles that are taken by cluster launch control (CLC), and with a
// tile of 256 columns, the widest of which tensor memory holds two accumulators.
//
//   producers  --smem_full---> MMA warp   both CTAs' A and B of a K block are loaded
//   MMA warp   --smem_empty--> producers  a stage may be loaded again
//   MMA warp   --tmem_full---> epilogues  an accumulator is complete
//   epilogues  --tmem_empty--> MMA warp   it has been read
//   leader's producer --tile_full--> all roles --tile_empty--> leader's producer   which tile is next
//
// Barriers (in the shared memory of each CTA)
//   name            arrivals per phase                        arriving                                  waiting
//   smem_full[s]    2, plus CTA_GROUP * STAGE_BYTES bytes     both CTAs' producers, at the leader's     MMA warp
//   smem_empty[s]   1                                         the leader's commit, to both CTAs         producer
//   tmem_full[b]    1                                         the leader's commit, to both CTAs         epilogue warps
//   tmem_empty[b]   8                                         each epilogue warp, at the leader's       MMA warp
//   tile_full[t]    1, plus the 16 bytes of an answer         the leader's producer, at both CTAs'      all roles
//   tile_empty[t]   every thread that reads it                each of them, at the leader's             leader's TMA
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"
#include "level08_deep_pipeline/production/sm100/describe.h"
#include "level08_deep_pipeline/production/sm100/epilogue.cuh"
#include "level08_deep_pipeline/production/sm100/launch.cuh"
#include "level08_deep_pipeline/production/sm100/mma.cuh"
#include "level08_deep_pipeline/production/sm100/producer.cuh"

namespace production {

template <class Config>
__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ Params params) {
  using Smem = SmemOf<Config>;
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: the role of this warp, and the position of this CTA.
  const uint32_t warp = threadIdx.x / 32;
  Cta<Config> cta(params, smem);

  // Step 2: set up barriers and tensor memory.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&params.map_a);
    ptx::prefetch_tensormap(&params.map_b);
    ptx::prefetch_tensormap(&params.map_d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(cta.smem_full(stage), Config::CTA_GROUP);  // [L02] both CTAs report to the leader's barrier
      ptx::mbarrier_init(cta.smem_empty(stage), 1);
    }
    for (int buffer = 0; buffer < Config::NUM_ACCUMULATORS; ++buffer) {
      ptx::mbarrier_init(cta.tmem_full(buffer), 1);
      ptx::mbarrier_init(cta.tmem_empty(buffer), Config::TMEM_EMPTY_ARRIVALS);  // [L07] both CTAs' epilogues
    }
    for (int i = 0; Config::CLC && i < Config::NUM_ANSWERS; ++i) {
      ptx::mbarrier_init(cta.base + Smem::TILE_FULL + 8 * i, 1);
      ptx::mbarrier_init(cta.base + Smem::TILE_EMPTY + 8 * i, Config::ANSWER_READERS);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA, the tensor core and the peer use the barriers
  }
  __syncwarp();  // the cluster barrier requires converged warps
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // both CTAs run, as the pair's tcgen05.alloc requires, and their barriers exist
  if (warp == 2) {
    ptx::tcgen05_alloc<Config::CTA_GROUP>(cta.base + Smem::TMEM_ADDRESS, Config::TMEM_COLUMNS);
    ptx::tcgen05_relinquish_alloc_permit<Config::CTA_GROUP>();
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();             // TMEM is allocated in both CTAs, its address visible to every thread
  ptx::tcgen05_fence_after_thread_sync();  // orders tcgen05 operations after the barrier; so do the later fences
  cta.tmem = *reinterpret_cast<const uint32_t*>(smem + Smem::TMEM_ADDRESS);

  // Step 3: the main loop, once per role. [L06] Each role has its own persistent tile loop [L05] and its own position
  // in the rings, which it keeps from tile to tile: a stage or an accumulator, and the parity of its barriers' phase.
  if (warp == 0) {
    if (ptx::elect_sync()) produce<Config>(cta);
  } else if (warp == 1 && cta.is_leader) {
    if (ptx::elect_sync()) multiply<Config>(cta);
  } else if (warp >= Config::FIRST_EPILOGUE_WARP) {
    write_d<Config>(cta, warp);
  }
  __syncwarp();  // the lanes that were not elected wait here: what follows requires converged warps

  // Step 4: the end. No CTA may exit, or free TMEM, while its peer still needs it.
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before the barrier; so did the last fence
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after all threads' loads
  if (warp == 2) ptx::tcgen05_dealloc<Config::CTA_GROUP>(cta.tmem, Config::TMEM_COLUMNS);
}

}  // namespace production
