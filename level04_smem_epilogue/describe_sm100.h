// Level 04, Blackwell, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level04_smem_epilogue/kernel_sm100.cuh"

namespace level04 {

inline harness::Description describe() {
  harness::Description d;
  d.cluster = Config::CTA_GROUP;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "cluster";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.tmem_columns = Config::TMEM_COLUMNS, d.tmem_address = Smem::TMEM_ADDRESS;
  d.constants = LADDER_CONSTANTS(Config::UMMA_M, Config::UMMA_N, Config::UMMA_K, Config::STORE_N);
  d.smem = {{"cd", "tile of D on its way out", Smem::CD, Config::CD_BYTES, 1, Config::CD_PITCH},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {
      {"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::CTA_GROUP, Config::CTA_GROUP * Config::STAGE_BYTES,
       "both CTAs' TMA warps, at the leader's barrier; TMA with the bytes", "MMA warp", 0},
      {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 1, 0, "the leader's commit, to both CTAs", "TMA warp", 1},
      {"tmem_full", Smem::TMEM_FULL, 1, 1, 0, "the leader's last commit, to both CTAs", "all warps", 0}};
  d.roles = {{"warp 0 of each CTA", "TMA loads (one elected lane)"},
             {"warp 1 of the leader CTA", "MMAs for the pair (one elected lane)"},
             {"all warps of each CTA, afterwards",
              "epilogue: one row of the tile per thread into shared memory, then one row per warp and step to D"}};
  return d;
}

}  // namespace level04
