// What `--explain` prints, and the tables of pages are rendered from.
#pragma once

#include <utility>

#include "common/harness/level.h"
#include "level08_deep_pipeline/production/sm90/config.cuh"
#include "level08_deep_pipeline/production/sm90/schedule.h"

namespace production {

template <TileShape SHAPE>
inline harness::Description describe() {
  using Config = production::Config<SHAPE>;
  using Smem = SmemOf<Config>;
  harness::Description d;
  d.cluster = Config::CLUSTER_SIZE, d.cluster_n = Config::SWAPS_AB ? Config::CLUSTER_M : Config::CLUSTER_N;
  d.tile_m = Config::BLOCK_M, d.tile_n = Config::BLOCK_N;
  if (Config::SWAPS_AB) std::swap(d.tile_m, d.tile_n);
  d.tile_k = Config::BLOCK_K, d.tile_owner = "CTA";
  d.stages = Config::NUM_STAGES, d.stage_bytes = Config::STAGE_BYTES;
  d.threads = Config::NUM_THREADS;
  d.smem_bytes = d.request_bytes = Smem::BYTES;
  d.accumulators = Config::M_SUBTILES * Config::WGMMA_N / 2;
  d.constants =
      LADDER_CONSTANTS(Config::WGMMA_M, Config::WGMMA_N, Config::WGMMA_K, Config::NUM_CONSUMERS, Config::M_SUBTILES,
                       Config::LAUNCH_REGISTERS, Config::PRODUCER_REGISTERS, Config::CONSUMER_REGISTERS, Config::CD_N,
                       Config::SWIZZLE_GROUP_SIZE, Config::A_BOX_ROWS, Config::A_LOAD_ROWS, Config::B_LOAD_ROWS,
                       Config::BUFFERED, Config::IN_RING, Config::D_STAGES, Config::PREFETCH_DISTANCE,
                       Config::CUTS_LAST_WAVE, Config::WHOLE_CLUSTERS, Config::SPLITS_K, Config::SWAPS_AB);
  if (Config::BUFFERED > 0) {
    d.smem = {{"cd", "store sub-tiles of D beside the ring", Smem::CD, Config::CD_BYTES,
               Config::NUM_CONSUMERS * Config::BUFFERED, Config::CD_SPAN * 2, Config::CD_SWIZZLE}};
  }
  const bool holds_d = Config::D_STAGES > 0;
  d.smem.push_back(harness::ring(holds_d ? "stages of A and B, or of D" : "stages of A and B", Smem::STAGES,
                                 Config::NUM_STAGES, Config::A_BYTES, Config::B_BYTES));
  if (Config::SWAPS_AB) std::swap(d.smem.back().parts[0].first, d.smem.back().parts[1].first);
  d.barriers = {
      {"smem_full", Smem::SMEM_FULL, Config::NUM_STAGES, Config::FULL_ARRIVALS, Config::STAGE_BYTES,
       holds_d
           ? "its CTA's producer, for its multicast group, and TMA with the bytes; for D every producer of the group"
           : "producer; TMA with the bytes",
       holds_d ? "all consumers; for D those that write it" : "all consumers", 0},
      {"smem_empty", Smem::SMEM_EMPTY, Config::NUM_STAGES, Config::EMPTY_ARRIVALS * Config::MULTICAST_GROUP, 0,
       holds_d ? "one lane of each consumer warp of the multicast group; after D its store warp, for all of them"
               : "one lane of each consumer warp of the multicast group",
       "producer", 1}};
  if (!Config::SPLITS_K) {
    d.named_barriers = {
        {"D_FIRST_BARRIER", Config::D_FIRST_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS,
         "the first store sub-tiles of a consumer's rows of D are written"},
        {"D_REST_BARRIER", Config::D_REST_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS, "the others, too"},
        {"D_EMPTY_BARRIER", Config::D_EMPTY_BARRIER, Config::NUM_CONSUMERS, Config::D_BARRIER_THREADS,
         "TMA has read them"}};
  }
  d.roles = {{"warp 0 (producer)", "TMA loads (one elected lane)"},
             {"warps from 1 on (store warps), one for each consumer",
              "TMA stores of its consumer's part of D (one elected lane); none with split-K"},
             {"the others of warpgroup 0", "none: registers are released by whole warpgroups"},
             {"warpgroups from 1 on (consumers)", "MMAs and epilogue of an equal part each of the tile"}};
  d.tile_at = [](int tile, int m_blocks, int n_blocks) {  // a cluster tile after the other, and in it column by column
    if (Config::SWAPS_AB) std::swap(m_blocks, n_blocks);
    const auto [m, n] = tile_coordinates(tile / Config::CLUSTER_SIZE, m_blocks / Config::CLUSTER_M,
                                         n_blocks / Config::CLUSTER_N, Config::SWIZZLE_GROUP_SIZE);
    const int rank = tile % Config::CLUSTER_SIZE;
    const harness::Tile found = {m * Config::CLUSTER_M + rank % Config::CLUSTER_M,
                                 n * Config::CLUSTER_N + rank / Config::CLUSTER_M};
    return Config::SWAPS_AB ? harness::Tile{found.n_block, found.m_block} : found;
  };
  return d;
}

}  // namespace production
