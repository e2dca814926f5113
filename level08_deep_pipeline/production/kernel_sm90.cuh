// Production, Hopper: large tiles, clusters of four or eight, D in the ring of A and B, and the shape of the tile chosen for the
// size of the problem.
//
// The twin of kernel_sm100.cuh, step by step. New in this level: the consumers work on the same tile, a part of its rows each,
// so that a tile may be as large as their registers allow: 256x192 or 128x256. Four CTAs, two by two, share what they
// load, or eight, two by four; on SMs that no such cluster fits, pairs run beside. Every byte of A and B is used for
// more products that way, and bytes are energy, which is what limits this chip. A finished D waits for TMA where there is room:
// in a buffer beside the ring, as far as one fits, and in stages of the ring, where it takes its turn like a K block. Warps
// of their own store it, the first pieces while the others are written, and the consumers go on with the next tile. No
// more CTAs run than are needed; and where the last wave of tiles would leave half of the GPU idle, its tiles are cut in two.
// Where there are few tiles and K is long, it is K that is cut: CTAs multiply slices of it, and add up in L2. Where K is short,
// D is what takes time: consumers work in turns again, on a tile each, as in levels 06 and 07. And where the rows of D fit
// tiles better as columns, A and B are swapped: the kernel multiplies as always, and what it stores is turned.
//
// Words (those of plan_sm90.h, which says what a CTA takes in turn: patch, item, place, wave, strip, slice)
//   band      64 rows of a consumer's tile, the height of one MMA, along all of K
//   piece     64 rows and 64, 32 or 16 columns of D (swapped: columns and rows): one TMA store. Those of a tile that find room
//             beside the ring are its *own* pieces, the others its *ring* pieces
//   box       one band of each consumer: the rows of A that lie together in a stage
//   peer      a CTA of the cluster that shares rows of A or rows of B with this one; and this one itself
//   grant     what gives a stage to D: arrivals without bytes, by the producers of all peers
//   lead      how many K blocks of the next tile come before the stages that a tile's D is granted
//
// Barriers (one of each per CTA and stage, in shared memory)
//   name            arrivals per phase                   who arrives                          who waits
//   smem_full[s]    1, plus the K block's bytes;         producer (arrive.expect_tx), TMA;    the tile's consumers; for
//                   if D uses stages, 1 per peer         for D the producer of every peer,    D those that write it
//                                                        for a K block its own, for all
//   smem_empty[s]   4 per consumer of a tile, and peer   a lane of each of their warps, of    producer
//                                                        every peer; after D the store
//                                                        warps, for all of these
// Named barriers, one of each per consumer: D_FIRST and D_REST, where its store warp waits until the consumer has written the
// first pieces of its rows of D, and the others; D_EMPTY, where the consumer waits until the rows before have left; and TURN,
// where a consumer that works in turns waits until the other has issued its MMAs.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/harness/level.h"
#include "common/mma/slices.cuh"
#include "common/mma/smem_descriptor.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "level08_deep_pipeline/production/plan_sm90.h"

// Options, for example nvcc -DSWIZZLED_CD=0; those that change tiles and their order are in plan_sm90.h. The defaults are the
// level; the README shows what each of the others is worth.
#ifndef EARLY_RELEASE  // 1: a consumer begins its next tile when D is in shared memory; 0: when TMA has read it
#define EARLY_RELEASE 1
#endif
#ifndef SWIZZLED_CD  // 0: D leaves without swizzle, and a warp's stores hit the same banks
#define SWIZZLED_CD 1
#endif
#ifndef EARLY_LAUNCH  // 0: a product is set up when the one before has ended
#define EARLY_LAUNCH 1
#endif
#ifndef TC_UTIL_PERCENT  // below 100: consumers wait for the MMAs of each K block, then idle for the rest of this share
#define TC_UTIL_PERCENT 100
#endif

namespace production {

struct Options {
  static constexpr bool early_release = EARLY_RELEASE, swizzled_cd = SWIZZLED_CD, early_launch = EARLY_LAUNCH;
  static constexpr int tc_util_percent = TC_UTIL_PERCENT;
};
static_assert(Options::tc_util_percent >= 1 && Options::tc_util_percent <= 100, "TC_UTIL_PERCENT is 1 to 100");

// ------------------------------------------------------------------------------------------------------- configuration

template <TileShape SHAPE>
struct Config {
  // [L07] CTAs of a cluster one above the other share their tile of B, [L08] and side by side, their tile of A.
  static constexpr int CLUSTER_M = SHAPE.cluster_m;
  static constexpr int CLUSTER_N = SHAPE.cluster_n;
  static constexpr int CLUSTER_SIZE = CLUSTER_M * CLUSTER_N;
  static constexpr int NUM_PEERS = CLUSTER_M + CLUSTER_N - 1;  // [L08] this CTA is one of them
  static constexpr int BLOCK_M = SHAPE.block_m;                // tile of D per CTA
  static constexpr int BLOCK_N = SHAPE.block_n;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;
  // [L08] Consumers that share a tile: one above the other, or in a tile of 64 rows side by side. The smallest has one, and so
  // has [L06] a tile of two consumers that work in turns.
  static constexpr int TURNS = SHAPE.in_turns ? 2 : 1;
  static constexpr int CONSUMERS_M = TURNS > 1 ? 1 : BLOCK_M == 192 ? 3 : BLOCK_M > 64 ? 2 : 1;
  static constexpr int CONSUMERS_N = TURNS > 1 || BLOCK_M > 64 || BLOCK_N == 64 ? 1 : 2;
  static constexpr int WGMMA_N = BLOCK_N / CONSUMERS_N;
  static constexpr int WGMMA_K = 16;
  static constexpr int NUM_STAGES = SHAPE.stages;
  static constexpr int TILE_CONSUMERS = CONSUMERS_M * CONSUMERS_N;       // warpgroups that multiply, of a tile
  static constexpr int NUM_CONSUMERS = TURNS * TILE_CONSUMERS;           // and of all
  static constexpr int NUM_BANDS = BLOCK_M / CONSUMERS_M / WGMMA_M;      // [L08] per consumer, in a whole tile
  static constexpr int HALF_BANDS = NUM_BANDS > 1 ? NUM_BANDS / 2 : 1;   // and in half of one
  static constexpr int NUM_THREADS = 128 * (1 + NUM_CONSUMERS);          // warpgroup 0: producer and store warps
  static constexpr int FIRST_STORE_WARP = 1;                             // [L08] one for each consumer
  static constexpr int LAUNCH_REGISTERS = 65'536 / NUM_THREADS / 8 * 8;  // per thread, what every warpgroup starts with
  static constexpr int PRODUCER_REGISTERS = 40;
  static constexpr int CONSUMER_REGISTERS = NUM_CONSUMERS > 2 ? 152 : 232;
  static constexpr int SWIZZLE_GROUP_SIZE = SHAPE.group;       // rows of patches that a group covers before n advances
  static constexpr bool CUTS_LAST_WAVE = SHAPE.cut_last_wave;  // [L08]
  static constexpr bool WHOLE = SHAPE.whole;                   // [L08] nothing runs beside whole clusters
  static constexpr bool CUTS_K = SHAPE.cut_k;                  // [L08] a CTA has a slice of K; D does not leave by TMA
  static constexpr int D_FIRST_BARRIER = 1;                    // [L08] + c: consumer c's first pieces are written
  static constexpr int D_REST_BARRIER = D_FIRST_BARRIER + NUM_CONSUMERS;  // + c: the others, too
  static constexpr int D_EMPTY_BARRIER = D_REST_BARRIER + NUM_CONSUMERS;  // + c: and TMA has read them all
  static constexpr int D_BARRIER_THREADS = 128 + 32;                      // the consumer's, and its store warp's
  static constexpr int TURN_BARRIER = D_EMPTY_BARRIER + NUM_CONSUMERS;    // [L06] + c: consumer c may issue its MMAs

  static constexpr int A_BOX_ROWS = CONSUMERS_M * WGMMA_M;  // [L08] one band of each consumer
  static constexpr int A_BOX_BYTES = A_BOX_ROWS * BLOCK_K * 2;
  static constexpr int A_LOAD_ROWS =
      A_BOX_ROWS / CLUSTER_N;  // [L08] of these, that one CTA loads for all that share it
  static constexpr int A_LOAD_BYTES = A_LOAD_ROWS * BLOCK_K * 2;
  static constexpr int A_BYTES = NUM_BANDS * A_BOX_BYTES;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int B_LOAD_ROWS = BLOCK_N / CLUSTER_M;  // [L07] of B, that one CTA loads for all that share it
  static constexpr int B_LOAD_BYTES = B_LOAD_ROWS * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_N = std::min(64, WGMMA_N & -WGMMA_N);  // [L08] columns of a piece of D
  // [L08] With A and B swapped, what is a row here is a column of D, and pieces are turned on their way out of the registers.
  static constexpr bool SWAPS_AB = SHAPE.swap_ab;
  static constexpr int CD_SPAN = SWAPS_AB ? WGMMA_M : CD_N;  // of the swizzle: what lies side by side of a piece
  static constexpr mma::Swizzle CD_SWIZZLE = mma::swizzle_of_span(CD_SPAN * 2);
  static constexpr int CD_PIECE_BYTES = WGMMA_M * CD_N * 2;
  static constexpr int CD_PIECES = WGMMA_N / CD_N;                     // per band
  static constexpr int D_PIECES = CUTS_K ? 0 : NUM_BANDS * CD_PIECES;  // per consumer
  static constexpr int BYTES_BESIDE_RING = 232'448 - 1024 - NUM_STAGES * STAGE_BYTES;
  // [L08] What fits beside the ring has a buffer of its own; the other pieces of D take their turn in the ring, in a stage for
  // all consumers or in one for each. Consumers in turns have the time to let one half of D leave before the other: a buffer
  // for that is enough.
  static constexpr int ROOM_PIECES = BYTES_BESIDE_RING / NUM_CONSUMERS / CD_PIECE_BYTES;
  static constexpr int OWN_PIECES = TURNS > 1 ? D_PIECES / 2 : std::min(D_PIECES, ROOM_PIECES);
  static constexpr int RING_PIECES = TURNS > 1 ? 0 : D_PIECES - OWN_PIECES;
  static constexpr int RING_BYTES = RING_PIECES * CD_PIECE_BYTES;
  static constexpr int D_STAGES = RING_PIECES == 0 ? 0 : NUM_CONSUMERS * RING_BYTES <= STAGE_BYTES ? 1 : NUM_CONSUMERS;
  // Where the consumer waits for its stage: before the first piece that goes there. (In half a tile perhaps none does.)
  static constexpr int HALF_PIECES = HALF_BANDS * CD_PIECES;
  static constexpr int WAITING_PIECE = std::min(OWN_PIECES, HALF_PIECES - 1);
  // The first pieces leave while the consumer writes the others: those beside the ring, or half of what lies in one place.
  static constexpr int MOST_FIRST = TURNS > 1 ? OWN_PIECES : HALF_PIECES - 1;
  static constexpr int FIRST_PIECES =
      std::min(OWN_PIECES > 0 && RING_PIECES > 0 ? OWN_PIECES : D_PIECES / 2, MOST_FIRST);
  // [L08] D's stages stand this many K blocks after the tile's last, so that its consumers find these loaded when they go on.
  // D gets the stages of the tile's last K blocks: it must not come later.
  static constexpr int LEAD = NUM_STAGES - D_STAGES;
  static constexpr int FULL_ARRIVALS = D_STAGES > 0 ? NUM_PEERS : 1;  // this CTA's producer, and its peers'
  static constexpr int EMPTY_ARRIVALS = 4 * TILE_CONSUMERS;           // per peer: the warps of a tile's consumers
  // [L08] Cycles to idle after a K block's MMAs, which take 2 per column and instruction and share the tensor core.
  static constexpr int K_BLOCK_CYCLES = NUM_BANDS * NUM_CONSUMERS * BLOCK_K / WGMMA_K * WGMMA_N / 2;
  static constexpr int IDLE_CYCLES = K_BLOCK_CYCLES * (100 - Options::tc_util_percent) / Options::tc_util_percent;

  static_assert(BLOCK_M % (CONSUMERS_M * WGMMA_M) == 0 && WGMMA_N % CD_N == 0 && BLOCK_N <= 256);
  static_assert(NUM_BANDS * WGMMA_N / 2 <= 192, "accumulators per thread: more would spill");
  static_assert(!CUTS_K || NUM_CONSUMERS <= 2, "find_room has counters for eight warps");
  static_assert(!CUTS_K || BLOCK_M * BLOCK_N <= 32 * 1024, "find_room has 128 KB for the sums of a tile");
  static_assert(OWN_PIECES <= ROOM_PIECES, "the buffers of D are to fit beside the ring");
  static_assert(TURNS == 1 || (D_PIECES % 2 == 0 && !CUTS_LAST_WAVE && !CUTS_K), "D leaves in two equal halves");
  static_assert(LEAD >= 1 && RING_BYTES <= STAGE_BYTES, "a consumer's part of D is to fit in a stage");
  static_assert(D_STAGES <= 2, "a consumer knows of one other whose stage is D's");
  static_assert(!CUTS_LAST_WAVE || NUM_BANDS % 2 == 0, "half a tile is half of each consumer's bands");
  // A warpgroup that asks for more registers than the others have given back waits for ever.
  static_assert(PRODUCER_REGISTERS + NUM_CONSUMERS * CONSUMER_REGISTERS <= (1 + NUM_CONSUMERS) * LAUNCH_REGISTERS);
};

// Byte offsets from the start of dynamic shared memory.
template <class Config>
struct SmemOf {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int CD = 1024;  // [L04] the pieces of D that are not in the ring
  static constexpr int STAGES = CD + Config::NUM_CONSUMERS * Config::OWN_PIECES * Config::CD_PIECE_BYTES;
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B; or [L08] D
  static_assert(BYTES <= 232'448);
  static_assert(SMEM_EMPTY + 8 * Config::NUM_STAGES <= CD);
  static_assert(Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0 && Config::B_LOAD_BYTES % 1024 == 0 &&
                Config::A_LOAD_BYTES % 1024 == 0);
  static_assert(2 * BYTES > 228 * 1024);  // one CTA runs per SM
};

// [L05] The order of the patches: SWIZZLE_GROUP_SIZE of them one above the other, then the next n. Neighbours in this order
// share their columns (B), and a group as a whole comes back to the same rows (A) while they are still in L2. [L08] Every other
// group goes back from the last n to the first, and so begins with the columns that the one before has ended with.
struct TileCoordinates {
  int m_block, n_block;
};
__host__ __device__ constexpr TileCoordinates tile_coordinates(int tile, int m_blocks, int n_blocks, int full_group) {
  const int tiles_per_group = full_group * n_blocks;
  const int first_m_block = tile / tiles_per_group * full_group;
  const int rest = m_blocks - first_m_block;
  const int group_size = rest < full_group ? rest : full_group;  // the last may be smaller
  const int tile_in_group = tile % tiles_per_group;
  const int n_block = tile_in_group / group_size;
  return {first_m_block + tile_in_group % group_size,
          tile / tiles_per_group % 2 != 0 ? n_blocks - 1 - n_block : n_block};
}

// [L08] A position in the ring's sequence: a stage, and the parity of its barriers' phase. Everybody walks the same sequence: the
// K blocks of a CTA's tiles, one tile after the other, and in between, LEAD K blocks late, the stages that hold a tile's D.
template <class Config>
struct RingPosition {
  int stage = 0;
  uint32_t phase = 0;
  __device__ RingPosition& operator+=(int count) {
    stage += count;
    phase ^= stage / Config::NUM_STAGES & 1;
    stage %= Config::NUM_STAGES;
    return *this;
  }
};

// [L08] Where 16 columns of a band go in a piece of D: the line that stmatrix writes for this lane, a row of four
// 8x8 matrices, or a column if A and B are swapped. The swizzle, as TMA will undo it: 16-byte chunk c of line l lies at chunk
// c ^ (l % 8) of the line's 8; or, where lines are half as long, at c ^ (l / 2 % 4) of 4.
template <class Config>
__device__ __forceinline__ uint32_t address_in_piece(uint32_t piece, int column, uint32_t warp, uint32_t lane) {
  constexpr int SPAN = Config::CD_SPAN;
  const int first = column % Config::CD_N;
  const uint32_t line = Config::SWAPS_AB ? first + lane / 16 * 8 + lane % 8 : warp % 4 * 16 + lane % 16;
  const uint32_t swizzle = Options::swizzled_cd ? line / (64 / SPAN) % (SPAN / 8) : 0;
  const uint32_t chunk = (Config::SWAPS_AB ? warp % 4 * 2 + lane / 8 % 2 : first / 8 + lane / 16) ^ swizzle;
  return piece + line * SPAN * 2 + chunk * 16;
}

// [L08] Where A or B ends. TMA never loads rows beyond: it takes its time to write zeros, and what is in their place makes rows
// or columns that D does not have. A load that would lie beyond is the last one again. (Not none: a load also tells who receives
// it that the sender has had that stage back.)
struct Operand {
  int rows, end_rows;  // of the matrix, and of the load that ends it
  /// Rows that `count` loads of `load_rows` bring, the first of them at row `first`.
  __device__ int rows_in(int count, int load_rows, int first) const {
    const int whole = min(max(rows - first, 0) / load_rows, count);
    return whole * load_rows + (count - whole) * end_rows;
  }
};

// [L07] What others need too goes to them as well: to the same offset, counted at their own barrier.
template <int SHARERS, int ROWS>
__device__ __forceinline__ void load(uint32_t dst, const CUtensorMap* map, const Operand& matrix, int x, int y,
                                     uint32_t bar, uint16_t ctas) {
  map += y + ROWS > matrix.rows;
  y = min(y, matrix.rows - matrix.end_rows);
  if constexpr (SHARERS > 1)
    ptx::cp_async_bulk_tensor_2d_g2s_multicast(dst, map, x, y, bar, ctas);
  else
    ptx::cp_async_bulk_tensor_2d_g2s(dst, map, x, y, bar);
}

// [L08] What TMA moves at a time: of A and B, [1] where the matrix ends; and of D. All maps lie together, and behind them all
// numbers: before its first load a launch waits for every line of its parameters that it reads, and so it reads few.
struct TensorMaps {
  CUtensorMap a[2], b[2], d;
};

// -------------------------------------------------------------------------------------------------------------- kernel

template <class Config>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm90(const __grid_constant__ TensorMaps maps, const __grid_constant__ Operand a,
              const __grid_constant__ Operand b, int k, const __grid_constant__ Schedule schedule, int first_place,
              bool beside, const __grid_constant__ mma::Slices slices) {
  using Smem = SmemOf<Config>;
  extern __shared__ __align__(1024) uint8_t smem[];

  // Step 1: who am I, and which tiles are mine?
  // [L03] Roles are the same in all lanes of a warp. A broadcast tells the compiler so: their loops need no vector registers.
  const uint32_t warp_idx = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const uint32_t lane_idx = threadIdx.x % 32;
  const uint32_t warpgroup_idx = warp_idx / 4;
  const uint32_t cta_rank = Config::CLUSTER_SIZE > 1 ? ptx::cluster_ctarank() : 0;

  // [L07] Where this CTA is in its cluster, [L08] which tile of a patch is its own, and the place where it works. A cluster has
  // all of a patch or a column of it. All CTAs of a place take the same items.
  const int m_rank = static_cast<int>(cta_rank) % Config::CLUSTER_M;
  const int n_rank = static_cast<int>(cta_rank) / Config::CLUSTER_M;
  const int tile_column = static_cast<int>(blockIdx.x) / Config::CLUSTER_M;
  const int parts = Config::CUTS_K ? slices.count : 1;  // [L08] of K
  const int slice = tile_column / Config::CLUSTER_N % parts;
  const int place = first_place + tile_column / parts / schedule.patch_n;
  const int all_k_blocks = (k + Config::BLOCK_K - 1) / Config::BLOCK_K, first_k_block = all_k_blocks * slice / parts;
  const int k_blocks = all_k_blocks * (slice + 1) / parts - first_k_block;  // of this CTA
  // [L08] A whole tile or half of one: its first row and column of D, and how many bands each consumer has in it.
  struct Item {
    int row, col, bands;
  };
  const auto item_at = [&](int index) {
    const int beyond = index - schedule.whole;  // 0, 1, 2, ...: upper half, lower half, upper half of the next, ...
    const bool half = Config::CUTS_LAST_WAVE && beyond >= 0;
    const auto [m_block, n_block] = tile_coordinates(half ? schedule.whole + beyond / 2 : index, schedule.m_blocks,
                                                     schedule.n_blocks, Config::SWIZZLE_GROUP_SIZE);
    const int rows = half ? Config::BLOCK_M / 2 : Config::BLOCK_M;  // per CTA
    const int first_row =
        m_block * Config::CLUSTER_M * Config::BLOCK_M + (half ? beyond % 2 * Config::CLUSTER_M * rows : 0);
    return Item{first_row + m_rank * rows,
                (n_block * schedule.patch_n + tile_column % schedule.patch_n) * Config::BLOCK_N,
                half ? Config::HALF_BANDS : Config::NUM_BANDS};
  };

  // [L08] Which rows or columns of a tile are a consumer's.
  const auto m_part = [](int consumer) { return Config::CONSUMERS_M > 1 ? consumer : 0; };
  const auto n_part = [](int consumer) { return Config::CONSUMERS_N > 1 ? consumer : 0; };

  const uint32_t base = ptx::smem_address(smem);
  const auto smem_full = [&](int stage) { return base + Smem::SMEM_FULL + 8 * stage; };
  const auto smem_empty = [&](int stage) { return base + Smem::SMEM_EMPTY + 8 * stage; };
  const auto stage_a = [&](int stage) { return base + Smem::STAGES + stage * Config::STAGE_BYTES; };
  const auto stage_b = [&](int stage) { return stage_a(stage) + Config::A_BYTES; };
  // [L08] Where this role is in the ring's sequence. The stages of a tile's D stand `lead` K blocks of the next tile behind
  // its own, or directly behind them if it is the last.
  RingPosition<Config> ring;
  const int lead = min(Config::LEAD, k_blocks);
  const auto is_first = [&](int index) { return index == place; };
  const auto is_last = [&](int index) { return index + schedule.places >= schedule.items; };
  // [L06] Where a consumer begins. Those that work in turns have every other item of the CTA: from one to the next it is
  // twice as far.
  const auto first_index = [&](int consumer) { return place + consumer % Config::TURNS * schedule.places; };
  const auto stage_of_d = [&](int index, int consumer) {  // `ring` is behind the tile's K blocks
    RingPosition<Config> position = ring;
    return position += (is_last(index) ? 0 : lead) + (Config::D_STAGES > 1 ? consumer : 0);
  };
  const auto cd_piece = [&](int piece, int stage, int consumer) {
    if constexpr (Config::TURNS > 1) piece %= Config::OWN_PIECES;             // one half of D where the other has been
    constexpr int IN_STAGE = Config::D_STAGES == 1 ? Config::RING_BYTES : 0;  // from consumer to consumer
    const int own = consumer * Config::OWN_PIECES + piece, in_ring = piece - Config::OWN_PIECES;
    return in_ring < 0 ? base + Smem::CD + own * Config::CD_PIECE_BYTES
                       : stage_a(stage) + consumer * IN_STAGE + in_ring * Config::CD_PIECE_BYTES;
  };

  // [L08] The peers of this CTA, by their rank in the cluster: those of its column, then the others of its row.
  const auto peer = [&](int i) {
    const int beyond = i - Config::CLUSTER_M;
    return beyond < 0 ? n_rank * Config::CLUSTER_M + i : (beyond + (beyond >= n_rank)) * Config::CLUSTER_M + m_rank;
  };
  const auto arrive_at_peer = [&](int i, uint32_t bar, uint32_t count) {
    if constexpr (Config::CLUSTER_SIZE > 1)
      ptx::mbarrier_arrive_cluster(ptx::mapa(bar, peer(i)), count);
    else
      ptx::mbarrier_arrive(bar, count);
  };

  // Step 2: set up the barriers. [L08] The launch before may still be running: no matrix is touched here.
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&maps.a[0]);
    ptx::prefetch_tensormap(&maps.b[0]);
    ptx::prefetch_tensormap(&maps.d);
    for (int stage = 0; stage < Config::NUM_STAGES; ++stage) {
      ptx::mbarrier_init(smem_full(stage), Config::FULL_ARRIVALS);
      ptx::mbarrier_init(smem_empty(stage), Config::EMPTY_ARRIVALS * Config::NUM_PEERS);
    }
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the peers use the barriers
  }
  __syncwarp();  // the cluster barrier wants converged warps
  if constexpr (Config::CLUSTER_SIZE > 1) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();  // all CTAs of the cluster run, and their barriers exist
  } else {
    __syncthreads();  // the barriers exist before any thread waits on them
  }
  // [L08] A product begins when the launch before it has ended: orders all that that one did to memory before what follows.
  // Then the next launch may start: another part of this product, or the next one, which sets itself up meanwhile. That
  // orders nothing.
  if (!beside) ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();

  // Step 3: the main loop, once per role.
  if (warpgroup_idx == 0) {                             // [L03] producer
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();  // a whole warpgroup must, although few threads work
    if (warp_idx == 0 && ptx::elect_sync()) {
      const auto wait_until_empty = [&] { ptx::mbarrier_wait(smem_empty(ring.stage), ring.phase ^ 1); };
      // [L08] D gets its stages from the producers of all peers: no D is stored, and its stage given back to all, while a
      // producer still waits for what the stage held before. And who waits for every phase of a barrier cannot mistake one.
      // (A consumer leaves out the phase in which the other's stage becomes D's. It can, if the grant comes before the loads
      // of a K block that it waits for first.)
      const auto give_stages_to_d = [&] {
        for (int i = 0; i < Config::D_STAGES; ++i, ring += 1) {
          wait_until_empty();
          for (int p = 0; p < Config::NUM_PEERS; ++p) arrive_at_peer(p, smem_full(ring.stage), 1);
        }
      };
      uint16_t a_sharers = 0, b_sharers = 0;  // bit r: the CTA of rank r needs the same rows of A, columns of D
      for (int i = 0; i < Config::CLUSTER_N; ++i) a_sharers |= 1 << (i * Config::CLUSTER_M + m_rank);
      for (int i = 0; i < Config::CLUSTER_M; ++i) b_sharers |= 1 << (n_rank * Config::CLUSTER_M + i);
      // [L05] Persistent tile loop. The ring does not start afresh with a tile. [L08] Every other wave begins at the end
      // of K: of the rows that it shares with the wave before, L2 still has what that one has read last.
      for (int index = place, wave = 0; index < schedule.items; index += schedule.places, ++wave) {
        const Item item = item_at(index);
        const int a_rows = a.rows_in(item.bands * Config::CLUSTER_N, Config::A_LOAD_ROWS, item.row);
        const int b_rows = b.rows_in(Config::CLUSTER_M, Config::B_LOAD_ROWS, item.col);
        for (int k_block = 0; k_block < k_blocks; ++k_block) {
          const int k_start = (first_k_block + (wave % 2 != 0 ? k_blocks - 1 - k_block : k_block)) * Config::BLOCK_K;
          const uint32_t full = smem_full(ring.stage);
          wait_until_empty();  // every peer's MMAs are done; the first turn passes
          if (Config::FULL_ARRIVALS > 1) ptx::mbarrier_arrive(full, Config::FULL_ARRIVALS - 1);  // for the others
          ptx::mbarrier_arrive_expect_tx(full, (a_rows + b_rows) * Config::BLOCK_K * 2);
          for (int box = 0; box < item.bands; ++box) {
            load<Config::CLUSTER_N, Config::A_LOAD_ROWS>(
                stage_a(ring.stage) + box * Config::A_BOX_BYTES + n_rank * Config::A_LOAD_BYTES, maps.a, a, k_start,
                item.row + box * Config::A_BOX_ROWS + n_rank * Config::A_LOAD_ROWS, full, a_sharers);
          }
          load<Config::CLUSTER_M, Config::B_LOAD_ROWS>(stage_b(ring.stage) + m_rank * Config::B_LOAD_BYTES, maps.b, b,
                                                       k_start, item.col + m_rank * Config::B_LOAD_ROWS, full,
                                                       b_sharers);
          ring += 1;
          if (k_block + 1 == lead && !is_first(index)) give_stages_to_d();  // of the tile before
        }
      }
      give_stages_to_d();
      // Drain: one more turn of the ring. Every arrival has come then, and none finds this CTA gone. (A stage that was never
      // filled passes, as in the first turn.)
      for (int i = 0; i < Config::NUM_STAGES; ++i, ring += 1) wait_until_empty();
    }
    // [L08] store warps: D has its own threads, which wait in place of the consumers until TMA has read it
    const int consumer = static_cast<int>(warp_idx) - Config::FIRST_STORE_WARP;
    if (!Config::CUTS_K && consumer >= 0 && consumer < Config::NUM_CONSUMERS) {
      const auto tell_consumer = [&] {
        ptx::bar_arrive(Config::D_EMPTY_BARRIER + consumer, Config::D_BARRIER_THREADS);
      };
      for (int index = first_index(consumer); index < schedule.items; index += Config::TURNS * schedule.places) {
        const Item item = item_at(index);
        ring += k_blocks + (is_first(index) ? 0 : Config::D_STAGES);
        const int stage = stage_of_d(index, consumer).stage;
        if constexpr (Options::early_release) tell_consumer();  // what was stored before has been read
        // A piece at a time: TMA works in order, and the next tile's loads shall not queue behind all of D.
        const auto store = [&](int first, int end) {
          for (int piece = first; piece < end; ++piece) {
            const int row = (m_part(consumer) * item.bands + piece / Config::CD_PIECES) * Config::WGMMA_M;
            const int col = n_part(consumer) * Config::WGMMA_N + piece % Config::CD_PIECES * Config::CD_N;
            const int x = Config::SWAPS_AB ? item.row + row : item.col + col;
            const int y = Config::SWAPS_AB ? item.col + col : item.row + row;
            ptx::cp_async_bulk_tensor_2d_s2g(&maps.d, x, y, cd_piece(piece, stage, consumer));
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read<0>();  // its bytes may be overwritten
          }
        };
        ptx::bar_sync(Config::D_FIRST_BARRIER + consumer, Config::D_BARRIER_THREADS);  // the first pieces are there
        if (ptx::elect_sync()) store(0, Config::FIRST_PIECES);
        __syncwarp();                            // bar.sync and bar.arrive want converged warps
        if (Config::TURNS > 1) tell_consumer();  // the other half may be written there
        ptx::bar_sync(Config::D_REST_BARRIER + consumer, Config::D_BARRIER_THREADS);  // and the others
        if (ptx::elect_sync()) {
          store(Config::FIRST_PIECES, item.bands * Config::CD_PIECES);
          if constexpr (Config::D_STAGES > 0) {
            constexpr int ARRIVALS = Config::EMPTY_ARRIVALS * Config::D_STAGES / Config::NUM_CONSUMERS;
            for (int i = 0; i < Config::NUM_PEERS; ++i) arrive_at_peer(i, smem_empty(stage), ARRIVALS);
          }
        }
        __syncwarp();
        if constexpr (!Options::early_release) tell_consumer();
      }
    }
  } else {  // [L03] consumers
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    const int consumer = static_cast<int>(warpgroup_idx) - 1;
    mma::SmemDescriptorSm90 descriptor{.start_address = stage_a(0),
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    const uint64_t a_desc = descriptor.encode();
    descriptor.start_address = stage_b(0) + n_part(consumer) * Config::WGMMA_N * Config::BLOCK_K * 2;
    const uint64_t b_desc = descriptor.encode();
    // Each warp reports for itself: that its own MMAs are done says nothing about the other warps'. [L07] In a cluster it
    // reports to every peer, a lane for each. No data is passed on: the arrivals need no release at cluster scope.
    const auto release = [&](int stage) {
      if (lane_idx < Config::NUM_PEERS) arrive_at_peer(static_cast<int>(lane_idx), smem_empty(stage), 1);
    };
    constexpr uint32_t A_BAND_BYTES = Config::WGMMA_M * Config::BLOCK_K * 2;  // from one band's rows of A to the next's
    float accumulators[Config::NUM_BANDS][Config::WGMMA_N / 2] = {};          // [which 64 rows][fragment]
    int last_stage = 0;     // of the K block whose MMAs were issued last
    bool released = false;  // whether that stage has been given back
    // [L08] The MMAs of one item. The number of bands is the compiler's to know: accumulators are registers.
    const auto multiply = [&]<int BANDS>(bool first_item) {
      const uint64_t a_mine = mma::advance(a_desc, m_part(consumer) * BANDS * A_BAND_BYTES);
      for (int k_block = 0; k_block < k_blocks; ++k_block) {
        ptx::mbarrier_wait(smem_full(ring.stage), ring.phase);  // the operands have arrived
        __syncwarp();                                           // wgmma wants converged warps
        ptx::wgmma_fence();  // orders earlier accesses of the accumulators before the MMAs
        const uint64_t a_stage = mma::advance(a_mine, ring.stage * Config::STAGE_BYTES);
        const uint64_t b_stage = mma::advance(b_desc, ring.stage * Config::STAGE_BYTES);
#pragma unroll
        for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
          const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
#pragma unroll
          for (int band = 0; band < BANDS; ++band) {
            ptx::wgmma_m64k16_bf16(accumulators[band], mma::advance(a_stage, band * A_BAND_BYTES + k_bytes),
                                   mma::advance(b_stage, k_bytes), k_block > 0 || kk > 0);
          }
        }
        ptx::wgmma_commit_group();
        if constexpr (Options::tc_util_percent < 100) {  // [L08] let the tensor core run dry, then idle
          ptx::wgmma_wait_group<0>();
          for (const int64_t start = clock64(); clock64() - start < Config::IDLE_CYCLES;) {}
        }
        ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done
        if (k_block > 0 && !released) release(last_stage);
        last_stage = ring.stage;
        ring += 1;
        released = false;
        if (k_block + 1 == lead && !first_item) {  // [L08] here stand the stages of the D before
          ring += Config::D_STAGES;
          // D has two of them, the loads have few: they get this one back before the next MMAs, not after.
          if constexpr (Config::D_STAGES > 1) {
            ptx::wgmma_wait_group<0>();
            release(last_stage);
            released = true;
          }
        }
      }
    };
    const auto wait_for_store_warp = [&] {
      ptx::bar_sync(Config::D_EMPTY_BARRIER + consumer, Config::D_BARRIER_THREADS);
    };
    const auto tell_store_warp = [&](int barrier) {
      ptx::fence_proxy_async_shared();  // [L05] orders this thread's stores before TMA's reads
      ptx::bar_arrive(barrier + consumer, Config::D_BARRIER_THREADS);
    };
    for (int index = first_index(consumer); index < schedule.items; index += Config::TURNS * schedule.places) {
      const Item item = item_at(index);
      // [L06] Behind the other's K blocks, and not before it has seen them all: a phase that I wait for could be that of two
      // turns of the ring ago.
      if (Config::TURNS > 1 && !is_first(index)) {
        ring += k_blocks;
        ptx::bar_sync(Config::TURN_BARRIER + consumer, 256);
      }
      if (!Config::CUTS_LAST_WAVE || item.bands == Config::NUM_BANDS)
        multiply.template operator()<Config::NUM_BANDS>(is_first(index));
      else
        multiply.template operator()<Config::HALF_BANDS>(is_first(index));
      if (Config::TURNS > 1 && !is_last(index)) ptx::bar_arrive(Config::TURN_BARRIER + 1 - consumer, 256);
      ptx::wgmma_wait_group<0>(accumulators[0], accumulators[Config::NUM_BANDS - 1]);  // the accumulators are readable
      if (!released) release(last_stage);

      // [L08] With a slice of K it has a part of every sum. The warp that comes last adds up, and stores its own rows of D.
      if (Config::CUTS_K) {
        const int tile = place * Config::CLUSTER_SIZE + static_cast<int>(cta_rank);
        const int thread = static_cast<int>(threadIdx.x) - 128;
        const int row = item.row + (m_part(consumer) * item.bands * 4 + thread / 32 % 4) * 16;
        if (mma::sum_slices<128 * Config::NUM_CONSUMERS>(accumulators, slices, tile, slice, thread))
          mma::store_fragments<Config::SWAPS_AB>(accumulators, slices, row,
                                                 item.col + n_part(consumer) * Config::WGMMA_N);
        continue;
      }

      // Step 4: epilogue. [L08] Each consumer turns its rows from fragments into rows, beside the ring and in the stage whose
      // turn it is, and leaves the rest to its store warp.
      if constexpr (Options::early_release) wait_for_store_warp();  // the D before has left: its buffer is free
      const auto [stage, phase] = stage_of_d(index, consumer);
      __syncwarp();  // stmatrix wants converged warps, however they came here
#pragma unroll       // registers have no run-time index: every access of the accumulators must be unrolled
      for (int band = 0; band < Config::NUM_BANDS; ++band) {
        if (band >= item.bands) break;
        const auto pair = [&](int i) {
          return ptx::cvt_rn_bf16x2_f32(accumulators[band][i + 1], accumulators[band][i]);
        };
#pragma unroll
        for (int i = 0; i < Config::WGMMA_N / 2; i += 8) {  // 16 columns: rows 0-7, rows 8-15, both again 8 columns on
          const int column = 2 * i;
          const int piece = band * Config::CD_PIECES + column / Config::CD_N;
          if (piece == Config::FIRST_PIECES && column % Config::CD_N == 0) tell_store_warp(Config::D_FIRST_BARRIER);
          if (Config::TURNS > 1 && piece == Config::FIRST_PIECES && column % Config::CD_N == 0) wait_for_store_warp();
          if (Config::D_STAGES > 0 && piece == Config::WAITING_PIECE && column % Config::CD_N == 0) {
            ptx::mbarrier_wait(smem_full(stage), phase);             // the stage is ours
            if (Config::D_STAGES > 1 && k_blocks <= Config::LEAD) {  // no K block has come since the other's became D's
              const auto other = stage_of_d(index, 1 - consumer);
              ptx::mbarrier_wait(smem_full(other.stage), other.phase);  // the next D's stage would tell, too
            }
            __syncwarp();
          }
          ptx::stmatrix_x4<Config::SWAPS_AB>(
              address_in_piece<Config>(cd_piece(piece, stage, consumer), column, warp_idx, lane_idx), pair(i),
              pair(i + 2), pair(i + 4), pair(i + 6));
        }
      }
      tell_store_warp(Config::D_REST_BARRIER);
      if constexpr (!Options::early_release) wait_for_store_warp();
    }
  }

  // Step 5: tear down. No CTA may exit while a peer still loads into it, or arrives at its barriers: the drain has seen to that.
  // [L08] This launch ends after the one that it runs beside: who waits for it has waited for both. Orders everything that the
  // other stored before that end.
  __syncwarp();  // the wait holds up a whole warp: not before the lane that was elected has done its work
  if (beside) ptx::griddepcontrol_wait();
}

// -------------------------------------------------------------------------------------------------------------- launch

/// SMs of the current device; those of an H100 or H200 where nobody can be asked.
inline int count_sms() {
  int device = 0, num_sms = 132;
  if (cudaGetDevice(&device) == cudaSuccess) cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device);
  return num_sms;
}

/// A launch with all that it takes: what the host finds out once per problem, to enqueue it as often as it likes.
struct Launch {
  const void* kernel;
  cudaLaunchConfig_t config;  ///< but for the stream, and for `attributes`, which it is to point to
  cudaLaunchAttribute attributes[2];
  TensorMaps maps;
  Operand a, b;
  int k;
  Schedule schedule;
  int first_place;
  bool beside;  ///< the launch before is another part of the same product
  mma::Slices slices;

  cudaError_t enqueue(cudaStream_t stream) {
    config.attrs = attributes;
    config.stream = stream;
    void* arguments[] = {&maps, &a, &b, &k, &schedule, &first_place, &beside, &slices};
    return cudaLaunchKernelExC(&config, kernel, arguments);
  }
};

/// What TMA is to know of A or B, row-major [rows, k], of which a CTA loads `load_rows` x BLOCK_K at a time.
inline cudaError_t encode_operand(CUtensorMap (&maps)[2], Operand* operand, const __nv_bfloat16* matrix, int rows,
                                  int k, int load_rows, int block_k) {
  operand->rows = rows;
  operand->end_rows = (rows - 1) % load_rows + 1;
  const auto encode = [&](CUtensorMap* map, int box_rows) {
    return mma::encode_tensor_map_2d(map, matrix, rows, k, k, box_rows, block_k, mma::Swizzle::B128);
  };
  const cudaError_t status = encode(&maps[0], load_rows);
  return status != cudaSuccess ? status : encode(&maps[1], operand->end_rows);
}

/// Adds to `launches` one for clusters of Config that do what `schedule` has for its places from `*place` on, and sets `*place`
/// to the first place that is left over: clusters that share A are launched only as far as they find room at the same time.
/// `problem` is the schedule's part of the whole.
template <class Config>
inline cudaError_t prepare_part(const harness::Problem& problem, const Schedule& schedule, int* place, int slices,
                                std::vector<Launch>* launches) {
  const bool beside = !launches->empty();
  const int ctas_per_place = Config::CLUSTER_M * schedule.patch_n * slices;
  int places = schedule.places - *place;
  Launch launch{
      .kernel = reinterpret_cast<const void*>(gemm_sm90<Config>),
      .config = {.gridDim = static_cast<unsigned>(places * ctas_per_place),
                 .blockDim = Config::NUM_THREADS,
                 .dynamicSmemBytes = SmemOf<Config>::BYTES,
                 .numAttrs = beside ? 2u : 1u},
      .attributes = {{.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {Config::CLUSTER_SIZE, 1, 1}}},
                     {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                      .val = {.programmaticStreamSerializationAllowed = 1}}},
      .k = problem.k,
      .schedule = schedule,
      .first_place = *place,
      .beside = beside,
      .slices = {.count = slices, .d = problem.d, .m = problem.m, .n = problem.n, .ldd = problem.ldd}};
  cudaError_t status =
      encode_operand(launch.maps.a, &launch.a, problem.a, problem.m, problem.k, Config::A_LOAD_ROWS, Config::BLOCK_K);
  if (status != cudaSuccess) return status;
  status =
      encode_operand(launch.maps.b, &launch.b, problem.b, problem.n, problem.k, Config::B_LOAD_ROWS, Config::BLOCK_K);
  if (status != cudaSuccess) return status;
  const auto encode_d = [&](int rows, int cols, int piece_rows) {
    return mma::encode_tensor_map_2d(&launch.maps.d, problem.d, rows, cols, problem.ldd, piece_rows, Config::CD_SPAN,
                                     Options::swizzled_cd ? Config::CD_SWIZZLE : mma::Swizzle::None);
  };
  status =
      Config::SWAPS_AB ? encode_d(problem.n, problem.m, Config::CD_N) : encode_d(problem.m, problem.n, Config::WGMMA_M);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SmemOf<Config>::BYTES);
  if (status != cudaSuccess) return status;
  if constexpr (Config::CLUSTER_N > 1 && !Config::WHOLE) {
    int resident = 0;
    launch.config.attrs = launch.attributes;
    status = cudaOccupancyMaxActiveClusters(&resident, launch.kernel, &launch.config);
    if (status != cudaSuccess) return status;
    places = std::min(places, resident);
    if (places == 0) return cudaSuccess;
    launch.config.gridDim = static_cast<unsigned>(places * ctas_per_place);
  }
  *place += places;
  launches->push_back(launch);
  return cudaSuccess;
}

/// The launches of a product, up to three that run beside one another.
template <TileShape SHAPE>
inline cudaError_t prepare(harness::Problem problem, std::vector<Launch>* launches) {
  if (SHAPE.swap_ab) std::swap(problem.m, problem.n), std::swap(problem.a, problem.b);  // and D stays where it is
  const Plan plan = make_plan(SHAPE, problem.m, problem.n, problem.k, count_sms());
  harness::Problem main = problem, strip = problem;
  main.n = plan.main_n;
  strip.n -= plan.main_n;
  strip.b += static_cast<size_t>(plan.main_n) * problem.k;
  strip.d += plan.main_n * (SHAPE.swap_ab ? problem.ldd : 1);
  // Whole clusters take as many places as they can, columns of them the others, and the strip.
  using Whole = Config<SHAPE>;
  cudaError_t status = cudaSuccess;
  int place = 0, strip_place = 0;
  if (plan.main.places > 0) status = prepare_part<Whole>(main, plan.main, &place, plan.slices, launches);
  if constexpr (!SHAPE.whole) {
    using Column = Config<SHAPE.column()>;
    if (status == cudaSuccess && place < plan.main.places)
      status = prepare_part<Column>(main, plan.main, &place, 1, launches);
    if (status == cudaSuccess && plan.strip.places > 0)
      status = prepare_part<Column>(strip, plan.strip, &strip_place, 1, launches);
  }
  // One launch alone may start before the launch in front of it has ended. With others beside it, it may not: these start when
  // it does, and wait for nothing but its end.
  if (Options::early_launch && launches->size() == 1) launches->front().config.numAttrs = 2;
  return status;
}

/// Finds global memory where the slices of K add up: 128 KB and a few counters for each SM, which the launches of a stream
/// share, since they come one after the other.
inline cudaError_t find_room(int device, cudaStream_t stream, mma::Slices* slices) {
  constexpr size_t SUMS = 128 * 1024, COUNTERS = 8 * sizeof(uint32_t);
  thread_local std::map<std::pair<int, cudaStream_t>, void*> rooms;
  void*& room = rooms[{device, stream}];
  const size_t sms = count_sms();
  if (room == nullptr) {
    void* found = nullptr;
    cudaError_t status = cudaMalloc(&found, sms * (SUMS + COUNTERS));
    if (status == cudaSuccess) status = cudaMemsetAsync(found, 0, sms * COUNTERS, stream);
    if (status != cudaSuccess) return status;
    room = found;
  }
  slices->counters = static_cast<uint32_t*>(room);
  slices->sums = reinterpret_cast<float4*>(static_cast<uint8_t*>(room) + sms * COUNTERS);
  return cudaSuccess;
}

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why). Returns what the driver
/// says of the tensor maps and of the launches. A problem that this thread has met before costs the host no more than these.
/// With slices of K, what the driver says of memory for their sums, too, which a thread keeps for each stream.
template <TileShape SHAPE>
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  constexpr size_t MOST_REMEMBERED = 1024;
  thread_local std::map<std::pair<int, harness::Problem>, std::vector<Launch>> remembered;  // by device and problem
  int device = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  const auto key = std::make_pair(device, problem);
  auto found = remembered.find(key);
  if (found == remembered.end()) {
    std::vector<Launch> launches;
    status = prepare<SHAPE>(problem, &launches);
    if (status != cudaSuccess) return status;
    if (remembered.size() == MOST_REMEMBERED) remembered.clear();
    found = remembered.emplace(key, std::move(launches)).first;
  }
  for (Launch& launch : found->second) {
    if (launch.slices.count > 1) status = find_room(device, stream, &launch.slices);
    if (status == cudaSuccess) status = launch.enqueue(stream);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

/// Which of TILES a problem gets on this GPU.
inline int choose_tile(const harness::Problem& problem) {
  return choose_tile(problem.m, problem.n, problem.k, count_sms());
}

// --------------------------------------------------------------------------------------------------------- in numbers

/// What `--explain` prints and the README's tables are rendered from.
template <TileShape SHAPE>
inline harness::Description describe() {
  using Config = production::Config<SHAPE>;
  using Smem = SmemOf<Config>;
  harness::Description d;
  d.cluster = Config::CLUSTER_SIZE, d.cluster_n = Config::SWAPS_AB ? Config::CLUSTER_M : Config::CLUSTER_N;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N;
  if (Config::SWAPS_AB) std::swap(d.tile_m, d.tile_n);
  d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = Config::NUM_BANDS * Config::WGMMA_N / 2;
  d.constants =
      LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K, Config::NUM_CONSUMERS, Config::NUM_BANDS,
                       Config::LAUNCH_REGISTERS, Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS, Config::CD_N,
                       Config::SWIZZLE_GROUP_SIZE, Config::A_BOX_ROWS, Config::A_LOAD_ROWS, Config::B_LOAD_ROWS,
                       Config::OWN_PIECES, Config::RING_PIECES, Config::D_STAGES, Config::LEAD, Config::IDLE_CYCLES,
                       Config::CUTS_LAST_WAVE, Config::CUTS_K, Config::SWAPS_AB, Config::TURNS, Config::WHOLE);
  if (Config::OWN_PIECES > 0) {
    d.smem = {{"cd", "pieces of D beside the ring", Smem::CD, Config::CD_PIECE_BYTES,
               Config::NUM_CONSUMERS * Config::OWN_PIECES, Config::CD_SPAN * 2,
               Options::swizzled_cd ? Config::CD_SWIZZLE : mma::Swizzle::None}};
  }
  d.smem.push_back(harness::ring(Config::D_STAGES > 0 ? "stages of A and B, or of D" : "stages of A and B",
                                 Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES));
  if (Config::SWAPS_AB) std::swap(d.smem.back().parts[0].first, d.smem.back().parts[1].first);
  const bool holds_d = Config::D_STAGES > 0, turns = Config::TURNS > 1;
  d.barriers = {{"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::FULL_ARRIVALS, Config::STAGE_BYTES,
                 holds_d ? "its CTA's producer, for all, and TMA with the bytes; for D the producer of every peer"
                         : "producer; TMA with the bytes",
                 holds_d ? "all consumers; for D those that write it"
                 : turns ? "the tile's consumer"
                         : "all consumers",
                 0},
                {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, Config::EMPTY_ARRIVALS * Config::NUM_PEERS, 0,
                 holds_d ? "one lane of each consumer warp, of every peer; after D its store warp, for all of them"
                 : turns ? "one lane of each warp of the tile's consumer, of every peer"
                         : "one lane of each consumer warp, of every peer",
                 "producer", 1}};
  if (!Config::CUTS_K)
    d.named_barriers = {
        {"D_FIRST_BARRIER", Config::D_FIRST_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS,
         "the first pieces of a consumer's rows of D are written"},
        {"D_REST_BARRIER", Config::D_REST_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS, "the others, too"},
        {"D_EMPTY_BARRIER", Config::D_EMPTY_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS,
         "TMA has read them"}};
  if (turns)
    d.named_barriers.push_back({"TURN_BARRIER", Config::TURN_BARRIER, Config::NUM_CONSUMERS, 256,
                                "a consumer may issue the MMAs of its tile"});
  d.roles = {{"warp 0 (producer)", "TMA loads (one elected lane)"},
             {"warps from 1 on (store warps), one for each consumer",
              "TMA stores of its consumer's part of D (one elected lane); none with slices of K"},
             {"the others of warpgroup 0", "none: registers are given back by whole warpgroups"},
             {"warpgroups from 1 on (consumers)", turns ? "MMAs and epilogue of every other tile, in turns"
                                                        : "MMAs and epilogue of an equal part each of the tile"}};
  d.tile_at = [](int tile, int m_blocks, int n_blocks) {  // a patch after the other, and in it column by column
    if (Config::SWAPS_AB) std::swap(m_blocks, n_blocks);
    const auto [m, n] = tile_coordinates(tile / Config::CLUSTER_SIZE, m_blocks / Config::CLUSTER_M,
                                         n_blocks / Config::CLUSTER_N, Config::SWIZZLE_GROUP_SIZE);
    const int rank = tile % Config::CLUSTER_SIZE;
    const harness::Tile found = {m * Config::CLUSTER_M + rank % Config::CLUSTER_M,
                                 n * Config::CLUSTER_N + rank / Config::CLUSTER_M};
    return Config::SWAPS_AB ? harness::Tile{found.n_block, found.m_block} : found;
  };
  return d;
}

}  // namespace production
