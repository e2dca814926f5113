// Level 07, Hopper, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level07_dual_tile/kernel_sm90.cuh"

namespace level07 {

inline harness::Description describe() {
  harness::Description d;
  d.cluster = Config::CLUSTER_SIZE;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = 2 * Config::WGMMA_N / 2;
  d.constants = LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K, Config::NUM_CONSUMERS,
                                 Config::LAUNCH_REGISTERS, Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS,
                                 Config::CD_N, Config::SWIZZLE_GROUP_SIZE, Config::B_LOAD_ROWS);
  d.smem = {{"cd", "D on its way out, a buffer per consumer", Smem::CD, Config::CD_BYTES, Config::NUM_CONSUMERS,
             Config::CD_PITCH},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {{"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, 1, Config::STAGE_BYTES,
                 "own producer; TMA with the bytes, half of B from the peer's producer", "the tile's consumer", 0},
                {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 4 * Config::CLUSTER_SIZE, 0,
                 "one lane of each warp of the tile's consumer, in both CTAs", "producer", 1}};
  d.named_barriers = {
      {"STORE_BARRIER", Config::STORE_BARRIER, Config::NUM_CONSUMERS, 128,
       "a consumer's rows of D are in shared memory; TMA has read them"},
      {"TURN_BARRIER", Config::TURN_BARRIER, Config::NUM_CONSUMERS, 256, "a consumer may issue the MMAs of its tile"}};
  d.roles = {
      {"warpgroup 0 (producer) of each CTA", "TMA loads (one elected lane): A for itself, half of B for both CTAs"},
      {"warpgroups 1 and 2 (consumers) of each CTA", "MMAs and epilogue of every other tile, alternately"},
      {"one elected lane of each consumer", "hands its tile to TMA, one store sub-tile at a time"}};
  d.tile_at = harness::tile_order<tile_coordinates>;
  return d;
}

}  // namespace level07
