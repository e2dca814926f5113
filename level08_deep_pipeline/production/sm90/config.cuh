// Constants that follow from a tile's shape: roles, barriers, shared memory, and the buffers of D.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/mma/smem_descriptor.h"
#include "level08_deep_pipeline/production/sm90/tile.h"

namespace production {

template <TileShape SHAPE>
struct Config {
  // [L07] CTAs of a cluster that are neighbours in m share their tile of B; [L08] neighbours in n, their tile of A.
  static constexpr int CLUSTER_M = SHAPE.cluster_m;
  static constexpr int CLUSTER_N = SHAPE.cluster_n;
  static constexpr int CLUSTER_SIZE = CLUSTER_M * CLUSTER_N;
  static constexpr int MULTICAST_GROUP = CLUSTER_M + CLUSTER_N - 1;  // this CTA, and those that share A or B with it
  static constexpr int BLOCK_M = SHAPE.block_m;                      // tile of D per CTA
  static constexpr int BLOCK_N = SHAPE.block_n;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int WGMMA_M = 64;
  // [L08] The consumers of a tile divide its rows, or its columns if it has 64 rows. The smallest tile has one
  // consumer.
  static constexpr int CONSUMERS_M = BLOCK_M == 192 ? 3 : BLOCK_M > 64 ? 2 : 1;
  static constexpr int CONSUMERS_N = BLOCK_M > 64 || BLOCK_N == 64 ? 1 : 2;
  static constexpr int NUM_CONSUMERS = CONSUMERS_M * CONSUMERS_N;  // warpgroups that multiply
  static constexpr int WGMMA_N = BLOCK_N / CONSUMERS_N;
  static constexpr int WGMMA_K = 16;
  static constexpr int NUM_STAGES = SHAPE.stages;
  static constexpr int M_SUBTILES = BLOCK_M / CONSUMERS_M / WGMMA_M;  // of 64 rows, per consumer, in a whole tile
  static constexpr int HALF_M_SUBTILES = M_SUBTILES > 1 ? M_SUBTILES / 2 : 1;  // and in half a tile
  static constexpr int NUM_THREADS = 128 * (1 + NUM_CONSUMERS);                // warpgroup 0: producer and store warps
  static constexpr int FIRST_STORE_WARP = 1;                                   // one for each consumer
  static constexpr int LAUNCH_REGISTERS = 65'536 / NUM_THREADS / 8 * 8;  // per thread, what every warpgroup starts with
  static constexpr int PRODUCER_REGISTERS = 40;
  static constexpr int CONSUMER_REGISTERS = NUM_CONSUMERS > 2 ? 152 : 232;
  static constexpr int SWIZZLE_GROUP_SIZE = SHAPE.group;  // rows of cluster tiles that a group covers before n advances
  static constexpr bool CUTS_LAST_WAVE = SHAPE.cut_last_wave;
  static constexpr bool WHOLE_CLUSTERS = SHAPE.whole_clusters;  // no fallback clusters run beside whole ones
  static constexpr bool SPLITS_K = SHAPE.split_k;               // a CTA computes a slice of K; D is not stored by TMA
  // With A and B swapped, rows of the tile are columns of D, and stmatrix transposes the fragments.
  static constexpr bool SWAPS_AB = SHAPE.swap_ab;

  // Named barriers of consumer c and its store warp.
  static constexpr int D_FIRST_BARRIER = 1;                               // + c: the first store sub-tiles are written
  static constexpr int D_REST_BARRIER = D_FIRST_BARRIER + NUM_CONSUMERS;  // + c: the others are written
  static constexpr int D_EMPTY_BARRIER = D_REST_BARRIER + NUM_CONSUMERS;  // + c: TMA has read them all
  static constexpr int D_BARRIER_THREADS = 128 + 32;

  static constexpr int A_BOX_ROWS = CONSUMERS_M * WGMMA_M;  // one M sub-tile of each consumer, adjacent in a stage
  static constexpr int A_BOX_BYTES = A_BOX_ROWS * BLOCK_K * 2;
  static constexpr int A_LOAD_ROWS = A_BOX_ROWS / CLUSTER_N;  // rows of these that one CTA loads for all sharers
  static constexpr int A_LOAD_BYTES = A_LOAD_ROWS * BLOCK_K * 2;
  static constexpr int A_BYTES = M_SUBTILES * A_BOX_BYTES;
  static constexpr int B_BYTES = BLOCK_N * BLOCK_K * 2;
  static constexpr int B_LOAD_ROWS = BLOCK_N / CLUSTER_M;  // [L07] rows of B that one CTA loads for all that share them
  static constexpr int B_LOAD_BYTES = B_LOAD_ROWS * BLOCK_K * 2;
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;

  // A store sub-tile is 64 rows and 64, 32 or 16 columns (swapped: columns and rows): one TMA store.
  static constexpr int CD_N = std::min(64, WGMMA_N & -WGMMA_N);
  static constexpr int CD_SPAN = SWAPS_AB ? WGMMA_M : CD_N;  // elements of a line of it, the span of the swizzle
  static constexpr mma::Swizzle CD_SWIZZLE = mma::swizzle_of_span(CD_SPAN * 2);
  static constexpr int CD_BYTES = WGMMA_M * CD_N * 2;
  static constexpr int CD_PER_M_SUBTILE = WGMMA_N / CD_N;
  static constexpr int STORE_SUBTILES = SPLITS_K ? 0 : M_SUBTILES * CD_PER_M_SUBTILE;  // per consumer
  static constexpr int BYTES_BESIDE_RING = 232'448 - 1024 - NUM_STAGES * STAGE_BYTES;
  // Store sub-tiles that fit beside the ring have a buffer of their own; the others go into stages of the ring that the
  // producer reserves for the epilogue: one stage for all consumers, or one for each.
  static constexpr int BUFFERED = std::min(STORE_SUBTILES, BYTES_BESIDE_RING / NUM_CONSUMERS / CD_BYTES);
  static constexpr int IN_RING = STORE_SUBTILES - BUFFERED;
  static constexpr int IN_RING_BYTES = IN_RING * CD_BYTES;
  static constexpr int D_STAGES = IN_RING == 0 ? 0 : NUM_CONSUMERS * IN_RING_BYTES <= STAGE_BYTES ? 1 : NUM_CONSUMERS;
  // The consumer waits for its stage before the first sub-tile that goes there, or, if in half a tile none does, before
  // the last.
  static constexpr int HALF_STORE_SUBTILES = HALF_M_SUBTILES * CD_PER_M_SUBTILE;
  static constexpr int WAITING_SUBTILE = std::min(BUFFERED, HALF_STORE_SUBTILES - 1);
  // The first sub-tiles leave while the consumer writes the others: those beside the ring, or half of them if all are
  // beside it or none is.
  static constexpr int FIRST_SUBTILES =
      std::min(BUFFERED > 0 && IN_RING > 0 ? BUFFERED : STORE_SUBTILES / 2, HALF_STORE_SUBTILES - 1);
  // The stages of D come this many K blocks after the tile's last, so that its consumers find these K blocks of the
  // next tile loaded when they continue. No later: D gets the stages of the tile's last K blocks, which are free first.
  static constexpr int PREFETCH_DISTANCE = NUM_STAGES - D_STAGES;
  static constexpr int FULL_ARRIVALS = D_STAGES > 0 ? MULTICAST_GROUP : 1;  // the producers of the multicast group
  static constexpr int EMPTY_ARRIVALS = 4 * NUM_CONSUMERS;  // per CTA of the group: the consumers' warps

  static_assert(BLOCK_M % (CONSUMERS_M * WGMMA_M) == 0 && WGMMA_N % CD_N == 0 && BLOCK_N <= 256);
  static_assert(M_SUBTILES * WGMMA_N / 2 <= 192, "accumulators per thread: more would spill");
  static_assert(!SPLITS_K || NUM_CONSUMERS <= 2, "the split-K workspace has counters for eight warps of a CTA");
  static_assert(!SPLITS_K || BLOCK_M * BLOCK_N <= 32 * 1024, "the split-K workspace has 128 KB for the sums of a tile");
  static_assert(PREFETCH_DISTANCE >= 1 && IN_RING_BYTES <= STAGE_BYTES, "a consumer's part of D must fit in a stage");
  static_assert(D_STAGES <= 2, "a consumer waits for the stage of at most one other consumer");
  static_assert(!CUTS_LAST_WAVE || M_SUBTILES % 2 == 0, "half a tile is half of each consumer's M sub-tiles");
  // A warpgroup that requests more registers than the others have released waits for ever.
  static_assert(PRODUCER_REGISTERS + NUM_CONSUMERS * CONSUMER_REGISTERS <= (1 + NUM_CONSUMERS) * LAUNCH_REGISTERS);
};

// Byte offsets from the start of dynamic shared memory.
template <class Config>
struct SmemOf {
  static constexpr int SMEM_FULL = 0;                                    // NUM_STAGES barriers
  static constexpr int SMEM_EMPTY = SMEM_FULL + 8 * Config::NUM_STAGES;  // NUM_STAGES barriers
  static constexpr int CD = 1024;                                        // [L04] buffered store sub-tiles
  static constexpr int STAGES = CD + Config::NUM_CONSUMERS * Config::BUFFERED * Config::CD_BYTES;
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B; or D
  static_assert(BYTES <= 232'448);
  static_assert(SMEM_EMPTY + 8 * Config::NUM_STAGES <= CD);
  static_assert(Config::A_BYTES % 1024 == 0 && Config::STAGE_BYTES % 1024 == 0 && Config::B_LOAD_BYTES % 1024 == 0 &&
                Config::A_LOAD_BYTES % 1024 == 0);
  static_assert(2 * BYTES > 228 * 1024);  // one CTA runs per SM
};

}  // namespace production
