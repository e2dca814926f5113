// State that all roles of a CTA share: its position in the cluster, its work tiles, and the ring of stages.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/mma/slices.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "level08_deep_pipeline/production/sm90/config.cuh"
#include "level08_deep_pipeline/production/sm90/schedule.h"

namespace production {

// The end of A or B. A row beyond the matrix costs TMA time, too (it writes zeros), and its values affect only rows or
// columns that D does not have. So out-of-bounds loads repeat the last valid one, whose arrival still tells the
// receivers that this CTA has that stage back. The last load of a matrix, which may be shorter, has a tensor map of its
// own.
struct Operand {
  int rows, end_rows;  // of the matrix, and of its last load
  /// Rows that `count` loads of `load_rows` rows each fetch, the first of them at row `first`.
  __device__ int rows_in(int count, int load_rows, int first) const {
    const int whole = min(max(rows - first, 0) / load_rows, count);
    return whole * load_rows + (count - whole) * end_rows;
  }
};

// The boxes that TMA moves: of A and B, element [1] for the last rows of the matrix; and of D.
struct TensorMaps {
  CUtensorMap a[2], b[2], d;
};

// The parameters of the kernel. All maps lie together, and all numbers after them: before its first load a launch waits
// for every cache line of parameters that it reads, so they are few.
struct Params {
  TensorMaps maps;
  Operand a, b;
  int k;
  Schedule schedule;
  int first_worker;  // of this launch
  bool secondary;    // the launch before is another part of the same product
  mma::Slices slices;
};

// A position in the ring's sequence: a stage, and the parity of its barriers' phase. All roles follow the same
// sequence: the K blocks of a CTA's tiles, one tile after the other, and between them, PREFETCH_DISTANCE K blocks late,
// the stages of D.
template <class Config>
struct RingPosition {
  int stage = 0;
  uint32_t phase = 0;
  __device__ RingPosition& operator+=(int count) {
    stage += count;
    phase ^= stage / Config::NUM_STAGES & 1;
    stage %= Config::NUM_STAGES;
    return *this;
  }
};

// A whole tile or half of one: its first row and column of D, and how many M sub-tiles each consumer has in it.
struct WorkTile {
  int row, col, m_subtiles;
};

// This CTA, as all its roles see it.
template <class Config>
struct Cta {
  using Smem = SmemOf<Config>;
  const Params& params;
  uint32_t base;                // shared address of dynamic shared memory
  uint32_t rank;                // in the cluster
  int m_rank, n_rank;           // [L07] row and column in the cluster
  int column;                   // of CTAs, counted across the whole launch
  int slice, worker;            // the slice of K of this CTA, and the worker that it is part of
  int first_k_block, k_blocks;  // of this CTA
  int distance;                 // K blocks between a tile's last one and its D: fewer if a tile is short

  __device__ __forceinline__ Cta(const Params& params, uint32_t base)
      : params(params), base(base), rank(Config::CLUSTER_SIZE > 1 ? ptx::cluster_ctarank() : 0) {
    m_rank = static_cast<int>(rank) % Config::CLUSTER_M;
    n_rank = static_cast<int>(rank) / Config::CLUSTER_M;
    column = static_cast<int>(blockIdx.x) / Config::CLUSTER_M;
    const int slices = Config::SPLITS_K ? params.slices.count : 1;
    slice = column / Config::CLUSTER_N % slices;
    worker = params.first_worker + column / slices / params.schedule.width;
    const int all_k_blocks = (params.k + Config::BLOCK_K - 1) / Config::BLOCK_K;
    first_k_block = all_k_blocks * slice / slices;
    k_blocks = all_k_blocks * (slice + 1) / slices - first_k_block;
    distance = min(Config::PREFETCH_DISTANCE, k_blocks);
  }

  __device__ __forceinline__ uint32_t smem_full(int stage) const { return base + Smem::SMEM_FULL + 8 * stage; }
  __device__ __forceinline__ uint32_t smem_empty(int stage) const { return base + Smem::SMEM_EMPTY + 8 * stage; }
  __device__ __forceinline__ uint32_t stage_a(int stage) const {
    return base + Smem::STAGES + stage * Config::STAGE_BYTES;
  }
  __device__ __forceinline__ uint32_t stage_b(int stage) const { return stage_a(stage) + Config::A_BYTES; }

  // [L05] The work tiles of this CTA are those of its worker. All CTAs of a worker take the same ones.
  __device__ __forceinline__ bool is_first(int index) const { return index == worker; }
  __device__ __forceinline__ bool is_last(int index) const {
    return index + params.schedule.workers >= params.schedule.work_tiles;
  }
  __device__ __forceinline__ WorkTile work_tile(int index) const {
    const Schedule& schedule = params.schedule;
    const int beyond = index - schedule.whole;  // 0, 1, 2, ...: upper half, lower half, upper half of the next, ...
    const bool half = Config::CUTS_LAST_WAVE && beyond >= 0;
    const auto [m_block, n_block] = tile_coordinates(half ? schedule.whole + beyond / 2 : index, schedule.m_tiles,
                                                     schedule.n_tiles, Config::SWIZZLE_GROUP_SIZE);
    const int rows = half ? Config::BLOCK_M / 2 : Config::BLOCK_M;  // per CTA
    const int first_row =
        m_block * Config::CLUSTER_M * Config::BLOCK_M + (half ? beyond % 2 * Config::CLUSTER_M * rows : 0);
    return {first_row + m_rank * rows, (n_block * schedule.width + column % schedule.width) * Config::BLOCK_N,
            half ? Config::HALF_M_SUBTILES : Config::M_SUBTILES};
  }

  // The part of a tile's rows or columns that a consumer computes.
  __device__ static __forceinline__ int m_part(int consumer) { return Config::CONSUMERS_M > 1 ? consumer : 0; }
  __device__ static __forceinline__ int n_part(int consumer) { return Config::CONSUMERS_N > 1 ? consumer : 0; }

  // The stage that is reserved for D of a tile whose K blocks end before `ring`. It comes `distance` K blocks of the
  // next tile later, or directly after the tile's own if it is the last.
  __device__ __forceinline__ RingPosition<Config> stage_of_d(RingPosition<Config> ring, int index, int consumer) const {
    return ring += (is_last(index) ? 0 : distance) + (Config::D_STAGES > 1 ? consumer : 0);
  }
  // Where store sub-tile `i` of a consumer lies; `stage` is that of its D.
  __device__ __forceinline__ uint32_t store_subtile(int i, int stage, int consumer) const {
    constexpr int IN_STAGE = Config::D_STAGES == 1 ? Config::IN_RING_BYTES : 0;  // from consumer to consumer
    const int buffer = consumer * Config::BUFFERED + i, in_ring = i - Config::BUFFERED;
    return in_ring < 0 ? base + Smem::CD + buffer * Config::CD_BYTES
                       : stage_a(stage) + consumer * IN_STAGE + in_ring * Config::CD_BYTES;
  }

  // The multicast group of this CTA, by rank in the cluster: the CTAs of its column, then the others of its row.
  __device__ __forceinline__ int group_rank(int i) const {
    const int beyond = i - Config::CLUSTER_M;
    return beyond < 0 ? n_rank * Config::CLUSTER_M + i : (beyond + (beyond >= n_rank)) * Config::CLUSTER_M + m_rank;
  }
  __device__ __forceinline__ void arrive_at(int i, uint32_t bar, uint32_t count) const {
    if constexpr (Config::CLUSTER_SIZE > 1)
      ptx::mbarrier_arrive_cluster(ptx::mapa(bar, group_rank(i)), count);
    else
      ptx::mbarrier_arrive(bar, count);
  }
};

}  // namespace production
