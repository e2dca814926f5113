// Level 02, Hopper, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level02_tma_swizzle/kernel_sm90.cuh"

namespace level02 {

template <mma::Swizzle SWIZZLE>
inline harness::Description describe() {
  harness::Description d;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = 2 * Config::WGMMA_N / 2;
  d.constants = LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K);
  d.smem = {
      harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES, SWIZZLE)};
  d.barriers = {{"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, 1, Config::STAGE_BYTES,
                 "control thread; TMA with the bytes", "all threads", 0},
                {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, Config::NUM_THREADS / 32, 0,
                 "one lane of each warp", "control thread", 0}};
  d.roles = {{"thread 0 (control thread)", "TMA loads, up to NUM_STAGES K blocks ahead"},
             {"all threads: one warpgroup", "MMAs, then the epilogue of their own fragments"}};
  return d;
}

}  // namespace level02
