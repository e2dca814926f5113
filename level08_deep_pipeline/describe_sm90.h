// Level 08, Hopper, in numbers: what `--explain` prints, and what the page's tables and pictures are made from.
#pragma once

#include "common/harness/level.h"
#include "level08_deep_pipeline/kernel_sm90.cuh"

namespace level08 {

inline harness::Description describe() {
  harness::Description d;
  d.cluster = Config::CLUSTER_SIZE;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N, d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = Config::WGMMA_N / 2;
  d.constants = LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K, Config::NUM_CONSUMERS,
                                 Config::LAUNCH_REGISTERS, Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS,
                                 Config::CD_N, Config::STORE_BLOCK_N, Config::SWIZZLE_GROUP_SIZE, Config::B_LOAD_ROWS);
  d.smem = {{"cd", "store sub-tiles of D, half of each consumer's rows", Smem::CD, Config::STORE_BYTES,
             Config::NUM_CONSUMERS * Config::CD_N / Config::STORE_BLOCK_N, Config::CD_PITCH, mma::Swizzle::B128},
            harness::ring("stages of A and B", Smem::STAGES, Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES)};
  d.barriers = {{"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, 1, Config::STAGE_BYTES,
                 "own producer; TMA with the bytes, half of B from the peer's producer", "both consumers", 0},
                {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, 4 * Config::NUM_CONSUMERS * Config::CLUSTER_SIZE,
                 0, "one lane of each consumer warp, in both CTAs", "producer", 1}};
  d.named_barriers = {{"D_FULL_BARRIER", Config::D_FULL_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS,
                       "half of a consumer's rows of D is in shared memory"},
                      {"D_EMPTY_BARRIER", Config::D_EMPTY_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS,
                       "TMA has read it"}};
  d.roles = {{"warp 0 (producer) of each CTA", "TMA loads (one elected lane): A for itself, half of B for both CTAs"},
             {"warps 1 and 2 (store warps) of each CTA", "TMA stores of a consumer's rows of D (one elected lane)"},
             {"warp 3 of each CTA", "none: registers are given back by whole warpgroups"},
             {"warpgroups 1 and 2 (consumers) of each CTA", "MMAs and epilogue of 64 rows each of every tile"}};
  d.tile_at = harness::tile_order<tile_coordinates>;
  return d;
}

}  // namespace level08
