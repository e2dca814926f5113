// Level 02, Blackwell, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level02_tma_swizzle/kernel_sm100.cuh"

namespace level02 {

template <mma::Swizzle SWIZZLE>
inline harness::Description describe() {
  harness::Description d;
  d.cluster = Config::CTA_GROUP;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "cluster";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.tmem_columns = Config::TMEM_COLUMNS, d.tmem_address = Smem::TMEM_ADDRESS;
  d.constants = LADDER_CONSTANTS(Config::UMMA_M, Config::UMMA_N, Config::UMMA_K);
  d.smem = {
      harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES, SWIZZLE)};
  d.barriers = {
      {"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::CTA_GROUP, Config::CTA_GROUP * Config::STAGE_BYTES,
       "both CTAs' control threads, at the leader's barrier; TMA with the bytes", "the leader's control thread", 0},
      {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 1, 0, "the leader's commit, to both CTAs", "control thread",
       1},
      {"tmem_full", Smem::TMEM_FULL, 1, 1, 0, "the leader's last commit, to both CTAs", "all threads", 0}};
  d.roles = {{"thread 0 of each CTA (control thread)", "TMA loads"},
             {"thread 0 of the leader CTA", "MMAs for the pair"},
             {"all threads of each CTA", "epilogue: one row of the tile each"}};
  return d;
}

}  // namespace level02
