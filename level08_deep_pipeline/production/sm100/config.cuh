// Constants that follow from a configuration: roles, stages, tensor memory, shared memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace production {

/// The choices of a configuration.
struct Options {
  int block_m, block_n;         ///< tile of D per CTA
  int num_stages;               ///< of the ring; 0: as many as fit, at most 8
  int num_store_stages = 2;     ///< buffers for D on its way out
  int group_size = 8;           ///< m-blocks that a group of tiles covers before n advances
  bool asap_tmem_empty = true;  ///< whether each epilogue warp releases the accumulator for itself, after its last load
  bool swizzled_cd = true;      ///< whether D leaves with the 128-byte swizzle
  bool clc = true;              ///< whether tiles are taken by cluster launch control, not by a static schedule
};
// The timing model's first rank over 4096 to 12288: the largest tile of which tensor memory holds two accumulators.
inline constexpr Options CHOSEN = {.block_m = 128, .block_n = 256, .num_stages = 0, .group_size = 16};

template <Options OPTIONS>
struct Config {
  static constexpr int CTA_GROUP = 2;              // CTAs that share one MMA, and the cluster's size
  static constexpr int BLOCK_M = OPTIONS.block_m;  // [L07] tile of D per CTA, and its rows of A
  static constexpr int SUBTILE_M = 128;  // [L06] rows of an M sub-tile, which one MMA computes for a CTA: TMEM's lanes
  static constexpr int BLOCK_N = OPTIONS.block_n;
  static constexpr int BLOCK_K = 64;  // 128 bytes of K per row: exactly one span of the 128-byte swizzle
  static constexpr int UMMA_M = 256;  // the MMA counts the rows of both CTAs
  static constexpr int UMMA_N = BLOCK_N;
  static constexpr int UMMA_K = 16;
  static constexpr int NUM_THREADS = 256;
  static constexpr int FIRST_EPILOGUE_WARP = 4;  // [L06] 4 warps, one per quarter of TMEM's lanes
  static constexpr int EPILOGUE_THREADS = 128;
  static constexpr int EPILOGUE_BARRIER = 1;  // number of their own bar.sync
  static constexpr int M_SUBTILES = BLOCK_M / SUBTILE_M;
  static constexpr int ACCUMULATOR_COLUMNS = M_SUBTILES * BLOCK_N;
  static constexpr int NUM_ACCUMULATORS = ACCUMULATOR_COLUMNS <= 256 ? 2 : 1;  // [L06]
  static constexpr int TMEM_COLUMNS = std::bit_ceil(uint32_t{NUM_ACCUMULATORS * ACCUMULATOR_COLUMNS});
  static constexpr int STORE_N = 8;         // BF16 elements in one store to shared memory: 16 bytes
  static constexpr int STORE_BLOCK_N = 64;  // [L08] columns of a store sub-tile: 128 bytes, the swizzle's span
  static constexpr int NUM_STORE_STAGES = OPTIONS.num_store_stages;  // [L08] buffers for store sub-tiles
  static constexpr int SWIZZLE_GROUP_SIZE =
      OPTIONS.group_size;  // m-blocks that a group of tiles covers before n advances
  static constexpr bool ASAP_TMEM_EMPTY = OPTIONS.asap_tmem_empty, SWIZZLED_CD = OPTIONS.swizzled_cd;
  static constexpr bool CLC = OPTIONS.clc;
  // [L08] Arrivals that free an accumulator: every epilogue warp of the pair, or one thread per CTA.
  static constexpr int TMEM_EMPTY_ARRIVALS = CTA_GROUP * (ASAP_TMEM_EMPTY ? EPILOGUE_THREADS / 32 : 1);

  static constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2;              // per CTA: all its rows
  static constexpr int B_BYTES = BLOCK_N / CTA_GROUP * BLOCK_K * 2;  // per CTA: its half of the rows
  static constexpr int SUBTILE_BYTES = SUBTILE_M * BLOCK_K * 2;      // of A
  static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int CD_PITCH = STORE_BLOCK_N * 2;     // bytes from row to row of a store sub-tile
  static constexpr int CD_BYTES = SUBTILE_M * CD_PITCH;  // a store sub-tile
  static constexpr int STAGES_THAT_FIT = (232'448 - 1024 - NUM_STORE_STAGES * CD_BYTES) / STAGE_BYTES;
  static constexpr int NUM_STAGES = OPTIONS.num_stages > 0 ? OPTIONS.num_stages : std::min(STAGES_THAT_FIT, 8);
  // For CLC. The TMA warp requests a tile while it loads the one before; MMAs may be a tile behind, the epilogue two.
  static constexpr int NUM_ANSWERS = NUM_ACCUMULATORS + 1;
  static constexpr int ANSWER_BYTES = 16;
  // Threads that read an answer: the TMA thread and the epilogue of both CTAs, and the thread that issues the MMAs.
  static constexpr int ANSWER_READERS = CTA_GROUP * (1 + EPILOGUE_THREADS) + 1;

  static_assert(BLOCK_M == 128 || BLOCK_M == 256, "BLOCK_M is 128 or 256");
  static_assert(BLOCK_N % 64 == 0 && BLOCK_N <= 256, "BLOCK_N is a multiple of 64 up to 256");
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
  static constexpr int TMEM_ADDRESS =
      TMEM_EMPTY + 8 * Config::NUM_ACCUMULATORS;      // where tcgen05.alloc leaves its result
  static constexpr int TILE_FULL = TMEM_ADDRESS + 8;  // for CLC: NUM_ANSWERS barriers
  static constexpr int TILE_EMPTY = TILE_FULL + 8 * Config::NUM_ANSWERS;
  static constexpr int ANSWERS = (TILE_EMPTY + 8 * Config::NUM_ANSWERS + 15) / 16 * 16;  // 16-byte aligned
  static constexpr int CD = 1024;  // [L04] store sub-tiles of D on their way out
  static constexpr int STAGES =
      CD + Config::NUM_STORE_STAGES * Config::CD_BYTES;  // the swizzle repeats every 1,024 bytes
  static constexpr int BYTES = STAGES + Config::NUM_STAGES * Config::STAGE_BYTES;  // a stage is A, then B
  static_assert(BYTES <= 232'448);
  static_assert(ANSWERS + Config::NUM_ANSWERS * Config::ANSWER_BYTES <= CD);
};

}  // namespace production
