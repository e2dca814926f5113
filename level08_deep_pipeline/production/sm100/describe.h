// What `--explain` prints, and the tables of pages are rendered from.
#pragma once

#include <string>

#include "common/harness/level.h"
#include "level08_deep_pipeline/production/sm100/config.cuh"
#include "level08_deep_pipeline/production/sm100/tile_walk.cuh"

namespace production {

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
  d.constants = LADDER_CONSTANTS(Config::SUBTILE_M, Config::UMMA_M, Config::UMMA_N, Config::UMMA_K, Config::M_SUBTILES,
                                 Config::NUM_ACCUMULATORS, Config::FIRST_EPILOGUE_WARP, Config::STORE_N,
                                 Config::STORE_BLOCK_N, Config::NUM_STORE_STAGES, Config::SWIZZLE_GROUP_SIZE);
  d.smem = {{"cd", "store sub-tiles of D on their way out", Smem::CD, Config::CD_BYTES, Config::NUM_STORE_STAGES,
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
  if (Config::CLC) {
    d.barriers.push_back({"tile_full", Smem::TILE_FULL, Config::NUM_ANSWERS, 1, Config::ANSWER_BYTES,
                          "the leader's TMA warp, at both CTAs' barriers; the answer with its bytes", "all roles", 0});
    d.barriers.push_back({"tile_empty", Smem::TILE_EMPTY, Config::NUM_ANSWERS, Config::ANSWER_READERS, 0,
                          "each thread of both CTAs that has read the answer, at the leader's barrier",
                          "the leader's TMA warp", 1});
  }
  d.named_barriers = {{"EPILOGUE_BARRIER", Config::EPILOGUE_BARRIER, 1, Config::EPILOGUE_THREADS,
                       "the sub-tile of D is in shared memory; TMA has read an earlier one"}};
  d.roles = {{"warp 0 of each CTA", Config::CLC ? "TMA loads (one elected lane); in the leader it also asks for tiles"
                                                : "TMA loads (one elected lane)"},
             {"warp 1 of the leader CTA", "MMAs for the pair (one elected lane)"},
             {"warp 2 of each CTA", "allocates and frees tensor memory"},
             {"warps 4 to 7 of each CTA", "epilogue: one row of a sub-tile per thread into shared memory"},
             {"thread 128 of each CTA", "hands each sub-tile to TMA"}};
  d.tile_at = harness::tile_order<tile_coordinates<Config>>;
  return d;
}

}  // namespace production
