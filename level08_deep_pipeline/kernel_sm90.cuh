// Level 08, Hopper: everything tuned together, and the shape of the tile chosen for the size of the problem.
//
// The twin of kernel_sm100.cuh, step by step. New in this level: both consumers work on the same tile, one half of its rows
// each, so that a tile may be as large as their registers allow: 256x192 or 128x256. A large tile reads each byte of A and B
// for more products, and bytes are energy, which is what limits this chip. D leaves through swizzled pieces, a whole pass at
// a time; no CTA more than needed runs; and where the last wave of tiles would leave half of the GPU idle, its tiles are cut
// in two.
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   who arrives                          who waits
//   smem_full[s]    1, plus the K block's bytes          producer (arrive.expect_tx), TMA     both consumers
//   smem_empty[s]   8 per CTA of the cluster             a lane of each consumer warp, of     producer
//                                                        every CTA of the cluster
// Named barriers: a consumer's own before and after it stores.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/harness/level.h"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

namespace level08 {

// ------------------------------------------------------------------------------------------------------- configuration

template <int M, int N, int STAGES, int CLUSTER, int GROUP, bool SPLIT>
struct Config {
  static constexpr int CLUSTER_SIZE = CLUSTER;  // [L07] CTAs that share a tile of B, neighbours in m; 1: none
  static constexpr int BLOCK_M = M;             // tile of D per CTA
  static constexpr int BLOCK_N = N;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;
  static constexpr int WGMMA_N = N;
  static constexpr int WGMMA_K = 16;
  static constexpr int NUM_STAGES = STAGES;
  static constexpr int NUM_CONSUMERS = 2;  // warpgroups that multiply
  static constexpr int NUM_CHAINS =
      M / NUM_CONSUMERS / WGMMA_M;  // [L08] instructions, one above the other, per consumer
  static constexpr int HALF_CHAINS = NUM_CHAINS > 1 ? NUM_CHAINS / 2 : 1;  // in half a tile
  static constexpr int NUM_THREADS = 128 * (1 + NUM_CONSUMERS);            // warpgroup 0 is the producer
  static constexpr int LAUNCH_REGISTERS = 65'536 / NUM_THREADS / 8 * 8;  // per thread, what every warpgroup starts with
  static constexpr int PRODUCER_REGISTERS = 24;
  static constexpr int CONSUMER_REGISTERS = 240;
  static constexpr int SWIZZLE_GROUP_SIZE = GROUP;  // m-blocks that a group of tiles covers before n advances
  static constexpr bool SPLIT_LAST_WAVE = SPLIT;    // [L08]
  static constexpr int STORE_BARRIER = 1;           // bar.sync of consumer c's four warps: number 1 + c

  static constexpr int A_BOX_ROWS = NUM_CONSUMERS * WGMMA_M;  // [L08] rows of A per load: one chain of each consumer
  static constexpr int A_BOX_BYTES = A_BOX_ROWS * BLOCK_K * 2;
  static constexpr int A_BYTES = NUM_CHAINS * A_BOX_BYTES;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int B_LOAD_ROWS = BLOCK_N / CLUSTER_SIZE;  // [L07] of B, that one CTA loads for all
  static constexpr int B_LOAD_BYTES = B_LOAD_ROWS * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_N = 64;                   // [L08] columns of a piece of D: 128 bytes, the swizzle's span
  static constexpr int CD_PIECES = BLOCK_N / CD_N;  // per chain: a consumer stages them all, then TMA stores them
  static constexpr int CD_PIECE_BYTES = WGMMA_M * CD_N * 2;
  static constexpr int CD_BYTES = CD_PIECES * CD_PIECE_BYTES;  // per consumer

  static_assert(M % (NUM_CONSUMERS * WGMMA_M) == 0 && N % CD_N == 0 && N <= 256);
  static_assert(NUM_CHAINS * N / 2 <= 192, "accumulators per thread: more would spill");
  static_assert(!SPLIT || (NUM_CHAINS % 2 == 0 && CLUSTER == 1), "half a tile is half of each consumer's chains");
  // A warpgroup that asks for more registers than the others have given back waits for ever.
  static_assert(PRODUCER_REGISTERS + NUM_CONSUMERS * CONSUMER_REGISTERS <= (1 + NUM_CONSUMERS) * LAUNCH_REGISTERS);
};

// Byte offsets from the start of dynamic shared memory.
template <class Config>
struct SmemOf {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int CD = 1024;                                        // [L04] D on its way out, a chain per consumer
  static constexpr int STAGES = CD + Config::NUM_CONSUMERS * Config::CD_BYTES;
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
  static_assert(BYTES <= 232'448);
  static_assert(SMEM_EMPTY + 8 * Config::NUM_STAGES <= CD);
  static_assert(STAGES % 1024 == 0 && Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0 &&
                Config::B_LOAD_BYTES % 1024 == 0);
  static_assert(2 * BYTES > 228 * 1024);  // one CTA runs per SM
};

// [L05] The order of tiles: SWIZZLE_GROUP_SIZE m-blocks side by side, then the next n. Neighbours in this order share their
// columns (B), and a group as a whole comes back to the same rows (A) while they are still in L2.
struct TileCoordinates {
  int m_block, n_block;
};
__host__ __device__ constexpr TileCoordinates tile_coordinates(int tile, int m_blocks, int n_blocks, int full_group) {
  const int tiles_per_group = full_group * n_blocks;
  const int first_m_block = tile / tiles_per_group * full_group;
  const int rest = m_blocks - first_m_block;
  const int group_size = rest < full_group ? rest : full_group;  // the last may be smaller
  const int tile_in_group = tile % tiles_per_group;
  return {first_m_block + tile_in_group % group_size, tile_in_group / group_size};
}

// [L08] What the CTAs take in turn: whole tiles, and at the end halves of tiles, if that fills the last wave better. A half
// is the upper or lower rows of its tile, one after the other.
struct Schedule {
  int m_blocks, n_blocks;
  int whole;  ///< tiles that are taken whole
  int items;  ///< whole tiles and halves
};
template <class Config>
__host__ __device__ constexpr Schedule make_schedule(int m, int n, int ctas) {
  int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  m_blocks =
      (m_blocks + Config::CLUSTER_SIZE - 1) / Config::CLUSTER_SIZE * Config::CLUSTER_SIZE;  // [L07] whole clusters
  const int n_blocks = (n + Config::BLOCK_N - 1) / Config::BLOCK_N;
  const int tiles = m_blocks * n_blocks;
  const int rest = tiles % ctas;
  if (!Config::SPLIT_LAST_WAVE || 2 * rest > ctas) return {m_blocks, n_blocks, tiles, tiles};
  return {m_blocks, n_blocks, tiles - rest, tiles + rest};
}

// -------------------------------------------------------------------------------------------------------------- kernel

template <class Config>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_d, int m, int n, int k) {
  using Smem = SmemOf<Config>;
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: who am I, and which tiles are mine?
  // [L03] Roles are the same in all lanes of a warp. A broadcast tells the compiler so: their loops need no vector registers.
  const uint32_t warp_idx = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const uint32_t lane_idx = threadIdx.x % 32;
  const uint32_t warpgroup_idx = warp_idx / 4;
  const uint32_t cta_rank = Config::CLUSTER_SIZE > 1 ? ptx::cluster_ctarank() : 0;

  const Schedule schedule = make_schedule<Config>(m, n, gridDim.x);
  const int k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  // [L08] A whole tile or half of one: its first row and column of D, and how many chains each consumer has in it.
  struct Item {
    int row, col, chains;
  };
  const auto item_at = [&](int index) {
    const int beyond = index - schedule.whole;  // 0, 1, 2, ...: upper half, lower half, upper half of the next, ...
    const int tile = beyond < 0 ? index : schedule.whole + beyond / 2;
    const auto [m_block, n_block] =
        tile_coordinates(tile, schedule.m_blocks, schedule.n_blocks, Config::SWIZZLE_GROUP_SIZE);
    const int row = m_block * Config::BLOCK_M, col = n_block * Config::BLOCK_N;
    if (beyond < 0 || !Config::SPLIT_LAST_WAVE) return Item{row, col, Config::NUM_CHAINS};
    return Item{row + beyond % 2 * (Config::BLOCK_M / 2), col, Config::NUM_CHAINS / 2};
  };

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };

  // Step 2: set up the barriers.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), 1);
      ptx::mbarrier_init(smem_empty(stage), 4 * Config::NUM_CONSUMERS * Config::CLUSTER_SIZE);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the peer use the barriers
  }
  __syncwarp();  // the cluster barrier wants converged warps
  if constexpr (Config::CLUSTER_SIZE > 1) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();  // both CTAs run, and their barriers exist
  } else {
    __syncthreads();  // the barriers exist before any thread waits on them
  }

  // Step 3: the main loop, once per role. Both walk the same ring: a stage, and the parity of its barriers' phase.
  if (warpgroup_idx == 0) {                             // [L03] producer
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();  // a whole warpgroup must, although one thread does the work
    if (warp_idx == 0 && ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
      // [L05] Persistent tile loop. The ring does not start afresh with a tile: stage and phase carry on.
      for (int index = blockIdx.x; index < schedule.items; index += gridDim.x) {
        const Item item = item_at(index);
        const int b_row = item.col + static_cast<int>(cta_rank) * Config::B_LOAD_ROWS;
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          const int k_start = k_block * Config::BLOCK_K;
          ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);  // every CTA's MMAs are done; the first turn passes
          ptx::mbarrier_arrive_expect_tx(smem_full(stage), item.chains * Config::A_BOX_BYTES + Config::B_BYTES);
          for (int box = 0; box < item.chains; ++box) {
            ptx::cp_async_bulk_tensor_2d_g2s(stage_a(stage) + box * Config::A_BOX_BYTES, &map_a, k_start,
                                             item.row + box * Config::A_BOX_ROWS, smem_full(stage));
          }
          if constexpr (Config::CLUSTER_SIZE > 1) {
            ptx::cp_async_bulk_tensor_2d_g2s_multicast(stage_b(stage) + cta_rank * Config::B_LOAD_BYTES, &map_b,
                                                       k_start, b_row, smem_full(stage),
                                                       (1 << Config::CLUSTER_SIZE) - 1);
          } else {
            ptx::cp_async_bulk_tensor_2d_g2s(stage_b(stage), &map_b, k_start, b_row, smem_full(stage));
          }
          if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
        }
      }
      // Drain: one more turn of the ring. Every arrival has come then, and none finds this CTA gone. (A stage that was never
      // filled passes, as in the first turn.)
      for (int i = 0; i < Config::NUM_STAGES; ++i) {
        ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
    }
    __syncwarp();  // the lanes that were not elected wait here: what follows wants converged warps
  } else {         // [L03] consumers
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    const int consumer = static_cast<int>(warpgroup_idx) - 1;
    mma::SmemDescriptorSm90 descriptor{.start_address = stage_a(0),
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    const uint64_t a_desc = descriptor.encode();
    descriptor.start_address = stage_b(0);
    const uint64_t b_desc = descriptor.encode();
    // Each warp reports for itself: that its own MMAs are done says nothing about the other warps'. [L07] In a cluster it
    // reports to every CTA, a lane for each. No data is passed on: the arrivals need no release at cluster scope.
    const auto release_stage_before = [&](int stage) {
      const uint32_t empty = smem_empty(stage == 0 ? Config::NUM_STAGES - 1 : stage - 1);
      if constexpr (Config::CLUSTER_SIZE > 1) {
        if (lane_idx < Config::CLUSTER_SIZE) ptx::mbarrier_arrive_cluster(ptx::mapa(empty, lane_idx));
      } else {
        if (lane_idx == 0) ptx::mbarrier_arrive(empty);
      }
    };
    constexpr uint32_t A_CHAIN_BYTES =
        Config::WGMMA_M * Config::BLOCK_K * 2;                    // from one chain's rows of A to the next's
    float accumulators[Config::NUM_CHAINS][Config::WGMMA_N / 2];  // [which 64 rows][fragment]
    int stage = 0;
    uint32_t phase = 0;
    // [L08] The MMAs of one item. The number of chains is the compiler's to know: accumulators are registers.
    const auto multiply = [&]<int CHAINS>() {
      const uint64_t a_mine = mma::advance(a_desc, consumer * CHAINS * A_CHAIN_BYTES);
      for (int k_block = 0; k_block < k_blocks; ++k_block) {
        ptx::mbarrier_wait(smem_full(stage), phase);  // the operands have arrived
        __syncwarp();                                 // wgmma wants converged warps
        ptx::wgmma_fence();                           // orders earlier accesses of the accumulators before the MMAs
        const uint64_t a_stage = mma::advance(a_mine, stage * Config::STAGE_BYTES);
        const uint64_t b_stage = mma::advance(b_desc, stage * Config::STAGE_BYTES);
#pragma unroll
        for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
          const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
#pragma unroll
          for (int chain = 0; chain < CHAINS; ++chain) {
            ptx::wgmma_m64k16_bf16(accumulators[chain], mma::advance(a_stage, chain * A_CHAIN_BYTES + k_bytes),
                                   mma::advance(b_stage, k_bytes), k_block > 0 || kk > 0);
          }
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done
        if (k_block > 0) release_stage_before(stage);
        if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
      }
    };
    for (int index = blockIdx.x; index < schedule.items; index += gridDim.x) {
      const Item item = item_at(index);
      if (!Config::SPLIT_LAST_WAVE || item.chains == Config::NUM_CHAINS)
        multiply.template operator()<Config::NUM_CHAINS>();
      else
        multiply.template operator()<Config::HALF_CHAINS>();
      ptx::wgmma_wait_group<0>(accumulators[0], accumulators[Config::NUM_CHAINS - 1]);  // the accumulators are readable
      release_stage_before(stage);  // the last one, before the epilogue begins

      // Step 4: epilogue. Each consumer turns its rows from fragments into rows, in shared memory, and TMA stores them.
      const uint32_t cd = base + Smem::CD + consumer * Config::CD_BYTES;
      const uint32_t row_in_cd = warp_idx % 4 * 16 + lane_idx % 16;
      const bool stores = warp_idx % 4 == 0 && ptx::elect_sync();
#pragma unroll  // registers have no run-time index: every access of the accumulators must be unrolled
      for (int chain = 0; chain < Config::NUM_CHAINS; ++chain) {
        if (chain >= item.chains) break;
        const auto pair = [&](int i) {
          return ptx::cvt_rn_bf16x2_f32(accumulators[chain][i + 1], accumulators[chain][i]);
        };
        // [L08] The stores of the chain before go on while this one's MMAs ran; only now must they have read their pieces.
        if (stores) ptx::cp_async_bulk_wait_group_read<0>();
        __syncwarp();
        ptx::bar_sync(Config::STORE_BARRIER + consumer, 128);  // and every thread knows
#pragma unroll
        for (int i = 0; i < Config::WGMMA_N / 2; i += 8) {  // 16 columns: rows 0-7, rows 8-15, both again 8 columns on
          // [L08] The 128-byte swizzle, as TMA will undo it: 16-byte chunk c of row r lies at chunk c ^ (r % 8).
          const int column = 2 * i;
          const uint32_t chunk = (column % Config::CD_N / 8 + lane_idx / 16) ^ (row_in_cd % 8);
          ptx::stmatrix_x4(cd + column / Config::CD_N * Config::CD_PIECE_BYTES + row_in_cd * 128 + chunk * 16, pair(i),
                           pair(i + 2), pair(i + 4), pair(i + 6));
        }
        ptx::fence_proxy_async_shared();                       // [L05] orders this thread's stores before TMA's reads
        ptx::bar_sync(Config::STORE_BARRIER + consumer, 128);  // all four warps' rows are there
        if (stores) {
          const int row = item.row + (consumer * item.chains + chain) * Config::WGMMA_M;
          for (int piece = 0; piece < Config::CD_PIECES; ++piece) {
            ptx::cp_async_bulk_tensor_2d_s2g(&map_d, item.col + piece * Config::CD_N, row,
                                             cd + piece * Config::CD_PIECE_BYTES);
          }
          ptx::cp_async_bulk_commit_group();
        }
        __syncwarp();
      }
    }
    if (warp_idx % 4 == 0 && ptx::elect_sync())
      ptx::cp_async_bulk_wait_group_read<0>();  // shared memory must outlive reads
    __syncwarp();
  }

  // Step 5: tear down. No CTA may exit while its peer still loads into it, or arrives at its barriers.
  if constexpr (Config::CLUSTER_SIZE > 1) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
}

// -------------------------------------------------------------------------------------------------------------- launch

/// [L08] How many CTAs run: as few as need no more waves than all SMs would. The others stay dark, which saves power for
/// those that work. Where halves of tiles fill the last wave, all SMs have work.
template <class Config>
constexpr int choose_ctas(int m, int n, int num_sms) {
  const int most = num_sms / Config::CLUSTER_SIZE * Config::CLUSTER_SIZE;
  const Schedule schedule = make_schedule<Config>(m, n, most);
  if (schedule.items != schedule.whole) return std::min(most, schedule.items);
  const int waves = (schedule.items + most - 1) / most;
  const int ctas = (schedule.items + waves - 1) / waves;
  return (ctas + Config::CLUSTER_SIZE - 1) / Config::CLUSTER_SIZE * Config::CLUSTER_SIZE;
}

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns what the driver says of the tensor maps and of the launch.
template <class Config>
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  constexpr int SMEM_BYTES = SmemOf<Config>::BYTES;
  CUtensorMap map_a, map_b, map_d;
  cudaError_t status = mma::encode_tensor_map_2d(&map_a, problem.a, problem.m, problem.k, problem.k, Config::A_BOX_ROWS,
                                                 Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_b, problem.b, problem.n, problem.k, problem.k, Config::B_LOAD_ROWS,
                                     Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&map_d, problem.d, problem.m, problem.n, problem.ldd, Config::WGMMA_M,
                                     Config::CD_N, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm90<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
  if (status != cudaSuccess) return status;

  int device = 0, num_sms = 0;
  status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  status = cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  cudaLaunchAttribute cluster{.id = cudaLaunchAttributeClusterDimension,
                              .val = {.clusterDim = {Config::CLUSTER_SIZE, 1, 1}}};
  const cudaLaunchConfig_t config{.gridDim = static_cast<unsigned>(choose_ctas<Config>(problem.m, problem.n, num_sms)),
                                  .blockDim = Config::NUM_THREADS,
                                  .dynamicSmemBytes = SMEM_BYTES,
                                  .stream = stream,
                                  .attrs = &cluster,
                                  .numAttrs = 1};
  return cudaLaunchKernelEx(&config, gemm_sm90<Config>, map_a, map_b, map_d, problem.m, problem.n, problem.k);
}

// [L08] The shapes, and which one a problem gets.
using Tall = Config<256, 192, 3, 1, 8, true>;    // fewest bytes per product
using Wide = Config<128, 256, 3, 2, 16, false>;  // fits power-of-two sizes without a ragged last wave
using Small = Config<128, 128, 6, 1, 8, false>;  // many tiles where the others would leave SMs without one

/// Work of the busiest CTA, in elements of D, as if every shape were equally fast per element. The factors are measured.
template <class Config>
constexpr double cost(int m, int n, int num_sms, double factor) {
  const Schedule schedule = make_schedule<Config>(m, n, num_sms / Config::CLUSTER_SIZE * Config::CLUSTER_SIZE);
  const int halves = schedule.items - schedule.whole;
  const double waves = (schedule.whole + num_sms - 1) / num_sms + (halves > 0 ? 0.5 : 0.0);
  return waves * Config::BLOCK_M * Config::BLOCK_N * factor;
}

/// Index of the cheapest of the three, in the order above.
inline int choose_shape(const harness::Problem& problem) {
  int device = 0, num_sms = 132;
  if (cudaGetDevice(&device) == cudaSuccess) cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device);
  const double costs[] = {cost<Tall>(problem.m, problem.n, num_sms, 1.00),
                          cost<Wide>(problem.m, problem.n, num_sms, 1.02),
                          cost<Small>(problem.m, problem.n, num_sms, 1.12)};
  return static_cast<int>(std::min_element(std::begin(costs), std::end(costs)) - std::begin(costs));
}

// --------------------------------------------------------------------------------------------------------- in numbers

/// What `--explain` prints and the README's tables are rendered from.
template <class Config>
inline harness::Description describe() {
  using Smem = SmemOf<Config>;
  harness::Description d;
  d.cluster = Config::CLUSTER_SIZE;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = Config::NUM_CHAINS * Config::WGMMA_N / 2;
  d.smem = {{"barriers", 0, Smem::CD},
            {"CD, one chain of each consumer", Smem::CD, Config::NUM_CONSUMERS * Config::CD_BYTES},
            {"stages of A and B", Smem::STAGES, Config::NUM_STAGES * Config::STAGE_BYTES}};
  d.barriers = {
      {"smem_full", Config::NUM_STAGES, 1, Config::STAGE_BYTES, "producer; TMA with the bytes", "both consumers", 0},
      {"smem_empty", Config::NUM_STAGES, 4 * Config::NUM_CONSUMERS * Config::CLUSTER_SIZE, 0,
       "one lane of each consumer warp, in every CTA of the cluster", "producer", 1}};
  d.roles = {{"warpgroup 0 (producer)", "TMA loads (one elected lane)"},
             {"warpgroups 1 and 2 (consumers)", "MMAs and epilogue of one half each of the tile's rows"},
             {"one elected lane of each consumer", "hands its rows to TMA, one chain at a time"}};
  return d;
}

}  // namespace level08
