// Level 05, Hopper, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level05_persistent/kernel_sm90.cuh"

namespace level05 {

inline harness::Description describe() {
  harness::Description d;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = Config::WGMMA_N / 2;
  d.constants = LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K, Config::NUM_CONSUMERS,
                                 Config::LAUNCH_REGISTERS, Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS,
                                 Config::SWIZZLE_GROUP_SIZE);
  d.smem = {{"cd", "D on its way out, a buffer per consumer", Smem::CD, Config::CD_BYTES, Config::NUM_CONSUMERS,
             Config::CD_PITCH},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {{"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, 1, Config::STAGE_BYTES,
                 "producer; TMA with the bytes", "consumers", 0},
                {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 4 * Config::NUM_CONSUMERS, 0,
                 "one lane of each consumer warp", "producer", 1}};
  d.named_barriers = {{"STORE_BARRIER", Config::STORE_BARRIER, Config::NUM_CONSUMERS, 128,
                       "a consumer's rows of D are in shared memory; TMA has read them"}};
  d.roles = {{"warpgroup 0 (producer)", "TMA loads (one elected lane)"},
             {"warpgroups 1 and 2 (consumers)", "MMAs of 64 rows each, then the epilogue of these rows"},
             {"one elected lane of each consumer", "hands its rows to TMA"}};
  d.tile_at = harness::tile_order<tile_coordinates>;
  return d;
}

}  // namespace level05
