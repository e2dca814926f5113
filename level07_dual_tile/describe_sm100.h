// Level 07, Blackwell, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level07_dual_tile/kernel_sm100.cuh"

namespace level07 {

inline harness::Description describe() {
  harness::Description d;
  d.cluster = Config::CTA_GROUP;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.tmem_columns = Config::TMEM_COLUMNS, d.tmem_address = Smem::TMEM_ADDRESS;
  d.constants = LADDER_CONSTANTS(Config::SUBTILE_M, Config::UMMA_M, Config::UMMA_N, Config::UMMA_K, Config::M_SUBTILES,
                                 Config::NUM_ACCUMULATORS, Config::FIRST_EPILOGUE_WARP, Config::STORE_N,
                                 Config::SWIZZLE_GROUP_SIZE);
  d.smem = {{"cd", "store sub-tile of D on its way out", Smem::CD, Config::CD_BYTES, 1, Config::CD_PITCH},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {
      {"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::CTA_GROUP, Config::CTA_GROUP * Config::STAGE_BYTES,
       "both CTAs' TMA warps, at the leader's barrier; TMA with the bytes", "MMA warp", 0},
      {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 1, 0, "the leader's commit, to both CTAs", "TMA warp", 1},
      {"tmem_full", Smem::TMEM_FULL, Config::NUM_ACCUMULATORS, 1, 0, "the leader's commit, to both CTAs",
       "epilogue warps", 0},
      {"tmem_empty", Smem::TMEM_EMPTY, Config::NUM_ACCUMULATORS, Config::CTA_GROUP, 0,
       "one thread of each CTA's epilogue, at the leader's barrier", "MMA warp", 1}};
  d.named_barriers = {{"EPILOGUE_BARRIER", Config::EPILOGUE_BARRIER, 1, Config::EPILOGUE_THREADS,
                       "the sub-tile of D is in shared memory; TMA has read it"}};
  d.roles = {{"warp 0 of each CTA", "TMA loads (one elected lane)"},
             {"warp 1 of the leader CTA", "MMAs for the pair (one elected lane)"},
             {"warp 2 of each CTA", "allocates and frees tensor memory"},
             {"warps 4 to 7 of each CTA", "epilogue: one row of a sub-tile per thread into shared memory"},
             {"thread 128 of each CTA", "hands each sub-tile to TMA"}};
  d.tile_at = harness::tile_order<tile_coordinates>;
  return d;
}

}  // namespace level07
