// The production kernel for Hopper: D = A * B^T of any shape, in large tiles that clusters of two, four or eight CTAs
// share.
//
//   producer     --smem_full---> consumers   a K block is loaded; or, without bytes, a stage is reserved for D
//   consumers    --smem_empty--> producers   of the whole multicast group: a stage may be loaded again
//   store warps  --smem_empty--> producers   of the whole multicast group: a stage that held D may be loaded again
//   consumer     --D_FIRST, D_REST--> its store warp   a part of D is in shared memory
//   store warp   --D_EMPTY-----> its consumer          TMA has read D
//
// A consumer multiplies a part of the tile's rows, so that a tile may be as large as the registers of two or three
// warpgroups. Every byte of A and B then serves more products; at the power limit fewer bytes mean a higher clock. D
// leaves through the shared memory beside the ring, and through stages of the ring that the producer reserves for it.
// Large clusters share both A and B; smaller fallback clusters run beside them, on SMs that no large one fits. Where
// tiles are few, K is split.
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   arriving                               waiting
//   smem_full[s]    1, plus the K block's bytes;         producer (arrive.expect_tx), TMA;      consumers; for D those
//                   if D uses stages, 1 per CTA of the   for D the producer of every CTA of     that write it
//                   multicast group                      the group, for a K block its own
//   smem_empty[s]   4 per consumer and CTA of the group  a lane of each consumer warp of the    producer
//                                                        group; after D the store warps
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "level08_deep_pipeline/production/sm90/choice.h"
#include "level08_deep_pipeline/production/sm90/consumer.cuh"
#include "level08_deep_pipeline/production/sm90/describe.h"
#include "level08_deep_pipeline/production/sm90/launch.cuh"
#include "level08_deep_pipeline/production/sm90/producer.cuh"
#include "level08_deep_pipeline/production/sm90/store.cuh"

namespace production {

template <class Config>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1) gemm_sm90(const __grid_constant__ Params params) {
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: the role of this warp, and the position of this CTA. [L03] All lanes of a warp have the same role. The
  // broadcast tells the compiler so: loops over tiles and stages need no vector registers.
  const uint32_t warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warpgroup = warp / 4;
  const Cta<Config> cta(params, ptx::smem_address(smem));

  // Step 2: set up the barriers. The launch before may still be running: no matrix is touched here.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&params.maps.a[0]);
    ptx::prefetch_tensormap(&params.maps.b[0]);
    ptx::prefetch_tensormap(&params.maps.d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(cta.smem_full(stage), Config::FULL_ARRIVALS);
      ptx::mbarrier_init(cta.smem_empty(stage), Config::EMPTY_ARRIVALS * Config::MULTICAST_GROUP);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the cluster use the barriers
  }
  __syncwarp();  // the cluster barrier requires converged warps
  if constexpr (Config::CLUSTER_SIZE > 1) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();  // all CTAs of the cluster run, and their barriers exist
  } else {
    __syncthreads();  // the barriers exist before any thread waits on them
  }
  // A product begins when the launch before it has ended: this wait orders that launch's accesses to memory before
  // those below. Then the next launch may start and set itself up: another part of this product, or the next product.
  // Permitting it orders nothing.
  if (!params.secondary) ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();

  // Step 3: the main loop, once per role.
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();  // required of the whole warpgroup, although few threads work
    if (warp == 0 && ptx::elect_sync()) produce<Config>(cta);
    const int consumer = static_cast<int>(warp) - Config::FIRST_STORE_WARP;
    if (!Config::SPLITS_K && consumer >= 0 && consumer < Config::NUM_CONSUMERS) store<Config>(cta, consumer);
  } else {
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    consume<Config>(cta, static_cast<int>(warpgroup) - 1, warp, lane);
  }

  // Step 4: the end. No CTA may exit while another one still loads into it, or arrives at its barriers: the producer's
  // drain has waited for that. A secondary launch ends after its primary, so waiting for the secondary covers both.
  // This wait orders everything that the primary stored before the end of the secondary.
  __syncwarp();  // the wait blocks a whole warp: its elected lane has to be done first
  if (params.secondary) ptx::griddepcontrol_wait();
}

/// The index in TILES of the tile for a problem on this GPU.
inline int choose_tile(const harness::Problem& problem) {
  return choose_tile(problem.m, problem.n, problem.k, count_sms());
}

}  // namespace production
