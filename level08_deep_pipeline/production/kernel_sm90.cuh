// The production kernel for Hopper: D = A * B^T of any shape, in large tiles that clusters of two, four or eight CTAs
// share.
//
//   producer     --smem_full---> consumers   a K block is loaded; or, without bytes, a stage is handed to D
//   consumers    --smem_empty--> producers   of the whole multicast group: a stage may be loaded again
//   store warps  --smem_empty--> producers   the same of a stage that held D
//   consumer     --D_FIRST, D_REST--> its store warp   a part of D is in shared memory
//   store warp   --D_EMPTY-----> its consumer          TMA has read it
//
// A consumer multiplies a part of the tile's rows, so that a tile may be as large as the registers of two or three
// warpgroups. Every byte of A and B serves more products then, and at the power limit bytes are time. D leaves through
// what shared memory is left beside the ring, and through stages of the ring, which the producer hands to it like a K
// block. Large clusters share both A and B; smaller fallback clusters run beside them on SMs that no large one fits.
// Where tiles are few, K is split.
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

  // Step 1: the role of this warp, and the place of this CTA. [L03] Roles are the same in all lanes of a warp. A
  // broadcast makes that visible to the compiler: their loops need no vector registers.
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
  // A product begins when the launch before it has ended: orders all that that one did to memory before what follows.
  // Then the next launch may start: another part of this product, or the next one, which sets itself up meanwhile. That
  // orders nothing.
  if (!params.secondary) ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();

  // Step 3: the main loop, once per role.
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();  // a whole warpgroup must, although few threads work
    if (warp == 0 && ptx::elect_sync()) produce<Config>(cta);
    const int consumer = static_cast<int>(warp) - Config::FIRST_STORE_WARP;
    if (!Config::SPLITS_K && consumer >= 0 && consumer < Config::NUM_CONSUMERS) store<Config>(cta, consumer);
  } else {
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    consume<Config>(cta, static_cast<int>(warpgroup) - 1, warp, lane);
  }

  // Step 4: the end. No CTA may exit while another one still loads into it, or arrives at its barriers: the producer's
  // drain has waited for that. A secondary launch ends after the one that it runs beside: waiting for the second launch
  // covers both. Orders everything that the other stored before that end.
  __syncwarp();  // the wait holds up a whole warp: not before its elected lane has done its work
  if (params.secondary) ptx::griddepcontrol_wait();
}

/// Which of TILES a problem gets on this GPU.
inline int choose_tile(const harness::Problem& problem) {
  return choose_tile(problem.m, problem.n, problem.k, count_sms());
}

}  // namespace production
