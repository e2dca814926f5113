// Production, Blackwell: level 08 with tiles that are taken by cluster launch control, and a tile of 256 columns.
//
// D[M,N] = A[M,K] * B[N,K]^T, BF16 in and out, FP32 accumulation, on pairs of CTAs that execute one tcgen05.mma together.
// New in this level: a CTA's tile is 128 rows high, so a stage is smaller and 8 of them fit; there are no bands. The tile
// leaves in two pieces of 64 columns through two buffers, swizzled by 128 bytes, so that the 16-byte stores of a warp
// spread over all banks. Each epilogue warp gives its part of the accumulator back as soon as it has read it.
//
// Barriers (in the shared memory of each CTA)
//   name            arrivals per phase                        who arrives                               who waits
//   smem_full[s]    2, plus CTA_GROUP * STAGE_BYTES bytes     both CTAs' TMA warps, at the leader's     MMA warp
//   smem_empty[s]   1                                         the leader's commit, to both CTAs         TMA warp
//   tmem_full[b]    1                                         the leader's commit, to both CTAs         epilogue warps
//   tmem_empty[b]   8                                         each epilogue warp, at the leader's       MMA warp
// With CLC, cluster launch control, tiles are taken when they are needed:
//   tile_full[t]    1, plus the 16 bytes of an answer         the leader's TMA warp, at both CTAs'      all roles
//   tile_empty[t]   every thread that reads it                each of them, at the leader's             leader's TMA warp
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "common/harness/level.h"
#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/launch_control.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tcgen05.cuh"
#include "common/ptx/tma.cuh"

// Options, for example nvcc -DBLOCK_M=256. The defaults are the level; the README shows what each of the others is worth.
#ifndef ASAP_TMEM_EMPTY  // 1: each epilogue warp signals tmem_empty after its last load; 0: one thread does, at the end
#define ASAP_TMEM_EMPTY 1
#endif
#ifndef TC_UTIL_PERCENT  // below 100: the MMA warp waits after each K block, then idles for the rest of this share
#define TC_UTIL_PERCENT 100
#endif
#ifndef SWIZZLED_CD  // 0: the tile leaves without swizzle, and a warp's stores hit the same banks
#define SWIZZLED_CD 1
#endif
#ifndef WHOLE_WARP_WAIT  // 1: all 32 lanes of the MMA warp wait for smem_full, not only the one that issues
#define WHOLE_WARP_WAIT 0
#endif
#ifndef SHFL_DESC  // 1: lane i keeps the descriptors of stage i, and the warp fetches them with shfl
#define SHFL_DESC 0
#endif
#ifndef BLOCK_M  // 128, or 256: two bands, as in level 07
#define BLOCK_M 128
#endif
#ifndef BLOCK_N  // 64, 128, 192, 256
#define BLOCK_N 128
#endif
#ifndef NUM_STAGES  // 0: as many as fit, at most 8
#define NUM_STAGES 0
#endif
#ifndef NUM_STORE_STAGES
#define NUM_STORE_STAGES 2
#endif
#ifndef SWIZZLE_GROUP_SIZE
#define SWIZZLE_GROUP_SIZE 8
#endif
#ifndef CLC  // 1: one cluster is launched per pair of tiles, and those that run take over those that have not started
#define CLC 0
#endif

namespace production {

/// What a configuration chooses.
struct Options {
  int block_m, block_n, num_stages, num_store_stages, group_size, tc_util_percent;
  bool asap_tmem_empty, swizzled_cd, whole_warp_wait, shfl_desc, clc;
};
inline constexpr Options LEVEL = {
    // of the notes, with whatever is switched
    .block_m = BLOCK_M,
    .block_n = BLOCK_N,
    .num_stages = NUM_STAGES,
    .num_store_stages = NUM_STORE_STAGES,
    .group_size = SWIZZLE_GROUP_SIZE,
    .tc_util_percent = TC_UTIL_PERCENT,
    .asap_tmem_empty = ASAP_TMEM_EMPTY,
    .swizzled_cd = SWIZZLED_CD,
    .whole_warp_wait = WHOLE_WARP_WAIT,
    .shfl_desc = SHFL_DESC,
    .clc = CLC,
};
// What the timing model ranks first over 4096 to 12288: the largest tile of which tensor memory holds two accumulators.
inline constexpr Options CHOSEN = {
    .block_m = 128,
    .block_n = 256,
    .num_stages = 0,
    .num_store_stages = 2,
    .group_size = 16,
    .tc_util_percent = 100,
    .asap_tmem_empty = true,
    .swizzled_cd = true,
    .whole_warp_wait = false,
    .shfl_desc = false,
    .clc = true,
};
#undef BLOCK_M  // from here on these are members of Config
#undef BLOCK_N
#undef NUM_STAGES
#undef NUM_STORE_STAGES
#undef SWIZZLE_GROUP_SIZE
#undef ASAP_TMEM_EMPTY
#undef SWIZZLED_CD
#undef WHOLE_WARP_WAIT
#undef SHFL_DESC
#undef TC_UTIL_PERCENT
#undef CLC

// ------------------------------------------------------------------------------------------------------- configuration

template <Options OPTIONS>
struct Config {
  static constexpr int CTA_GROUP = 2;              // CTAs that share one MMA, and the cluster's size
  static constexpr int BLOCK_M = OPTIONS.block_m;  // [L07] tile of D per CTA, and its rows of A
  static constexpr int BAND_M = 128;  // [L06] rows that one MMA adds to the accumulator of a CTA: TMEM's lanes
  static constexpr int BLOCK_N = OPTIONS.block_n;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int UMMA_M = 256;  // the MMA counts the rows of both CTAs
  static constexpr int UMMA_N = BLOCK_N;
  static constexpr int UMMA_K = 16;
  static constexpr int NUM_THREADS = 256;
  static constexpr int FIRST_EPILOGUE_WARP = 4;  // [L06] 4 warps, one per quarter of TMEM's lanes
  static constexpr int EPILOGUE_THREADS = 128;
  static constexpr int EPILOGUE_BARRIER = 1;  // number of their own bar.sync
  static constexpr int NUM_BANDS = BLOCK_M / BAND_M;
  static constexpr int ACCUMULATOR_COLUMNS = NUM_BANDS * BLOCK_N;
  static constexpr int NUM_ACCUMULATORS = ACCUMULATOR_COLUMNS <= 256 ? 2 : 1;  // [L06]
  static constexpr int TMEM_COLUMNS = std::bit_ceil(uint32_t{NUM_ACCUMULATORS * ACCUMULATOR_COLUMNS});
  static constexpr int STORE_N = 8;         // BF16 elements in one store to shared memory: 16 bytes
  static constexpr int STORE_BLOCK_N = 64;  // [L08] columns that leave together: 128 bytes, the swizzle's span
  static constexpr int NUM_STORE_STAGES = OPTIONS.num_store_stages;  // [L08] buffers for them
  static constexpr int SWIZZLE_GROUP_SIZE =
      OPTIONS.group_size;  // m-blocks that a group of tiles covers before n advances
  static constexpr bool ASAP_TMEM_EMPTY = OPTIONS.asap_tmem_empty, SWIZZLED_CD = OPTIONS.swizzled_cd;
  static constexpr bool WHOLE_WARP_WAIT = OPTIONS.whole_warp_wait, SHFL_DESC = OPTIONS.shfl_desc;
  static constexpr bool CLC = OPTIONS.clc;
  static constexpr int TC_UTIL_PERCENT = OPTIONS.tc_util_percent;
  // [L08] Arrivals that free an accumulator: every epilogue warp of the pair, or one thread per CTA.
  static constexpr int TMEM_EMPTY_ARRIVALS = CTA_GROUP * (ASAP_TMEM_EMPTY ? EPILOGUE_THREADS / 32 : 1);
  // [L08] Cycles to idle after the MMAs of a K block, which take 64 each, for the tensor core to be busy this share.
  static constexpr int UMMAS_PER_K_BLOCK = NUM_BANDS * BLOCK_K / UMMA_K;
  static constexpr int IDLE_CYCLES = UMMAS_PER_K_BLOCK * 64 * (100 - TC_UTIL_PERCENT) / TC_UTIL_PERCENT;

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;              // per CTA: all its rows
  static constexpr int B_BYTES = BLOCK_N / CTA_GROUP * BLOCK_K * 2;  // per CTA: its half of the rows
  static constexpr int BAND_BYTES = BAND_M * BLOCK_K * 2;            // of A
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_PITCH = STORE_BLOCK_N * 2;  // bytes from row to row of a staged piece
  static constexpr int CD_BYTES = BAND_M * CD_PITCH;  // one piece
  static constexpr int STAGES_THAT_FIT = (232'448 - 1024 - NUM_STORE_STAGES * CD_BYTES) / STAGE_BYTES;
  static constexpr int NUM_STAGES = OPTIONS.num_stages > 0 ? OPTIONS.num_stages : std::min(STAGES_THAT_FIT, 8);
  // For CLC. The TMA warp asks for a tile while it loads the one before; MMAs may be a tile behind, the epilogue two.
  static constexpr int NUM_ANSWERS = NUM_ACCUMULATORS + 1;
  static constexpr int ANSWER_BYTES = 16;
  // Threads that read an answer: the TMA thread and the epilogue of both CTAs, and who waits in the leader's MMA warp.
  static constexpr int ANSWER_READERS = CTA_GROUP * (1 + EPILOGUE_THREADS) + (WHOLE_WARP_WAIT ? 32 : 1);

  static_assert(TC_UTIL_PERCENT >= 1 && TC_UTIL_PERCENT <= 100, "TC_UTIL_PERCENT is 1 to 100");
  static_assert(BLOCK_M == 128 || BLOCK_M == 256, "BLOCK_M is 128 or 256");
  static_assert(BLOCK_N % 64 == 0 && BLOCK_N <= 256, "BLOCK_N is a multiple of 64 up to 256");
  static_assert(!SHFL_DESC || WHOLE_WARP_WAIT, "SHFL_DESC needs WHOLE_WARP_WAIT: shfl wants the warp");
  static_assert(TMEM_COLUMNS <= 512);
  static_assert(NUM_STAGES <= STAGES_THAT_FIT, "so many stages do not fit in shared memory");
  static_assert(A_BYTES % 1024 == 0 && STAGE_BYTES % 1024 == 0 && CD_BYTES % 1024 == 0);
  static_assert(SWIZZLE_GROUP_SIZE % CTA_GROUP == 0);
};

// Byte offsets from the start of dynamic shared memory, the same in both CTAs: one descriptor serves the pair.
template <class Config>
struct SmemOf {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int TMEM_FULL = SMEM_EMPTY + 8 * Config::NUM_STAGES;
  static constexpr int TMEM_EMPTY = TMEM_FULL + 8 * Config::NUM_ACCUMULATORS;
  static constexpr int MMA_IDLE = TMEM_EMPTY + 8 * Config::NUM_ACCUMULATORS;  // [L08] for TC_UTIL_PERCENT
  static constexpr int TMEM_ADDRESS = MMA_IDLE + 8;                           // where tcgen05.alloc leaves its result
  static constexpr int TILE_FULL = TMEM_ADDRESS + 8;                          // for CLC: NUM_ANSWERS barriers
  static constexpr int TILE_EMPTY = TILE_FULL + 8 * Config::NUM_ANSWERS;
  static constexpr int ANSWERS = (TILE_EMPTY + 8 * Config::NUM_ANSWERS + 15) / 16 * 16;  // 16-byte aligned
  static constexpr int CD = 1024;  // [L04] pieces of the tile on their way out
  static constexpr int STAGES =
      CD + Config::NUM_STORE_STAGES * Config::CD_BYTES;  // the swizzle repeats every 1,024 bytes
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
  static_assert(BYTES <= 232'448);
  static_assert(ANSWERS + Config::NUM_ANSWERS * Config::ANSWER_BYTES <= CD);
};

// [L05] The order of tiles: SWIZZLE_GROUP_SIZE m-blocks downwards, then the next n. Neighbours in this order share their
// columns (B), and a group as a whole comes back to the same rows (A) while they are still in L2.
struct TileCoordinates {
  int m_block, n_block;
};
template <class Config>
__host__ __device__ constexpr TileCoordinates tile_coordinates(int tile, int m_blocks, int n_blocks) {
  const int tiles_per_group = Config::SWIZZLE_GROUP_SIZE * n_blocks;
  const int first_m_block = tile / tiles_per_group * Config::SWIZZLE_GROUP_SIZE;
  const int rest = m_blocks - first_m_block;
  const int group_size =
      rest < Config::SWIZZLE_GROUP_SIZE ? rest : Config::SWIZZLE_GROUP_SIZE;  // the last may be smaller
  const int tile_in_group = tile % tiles_per_group;
  return {first_m_block + tile_in_group % group_size, tile_in_group / group_size};
}

// [L07] Rows of tiles, rounded up to a whole pair. Groups of tiles are even then, so tiles t and t + 1 with t even share
// n_block and are neighbours in m: the two halves of B in the pair belong to the same columns. A tile that lies wholly
// outside D is loaded as zeros and stored nowhere.
template <class Config>
__host__ __device__ constexpr int padded_m_blocks(int m) {
  const int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  return (m_blocks + Config::CTA_GROUP - 1) / Config::CTA_GROUP * Config::CTA_GROUP;
}

// [L05] A role's walk through the tiles of this CTA: its first, then every num_ctas-th. Each role walks at its own pace.
template <class Config, bool CLC>
struct TileWalk {
  int tile, tiles, num_ctas;

  __device__ bool has_tile() const { return tile < tiles; }
  __device__ void ask_for_next() {}
  __device__ void next() { tile += num_ctas; }
};

// With CLC the grid has a CTA per tile, and only the first of them find room. A cluster asks to cancel one that has not
// started, and does its work. The answer is written by the async proxy, into rings in both CTAs that all roles read.
template <class Config>
struct TileWalk<Config, true> {
  int tile, tiles;
  uint32_t full, empty, answers, cta_rank;  // shared addresses of tile_full[0], tile_empty[0] and the first answer
  int turn = 0;
  uint32_t phase = 0;

  __device__ bool has_tile() const { return tile < tiles; }

  // The leader's TMA thread does, before it loads a tile; after an answer that says no it must not.
  __device__ void ask_for_next() const {
    ptx::mbarrier_wait(empty + 8 * turn, phase ^ 1);  // orders the new answer after all reads of the one before
    for (int rank = 0; rank < Config::CTA_GROUP; ++rank) {
      ptx::mbarrier_arrive_expect_tx_cluster(ptx::mapa(full + 8 * turn, rank), Config::ANSWER_BYTES);
    }
    ptx::clusterlaunchcontrol_try_cancel_multicast(answers + Config::ANSWER_BYTES * turn, full + 8 * turn);
  }

  __device__ void next() {
    ptx::mbarrier_wait(full + 8 * turn, phase);  // orders the read after the answer
    const uint4 answer = ptx::ld_shared_v4(answers + Config::ANSWER_BYTES * turn);
    ptx::fence_proxy_async_shared();  // orders this thread's read before the async proxy's next write there
    ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(empty + 8 * turn));
    tile = tiles;
    if (ptx::clusterlaunchcontrol_query_cancel_is_canceled(answer)) {
      tile = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x(answer) + cta_rank;
    }
    if (++turn == Config::NUM_ANSWERS) turn = 0, phase ^= 1;
  }
};

// -------------------------------------------------------------------------------------------------------------- kernel

template <class Config>
__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_d, int m, int n, int k) {
  using Smem = SmemOf<Config>;
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: who am I, and which tiles are mine?
  const uint32_t warp_idx = threadIdx.x / 32;
  const uint32_t cta_rank = ptx::cluster_ctarank();
  const bool is_leader = cta_rank == 0;  // the CTA of the pair whose thread issues the MMAs

  const int m_blocks = padded_m_blocks<Config>(m);
  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  const int tiles = m_blocks * n_blocks;
  const int num_ctas = gridDim.x;  // [L07] tiles are dealt to CTAs; those of a pair get t and t + 1, t even
  const int first_tile = blockIdx.x;

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };
  const auto tmem_full = [&](int buffer) { return base + Smem::TMEM_FULL + 8 * buffer; };
  const auto tmem_empty = [&](int buffer) { return base + Smem::TMEM_EMPTY + 8 * buffer; };
  const auto tile_walk = [&] {
    if constexpr (Config::CLC) {
      return TileWalk<Config, true>{first_tile,           tiles,   base + Smem::TILE_FULL, base + Smem::TILE_EMPTY,
                                    base + Smem::ANSWERS, cta_rank};
    } else {
      return TileWalk<Config, false>{first_tile, tiles, num_ctas};
    }
  };

  // Step 2: set up barriers and tensor memory.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), Config::CTA_GROUP);  // [L02] both CTAs report to the leader's barrier
      ptx::mbarrier_init(smem_empty(stage), 1);
    }
    for (int buffer = 0; buffer < Config::NUM_ACCUMULATORS; ++buffer) {
      ptx::mbarrier_init(tmem_full(buffer), 1);
      ptx::mbarrier_init(tmem_empty(buffer), Config::TMEM_EMPTY_ARRIVALS);  // [L07] both CTAs' epilogues
    }
    ptx::mbarrier_init(base + Smem::MMA_IDLE, 1);
    for (int i = 0; Config::CLC && i < Config::NUM_ANSWERS; ++i) {
      ptx::mbarrier_init(base + Smem::TILE_FULL + 8 * i, 1);
      ptx::mbarrier_init(base + Smem::TILE_EMPTY + 8 * i, Config::ANSWER_READERS);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA, the tensor core and the peer use the barriers
  }
  __syncwarp();  // the cluster barrier wants converged warps
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();  // both CTAs run, and their barriers exist; the next one would do, too
  if (warp_idx == 2) {
    ptx::tcgen05_alloc<Config::CTA_GROUP>(base + Smem::TMEM_ADDRESS, Config::TMEM_COLUMNS);
    ptx::tcgen05_relinquish_alloc_permit<Config::CTA_GROUP>();
  }
  ptx::tcgen05_fence_before_thread_sync();  // orders the allocation before the barrier
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();             // TMEM is allocated in both CTAs, its address visible to every thread
  ptx::tcgen05_fence_after_thread_sync();  // orders tcgen05 operations after the barrier; they have later ones, too
  const uint32_t tmem = *reinterpret_cast<const uint32_t*>(smem + Smem::TMEM_ADDRESS);

  // Step 3: the main loop, once per role. [L06] Each role has its own persistent tile loop [L05] and its own place in the
  // rings: a stage or an accumulator, and the parity of its barriers' phase, carried on from tile to tile.
  if (warp_idx == 0) {  // [L03] TMA warp, in both CTAs
    if (ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
      for (auto walk = tile_walk(); walk.has_tile(); walk.next()) {
        if (is_leader) walk.ask_for_next();
        const auto [m_block, n_block] = tile_coordinates<Config>(walk.tile, m_blocks, n_blocks);
        const int a_row = m_block * Config::BLOCK_M;  // [L07] this CTA's own
        const int b_row =
            n_block * Config::BLOCK_N + static_cast<int>(cta_rank) * (Config::BLOCK_N / Config::CTA_GROUP);
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_empty(stage),
                             phase ^ 1);  // MMAs are done reading it; the first turn of the ring passes
          const uint32_t full = ptx::pair_leader_address(smem_full(stage));  // [L02]
          ptx::mbarrier_arrive_expect_tx_cluster(full, Config::STAGE_BYTES);
          ptx::cp_async_bulk_tensor_2d_g2s<Config::CTA_GROUP>(stage_a(stage), &map_a, k_block * Config::BLOCK_K, a_row,
                                                              full);
          ptx::cp_async_bulk_tensor_2d_g2s<Config::CTA_GROUP>(stage_b(stage), &map_b, k_block * Config::BLOCK_K, b_row,
                                                              full);
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
      }
      // Drain: one more turn of the ring. Every commit has arrived then, and none finds this CTA gone. (A stage that was
      // never filled passes, as in the first turn.)
      for (int i = 0; i < Config::NUM_STAGES; ++i) {
        ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
    }
  } else if (warp_idx == 1 && is_leader) {  // [L03] MMA warp, in the leader
    const bool is_elected = ptx::elect_sync();
    if (is_elected || Config::WHOLE_WARP_WAIT) {
      constexpr mma::InstructionDescriptor instruction{.m = Config::UMMA_M, .n = Config::UMMA_N};
      mma::SmemDescriptorSm100 descriptor{.start_address = stage_a(0),
                                          .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                          .swizzle = mma::Swizzle::B128};
      const uint64_t a_desc = descriptor.encode();
      descriptor.start_address = stage_b(0);
      const uint64_t b_desc = descriptor.encode();
      // [L08] With SHFL_DESC lane i knows where stage i starts, in the descriptors' units of 16 bytes.
      const uint32_t lane_offset = threadIdx.x % 32 * (Config::STAGE_BYTES / 16);
      int stage = 0, buffer = 0;
      uint32_t phase = 0, tmem_phase = 0, idle_phase = 0;
      for (auto walk = tile_walk(); walk.has_tile(); walk.next()) {
        ptx::mbarrier_wait(tmem_empty(buffer),
                           tmem_phase ^ 1);      // [L06] the epilogue has read it; the first turn passes
        ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs after the epilogue's loads; so does the next one
        const uint32_t accumulator = tmem + buffer * Config::ACCUMULATOR_COLUMNS;
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          ptx::mbarrier_wait(smem_full(stage), phase);          // both CTAs' operands have arrived
          ptx::tcgen05_fence_after_thread_sync();               // orders the MMAs after the wait
          if constexpr (Config::WHOLE_WARP_WAIT) __syncwarp();  // the stage is refilled once all have seen it full
          uint32_t stage_bytes = stage * Config::STAGE_BYTES;
          if constexpr (Config::SHFL_DESC) stage_bytes = __shfl_sync(0xffffffff, lane_offset, stage) * 16;
          if (is_elected) {
            for (int band = 0; band < Config::NUM_BANDS; ++band) {
              for (int kk = 0; kk < Config::BLOCK_K / Config::UMMA_K; ++kk) {
                const uint32_t bytes = stage_bytes + kk * Config::UMMA_K * 2;
                ptx::tcgen05_mma_f16<Config::CTA_GROUP>(
                    accumulator + band * Config::BLOCK_N, mma::advance(a_desc, bytes + band * Config::BAND_BYTES),
                    mma::advance(b_desc, bytes), instruction.encode(), k_block > 0 || kk > 0);
              }
            }
            ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(smem_empty(stage),
                                                             0b11);  // both CTAs may refill the stage
            if constexpr (Config::TC_UTIL_PERCENT < 100) {           // [L08] let the tensor core run dry, then idle
              ptx::tcgen05_commit<Config::CTA_GROUP>(base + Smem::MMA_IDLE);
              ptx::mbarrier_wait(base + Smem::MMA_IDLE, idle_phase);
              idle_phase ^= 1;
              for (const int64_t start = clock64(); clock64() - start < Config::IDLE_CYCLES;) {}
            }
          }
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
        if (is_elected) ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(tmem_full(buffer), 0b11);  // [L07] both tiles
        if (++buffer == Config::NUM_ACCUMULATORS) buffer = 0, tmem_phase ^= 1;
      }
    }
  } else if (warp_idx >= Config::FIRST_EPILOGUE_WARP) {  // [L06] epilogue warps, [L07] in both CTAs
    // Step 4: epilogue. TMEM lane = row of the band; each thread converts its row and stages it in shared memory.
    const uint32_t thread = threadIdx.x - Config::FIRST_EPILOGUE_WARP * 32;
    const uint32_t lanes = (warp_idx % 4 * 32) << 16;  // warp w reaches lanes 32 (w % 4) .. 32 (w % 4) + 31
    int buffer = 0, store_stage = 0;
    uint32_t tmem_phase = 0;
    for (auto walk = tile_walk(); walk.has_tile(); walk.next()) {
      const auto [m_block, n_block] = tile_coordinates<Config>(walk.tile, m_blocks, n_blocks);
      ptx::mbarrier_wait(tmem_full(buffer), tmem_phase);
      __syncwarp();  // the warp leaves the wait as one; the __syncwarp() below would be early enough
      ptx::tcgen05_fence_after_thread_sync();  // orders the loads after the MMAs that the barrier reported
      for (int piece = 0; piece < Config::NUM_BANDS * Config::BLOCK_N / Config::STORE_BLOCK_N; ++piece) {  // [L08]
        const int band = piece / (Config::BLOCK_N / Config::STORE_BLOCK_N);
        const int first_column = piece % (Config::BLOCK_N / Config::STORE_BLOCK_N) * Config::STORE_BLOCK_N;
        const bool is_last = piece == Config::NUM_BANDS * Config::BLOCK_N / Config::STORE_BLOCK_N - 1;
        // TMA has read the piece that was staged in this buffer before; the others may still be on their way.
        if (thread == 0) ptx::cp_async_bulk_wait_group_read<Config::NUM_STORE_STAGES - 1>();
        __syncwarp();
        ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);  // now every thread knows
        const int cd = Smem::CD + store_stage * Config::CD_BYTES;
        for (int i = 0; i < Config::STORE_BLOCK_N / Config::STORE_N; ++i) {
          float values[Config::STORE_N];
          ptx::tcgen05_ld_32x32b(tmem + lanes + buffer * Config::ACCUMULATOR_COLUMNS + band * Config::BLOCK_N +
                                     first_column + i * Config::STORE_N,
                                 values);
          ptx::tcgen05_wait_ld(values);  // undefined before
          const uint4 packed = {
              ptx::cvt_rn_bf16x2_f32(values[1], values[0]), ptx::cvt_rn_bf16x2_f32(values[3], values[2]),
              ptx::cvt_rn_bf16x2_f32(values[5], values[4]), ptx::cvt_rn_bf16x2_f32(values[7], values[6])};
          // [L08] The 128-byte swizzle, as TMA will undo it: 16-byte chunk i of row r lies at chunk i ^ (r % 8).
          const int chunk = Config::SWIZZLED_CD ? i ^ (thread % 8) : i;
          *reinterpret_cast<uint4*>(smem + cd + thread * Config::CD_PITCH + chunk * 16) = packed;
        }
        ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before tmem_empty
        if (Config::ASAP_TMEM_EMPTY && is_last) {
          __syncwarp();  // [L08] all lanes of this warp have read their rows: it need not wait for the other warps
          if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(tmem_empty(buffer)));
        }
        ptx::fence_proxy_async_shared();  // [L05] orders this thread's stores before TMA's reads
        ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);  // [L04] the piece is complete
        if (thread == 0) {
          ptx::cp_async_bulk_tensor_2d_s2g(&map_d, n_block * Config::BLOCK_N + first_column,
                                           m_block * Config::BLOCK_M + band * Config::BAND_M, base + cd);
          ptx::cp_async_bulk_commit_group();
          if (!Config::ASAP_TMEM_EMPTY && is_last) {  // [L06] all have read the accumulator: the MMAs may go on
            ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(tmem_empty(buffer)));
          }
        }
        if (++store_stage == Config::NUM_STORE_STAGES) store_stage = 0;
      }
      if (++buffer == Config::NUM_ACCUMULATORS) buffer = 0, tmem_phase ^= 1;
    }
    if (thread == 0) ptx::cp_async_bulk_wait_group_read<0>();  // shared memory must outlive TMA's reads
  }
  __syncwarp();  // the lanes that were not elected wait here: what follows wants converged warps

  // Step 5: tear down. No CTA may exit, or free TMEM, while its peer still needs it.
  ptx::tcgen05_fence_before_thread_sync();  // orders this thread's TMEM loads before the barrier; so does the one above
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();  // orders the deallocation after everybody's loads
  if (warp_idx == 2) ptx::tcgen05_dealloc<Config::CTA_GROUP>(tmem, Config::TMEM_COLUMNS);
}

// -------------------------------------------------------------------------------------------------------------- launch

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns what the driver says of the tensor maps and of the launch.
template <Options OPTIONS>
cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  using Config = production::Config<OPTIONS>;
  using Smem = SmemOf<Config>;
  CUtensorMap map_a, map_b, map_d;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::BLOCK_M,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k,
                                     Config::BLOCK_N / Config::CTA_GROUP, Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status =
      mma::encode_tensor_map_2d(&map_d, problem.d, problem.m, problem.n, problem.ldd, Config::BAND_M,
                                Config::STORE_BLOCK_N, Config::SWIZZLED_CD ? mma::Swizzle::B128 : mma::Swizzle::None);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm100<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  // [L05] As many clusters as fit on the GPU at once, but no more than there are tiles; with CLC as many as there are tiles.
  cudaLaunchAttribute cluster{.id = cudaLaunchAttributeClusterDimension,
                              .val = {.clusterDim = {Config::CTA_GROUP, 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = Config::CTA_GROUP,
                            .blockDim = Config::NUM_THREADS,
                            .dynamicSmemBytes = Smem::BYTES,
                            .stream = stream,
                            .attrs = &cluster,
                            .numAttrs = 1};
  int clusters = 0;
  status = cudaOccupancyMaxActiveClusters(&clusters, gemm_sm100<Config>, &config);
  if (status != cudaSuccess) return status;
  const int m_blocks = padded_m_blocks<Config>(problem.m);
  const int tiles = m_blocks * ((problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N);
  config.gridDim = Config::CLC ? tiles : std::min(Config::CTA_GROUP * clusters, tiles);  // even, as both are
  return cudaLaunchKernelEx(&config, gemm_sm100<Config>, map_a, map_b, map_d, problem.m, problem.n, problem.k);
}

// --------------------------------------------------------------------------------------------------------- in numbers

/// "128x128x64", or "128x128x64-clc": what `--config` selects.
template <Options OPTIONS>
std::string name() {
  using Config = production::Config<OPTIONS>;
  return std::to_string(Config::BLOCK_M) + "x" + std::to_string(Config::BLOCK_N) + "x" +
         std::to_string(Config::BLOCK_K) + (Config::CLC ? "-clc" : "");
}

/// What `--explain` prints and the README's tables are rendered from.
template <Options OPTIONS>
harness::Description describe() {
  using Config = production::Config<OPTIONS>;
  using Smem = SmemOf<Config>;
  harness::Description d;
  d.cluster = Config::CTA_GROUP;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.tmem_columns = Config::TMEM_COLUMNS, d.tmem_address = Smem::TMEM_ADDRESS;
  d.constants =
      LADDER_CONSTANTS(Config::BAND_M, Config::UMMA_M, Config::UMMA_N, Config::UMMA_K, Config::NUM_BANDS,
                       Config::NUM_ACCUMULATORS, Config::FIRST_EPILOGUE_WARP, Config::STORE_N, Config::STORE_BLOCK_N,
                       Config::NUM_STORE_STAGES, Config::SWIZZLE_GROUP_SIZE, Config::IDLE_CYCLES);
  d.smem = {{"cd", "pieces of D on their way out", Smem::CD, Config::CD_BYTES, Config::NUM_STORE_STAGES,
             Config::CD_PITCH, Config::SWIZZLED_CD ? mma::Swizzle::B128 : mma::Swizzle::None},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {
      {"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::CTA_GROUP, Config::CTA_GROUP * Config::STAGE_BYTES,
       "both CTAs' TMA warps, at the leader's barrier; TMA with the bytes", "MMA warp", 0},
      {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 1, 0, "the leader's commit, to both CTAs", "TMA warp", 1},
      {"tmem_full", Smem::TMEM_FULL, Config::NUM_ACCUMULATORS, 1, 0, "the leader's commit, to both CTAs",
       "epilogue warps", 0},
      {"tmem_empty", Smem::TMEM_EMPTY, Config::NUM_ACCUMULATORS, Config::TMEM_EMPTY_ARRIVALS, 0,
       Config::ASAP_TMEM_EMPTY ? "one lane of each epilogue warp of the pair, at the leader's barrier"
                               : "one thread of each CTA's epilogue, at the leader's barrier",
       "MMA warp", 1}};
  if (Config::TC_UTIL_PERCENT < 100) {
    d.barriers.push_back({"mma_idle", Smem::MMA_IDLE, 1, 1, 0, "the leader's commit of a K block", "MMA warp", 0});
  }
  if (Config::CLC) {
    d.barriers.push_back({"tile_full", Smem::TILE_FULL, Config::NUM_ANSWERS, 1, Config::ANSWER_BYTES,
                          "the leader's TMA warp, at both CTAs' barriers; the answer with its bytes", "all roles", 0});
    d.barriers.push_back({"tile_empty", Smem::TILE_EMPTY, Config::NUM_ANSWERS, Config::ANSWER_READERS, 0,
                          "each thread of both CTAs that has read the answer, at the leader's barrier",
                          "the leader's TMA warp", 1});
  }
  d.named_barriers = {{"EPILOGUE_BARRIER", Config::EPILOGUE_BARRIER, 1, Config::EPILOGUE_THREADS,
                       "the piece of D is in shared memory; TMA has read an earlier one"}};
  d.roles = {{"warp 0 of each CTA", Config::CLC ? "TMA loads (one elected lane); in the leader it also asks for tiles"
                                                : "TMA loads (one elected lane)"},
             {"warp 1 of the leader CTA", "MMAs for the pair (one elected lane)"},
             {"warp 2 of each CTA", "allocates and frees tensor memory"},
             {"warps 4 to 7 of each CTA", "epilogue: one row of a piece per thread into shared memory"},
             {"thread 128 of each CTA", "hands each piece to TMA"}};
  d.tile_at = harness::tile_order<tile_coordinates<Config>>;
  return d;
}

}  // namespace production
