// Instruments a level's kernel without touching its source: read before anything else (nvcc -include), this file
// replaces some PTX wrappers by ones that also note the time. One thread of a CTA does, once per CTA, K block or tile:
// a handful of instructions and one asynchronous store. On Hopper a K block is noted when its MMAs have been issued, by
// a thread that has nothing to do until they are done.
#pragma once

#include <cuda_runtime.h>

#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#if LADDER_ARCH == 90
#include "common/ptx/wgmma.cuh"
#endif
#include "scripts/maintain/cycles/record.h"

namespace cycles {

__constant__ Recorder recorder;

__device__ __forceinline__ void note(Event* table, uint32_t nanoseconds) {
  if (table == nullptr) return;
  const int64_t now = clock64();
  const int64_t slots = recorder.window / Recorder::EVENT_STEP;
  table[ptx::smid() * slots + (now / Recorder::EVENT_STEP & (slots - 1))] = {now, nanoseconds, blockIdx.x};
}

__device__ __forceinline__ void note_stage() {
  const uint32_t now = static_cast<uint32_t>(clock()), step = now / static_cast<uint32_t>(Recorder::STAGE_STEP);
  recorder.stages[ptx::smid() * (recorder.stage_mask + 1) + (step & recorder.stage_mask)] = now;
}

}  // namespace cycles

namespace ptx {

__device__ __forceinline__ void noted_fence_mbarrier_init() {
  fence_mbarrier_init();
  cycles::note(cycles::recorder.begins, static_cast<uint32_t>(globaltimer()));
}
#if LADDER_ARCH == 90
__device__ __forceinline__ void noted_wgmma_commit_group() {
  wgmma_commit_group();
  if (threadIdx.x + 128 == blockDim.x) cycles::note_stage();  // of the last warpgroup
}
template <int PENDING, int... N>
__device__ __forceinline__ void noted_wgmma_wait_group(float (&... d)[N]) {
  wgmma_wait_group<PENDING>(d...);
  if constexpr (PENDING == 0 && sizeof...(N) > 0) {  // a tile is complete
    if (threadIdx.x % 128 == 0) cycles::note(cycles::recorder.tiles, 0);
  }
}
#else
__device__ __forceinline__ void noted_mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes) {
  mbarrier_arrive_expect_tx(bar, bytes);
  cycles::note_stage();
}
__device__ __forceinline__ void noted_mbarrier_arrive_expect_tx_cluster(uint32_t bar, uint32_t bytes) {
  mbarrier_arrive_expect_tx_cluster(bar, bytes);
  cycles::note_stage();
}
#endif

}  // namespace ptx

#define fence_mbarrier_init noted_fence_mbarrier_init
#if LADDER_ARCH == 90
#define wgmma_commit_group noted_wgmma_commit_group
#define wgmma_wait_group noted_wgmma_wait_group
#else
#define mbarrier_arrive_expect_tx noted_mbarrier_arrive_expect_tx
#define mbarrier_arrive_expect_tx_cluster noted_mbarrier_arrive_expect_tx_cluster
#endif

void cycles_set_recorder(const cycles::Recorder& recorder) {
  cudaMemcpyToSymbol(cycles::recorder, &recorder, sizeof recorder);
}
