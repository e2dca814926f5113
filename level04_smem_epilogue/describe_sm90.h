// Level 04, Hopper, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level04_smem_epilogue/kernel_sm90.cuh"

namespace level04 {

inline harness::Description describe() {
  harness::Description d;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = Config::WGMMA_N / 2;
  d.constants = LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K, Config::NUM_CONSUMERS,
                                 Config::LAUNCH_REGISTERS, Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS);
  d.smem = {{"cd", "tile of D on its way out", Smem::CD, Config::CD_BYTES, 1, Config::CD_PITCH},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {{"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, 1, Config::STAGE_BYTES,
                 "producer; TMA with the bytes", "consumers", 0},
                {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 4 * Config::NUM_CONSUMERS, 0,
                 "one lane of each consumer warp", "producer", 1}};
  d.roles = {{"warpgroup 0 (producer)", "TMA loads (one elected lane)"},
             {"warpgroups 1 and 2 (consumers)", "MMAs of 64 rows each, then the epilogue of these rows"}};
  return d;
}

}  // namespace level04
