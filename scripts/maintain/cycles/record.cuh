// Instruments a level's kernel without touching its source: read before anything else (nvcc -include), this file
// replaces some PTX wrappers by ones that also note the time. One thread of a CTA does, once per CTA, K block or tile:
// a handful of instructions and one asynchronous store. On Hopper a K block is noted when its MMAs have been issued, by
// a thread that has nothing to do until they are done.
//
// With LADDER_WAITS it notes instead how long warps wait, and where: lane 0 of each warp reads the clock before and
// after each wait and adds the difference to a counter of its SM, warp and source line.
#pragma once

#include <cuda_runtime.h>

#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
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

#ifdef LADDER_WAITS
/// Where a wait stands: its line and, in the bits above, its file.
__host__ __device__ constexpr uint32_t wait_site(const char* file, uint32_t line) {
  uint32_t hash = 2166136261;  // FNV-1a of the file's name, without folders
  for (; *file != '\0'; ++file) hash = *file == '/' ? 2166136261 : (hash ^ static_cast<uint8_t>(*file)) * 16777619;
  return (hash >> 16) % 4 * 1024 + line % 1024;
}

template <uint32_t SITE>
__device__ __forceinline__ void note_wait(uint32_t begin) {
  const uint32_t cycles = static_cast<uint32_t>(clock()) - begin, warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(
                  &recorder.waits[(ptx::smid() * Recorder::WARPS + warp) * Recorder::SITES + SITE]),
              (1ull << Recorder::COUNT_SHIFT) + cycles);
  }
}
#endif

}  // namespace cycles

namespace ptx {

__device__ __forceinline__ void noted_fence_mbarrier_init() {
  fence_mbarrier_init();
  cycles::note(cycles::recorder.begins, static_cast<uint32_t>(globaltimer()));
}
#ifdef LADDER_WAITS
/// The wrappers that wait, as they are called at a site.
template <uint32_t SITE>
struct Noted {
  static __device__ __forceinline__ void mbarrier_wait(uint32_t bar, uint32_t parity) {
    const uint32_t begin = clock();
    ptx::mbarrier_wait(bar, parity);
    cycles::note_wait<SITE>(begin);
  }
  static __device__ __forceinline__ void bar_sync(uint32_t id, uint32_t threads) {
    const uint32_t begin = clock();
    ptx::bar_sync(id, threads);
    cycles::note_wait<SITE>(begin);
  }
  static __device__ __forceinline__ void barrier_cluster_wait() {
    const uint32_t begin = clock();
    ptx::barrier_cluster_wait();
    cycles::note_wait<SITE>(begin);
  }
  template <int PENDING>
  static __device__ __forceinline__ void cp_async_bulk_wait_group_read() {
    const uint32_t begin = clock();
    ptx::cp_async_bulk_wait_group_read<PENDING>();
    cycles::note_wait<SITE>(begin);
  }
#if LADDER_ARCH == 90
  template <int PENDING, int... N>
  static __device__ __forceinline__ void wgmma_wait_group(float (&... d)[N]) {
    const uint32_t begin = clock();
    ptx::wgmma_wait_group<PENDING>(d...);
    cycles::note_wait<SITE>(begin);
  }
#endif
};
#elif LADDER_ARCH == 90
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
#ifdef LADDER_WAITS
#define LADDER_SITE Noted<cycles::wait_site(__FILE__, __LINE__)>
#define mbarrier_wait LADDER_SITE::mbarrier_wait
#define bar_sync LADDER_SITE::bar_sync
#define barrier_cluster_wait LADDER_SITE::barrier_cluster_wait
#define cp_async_bulk_wait_group_read LADDER_SITE::cp_async_bulk_wait_group_read
#define wgmma_wait_group LADDER_SITE::wgmma_wait_group
#elif LADDER_ARCH == 90
#define wgmma_commit_group noted_wgmma_commit_group
#define wgmma_wait_group noted_wgmma_wait_group
#else
#define mbarrier_arrive_expect_tx noted_mbarrier_arrive_expect_tx
#define mbarrier_arrive_expect_tx_cluster noted_mbarrier_arrive_expect_tx_cluster
#endif

void cycles_set_recorder(const cycles::Recorder& recorder) {
  cudaMemcpyToSymbol(cycles::recorder, &recorder, sizeof recorder);
}
#ifdef LADDER_WAITS
void cycles_notes_waits() {}
#endif
