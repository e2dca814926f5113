// The tiles of a CTA: by a static schedule, or by cluster launch control.
#pragma once

#include <cstdint>

#include "common/ptx/launch_control.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "level08_deep_pipeline/production/sm100/config.cuh"

namespace production {

// [L05] The order of tiles: SWIZZLE_GROUP_SIZE m-blocks downwards, then the next n. Neighbours in this order share
// their columns (B), and a group as a whole comes back to the same rows (A) while they are still in L2.
struct TileCoordinates {
  int m_block, n_block;
};
template <class Config>
__host__ __device__ constexpr TileCoordinates tile_coordinates(int tile, int m_blocks, int n_blocks) {
  const int tiles_per_group = Config::SWIZZLE_GROUP_SIZE * n_blocks;
  const int first_m_block = tile / tiles_per_group * Config::SWIZZLE_GROUP_SIZE;
  const int rest = m_blocks - first_m_block;
  const int group_size =
      rest < Config::SWIZZLE_GROUP_SIZE ? rest : Config::SWIZZLE_GROUP_SIZE;  // the last may be smaller
  const int tile_in_group = tile % tiles_per_group;
  return {first_m_block + tile_in_group % group_size, tile_in_group / group_size};
}

// [L07] Rows of tiles, rounded up to a whole pair. Groups of tiles are even then, so tiles t and t + 1 with t even
// share n_block and are neighbours in m: the two halves of B in the pair belong to the same columns. A tile that lies
// wholly outside D is loaded as zeros and stored nowhere.
template <class Config>
__host__ __device__ constexpr int padded_m_blocks(int m) {
  const int m_blocks = (m + Config::BLOCK_M - 1) / Config::BLOCK_M;
  return (m_blocks + Config::CTA_GROUP - 1) / Config::CTA_GROUP * Config::CTA_GROUP;
}

// [L05] A role's walk through the tiles of this CTA: its first, then every num_ctas-th. Each role walks at its own
// pace.
template <class Config, bool CLC>
struct TileWalk {
  int tile, tiles, num_ctas;

  __device__ bool has_tile() const { return tile < tiles; }
  __device__ void ask_for_next() {}
  __device__ void next() { tile += num_ctas; }
};

// With CLC the grid has a CTA per tile, and the first of them are resident. A cluster requests to cancel one that has
// not started, and computes its tile. The async proxy writes the answer into rings in both CTAs, which all roles read.
template <class Config>
struct TileWalk<Config, true> {
  int tile, tiles;
  uint32_t full, empty, answers, cta_rank;  // shared addresses of tile_full[0], tile_empty[0] and the first answer
  int slot = 0;
  uint32_t phase = 0;

  __device__ bool has_tile() const { return tile < tiles; }

  // Executed by the leader's TMA thread before it loads a tile. After a request that failed, there must be no other.
  __device__ void ask_for_next() const {
    ptx::mbarrier_wait(empty + 8 * slot, phase ^ 1);  // orders the new answer after all reads of the one before
    for (int rank = 0; rank < Config::CTA_GROUP; ++rank) {
      ptx::mbarrier_arrive_expect_tx_cluster(ptx::mapa(full + 8 * slot, rank), Config::ANSWER_BYTES);
    }
    ptx::clusterlaunchcontrol_try_cancel_multicast(answers + Config::ANSWER_BYTES * slot, full + 8 * slot);
  }

  __device__ void next() {
    ptx::mbarrier_wait(full + 8 * slot, phase);  // orders the read after the answer
    const uint4 answer = ptx::ld_shared_v4(answers + Config::ANSWER_BYTES * slot);
    ptx::fence_proxy_async_shared();  // orders this thread's read before the async proxy's next write there
    ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(empty + 8 * slot));
    tile = tiles;
    if (ptx::clusterlaunchcontrol_query_cancel_is_canceled(answer)) {
      tile = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x(answer) + cta_rank;
    }
    if (++slot == Config::NUM_ANSWERS) slot = 0, phase ^= 1;
  }
};

}  // namespace production
