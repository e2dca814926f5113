// Level 08, Blackwell, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level08_deep_pipeline/kernel_sm100.cuh"

namespace level08 {

inline harness::Description describe() {
  harness::Description d;
  d.cluster = Config::CTA_GROUP;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.tmem_columns = Config::TMEM_COLUMNS, d.tmem_address = Smem::TMEM_ADDRESS;
  d.constants = LADDER_CONSTANTS(Config::UMMA_M, Config::UMMA_N, Config::UMMA_K, Config::NUM_ACCUMULATORS,
                                 Config::FIRST_EPILOGUE_WARP, Config::STORE_N, Config::STORE_BLOCK_N,
                                 Config::NUM_STORE_STAGES, Config::SWIZZLE_GROUP_SIZE, Config::IDLE_CYCLES);
  d.smem = {{"cd", "store sub-tiles of D on their way out", Smem::CD, Config::CD_BYTES, Config::NUM_STORE_STAGES,
             Config::CD_PITCH, mma::Swizzle::B128},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {
      {"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::CTA_GROUP, Config::CTA_GROUP * Config::STAGE_BYTES,
       "both CTAs' TMA warps, at the leader's barrier; TMA with the bytes", "MMA warp", 0},
      {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 1, 0, "the leader's commit, to both CTAs", "TMA warp", 1},
      {"tmem_full", Smem::TMEM_FULL, Config::NUM_ACCUMULATORS, 1, 0, "the leader's commit, to both CTAs",
       "epilogue warps", 0},
      {"tmem_empty", Smem::TMEM_EMPTY, Config::NUM_ACCUMULATORS, Config::TMEM_EMPTY_ARRIVALS, 0,
       "one lane of each epilogue warp of the pair, at the leader's barrier", "MMA warp", 1}};
  if (Config::TC_UTIL < 100) {
    d.barriers.push_back({"mma_idle", Smem::MMA_IDLE, 1, 1, 0, "the leader's commit of a K block", "MMA warp", 0});
  }
  d.named_barriers = {{"EPILOGUE_BARRIER", Config::EPILOGUE_BARRIER, 1, Config::EPILOGUE_THREADS,
                       "a sub-tile of D is in shared memory; TMA has read an earlier one"}};
  d.roles = {{"warp 0 of each CTA", "TMA loads (one elected lane)"},
             {"warp 1 of the leader CTA", "MMAs for the pair (one elected lane)"},
             {"warp 2 of each CTA", "allocates and frees tensor memory"},
             {"warps 4 to 7 of each CTA", "epilogue: one row of a sub-tile per thread into shared memory"},
             {"thread 128 of each CTA", "hands each sub-tile to TMA"}};
  d.tile_at = harness::tile_order<tile_coordinates>;
  return d;
}

}  // namespace level08
