// Level 01, Hopper, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level01_baseline/kernel_sm90.cuh"

namespace level01 {

inline harness::Description describe() {
  harness::Description d;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = 1, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = Smem::BYTES, d.request_bytes = Smem::PINNED_BYTES;
  d.accumulators = 2 * Config::WGMMA_N / 2;
  d.constants = LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K);
  d.smem = {{"a", "A", Smem::A, Config::A_BYTES, 1, 128, mma::Swizzle::B128},
            {"b", "B", Smem::B, Config::B_BYTES, 1, 128, mma::Swizzle::B128}};
  d.barriers = {{"smem_full", Smem::SMEM_FULL, 1, 1, Config::STAGE_BYTES, "control thread; TMA with the bytes",
                 "all threads", 0}};
  d.roles = {{"thread 0 (control thread)", "TMA loads"},
             {"all threads: one warpgroup", "MMAs, then the epilogue of their own fragments"}};
  return d;
}

}  // namespace level01
