// What a level tells the harness about itself. A level's main.cu fills in one `Level` and calls `run`; everything
// else (command line, inputs, verification, timing, results) is the harness's business.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <compare>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/mma/swizzle.h"

namespace harness {

/// One GEMM, the same everywhere in this project:  D[M,N] = A[M,K] * B[N,K]^T.
/// All three matrices are row-major BF16 in device memory, 16-byte aligned; accumulation is FP32.
/// A's row pitch is k, B's is k, D's is `ldd` >= n (all in elements). m >= 1; n, k and ldd are multiples of 8,
/// because TMA needs row pitches that are multiples of 16 bytes. A matrix may have more than 2^31 elements, so offsets
/// into one need 64 bits.
struct Problem {
  int m, n, k;
  const __nv_bfloat16* a;
  const __nv_bfloat16* b;
  __nv_bfloat16* d;
  int ldd;

  auto operator<=>(const Problem&) const = default;
};

/// A piece of a CTA's shared memory: `count` equal ones, directly one after the other. Offsets are bytes from the
/// 1,024-aligned start of dynamic shared memory.
struct SmemRegion {
  std::string_view name;  ///< that of the constant in the kernel's Smem, in lower case: "stages"
  std::string_view what;  ///< "stages of A and B"
  int offset;             ///< of the first
  int bytes;              ///< of one
  int count = 1;
  int pitch = 0;  ///< bytes from row to row, where there are rows
  mma::Swizzle swizzle = mma::Swizzle::None;
  std::vector<std::pair<std::string_view, int>> parts = {};  ///< of one, in order, and their bytes
};

/// The ring of stages, each of A and then B.
inline SmemRegion ring(std::string_view what, int offset, int stages, int a_bytes, int b_bytes,
                       mma::Swizzle swizzle = mma::Swizzle::B128) {
  return {.name = "stages",
          .what = what,
          .offset = offset,
          .bytes = a_bytes + b_bytes,
          .count = stages,
          .pitch = mma::swizzle_span_bytes(swizzle),
          .swizzle = swizzle,
          .parts = {{"A", a_bytes}, {"B", b_bytes}}};
}

/// One kind of mbarrier. Each takes 8 bytes.
struct BarrierInfo {
  std::string_view name;  ///< by the state it announces: "smem_full"
  int offset;             ///< of the first, in shared memory
  int copies;             ///< barriers of this kind per CTA: one per stage or accumulator
  int arrivals;           ///< per phase
  int bytes;              ///< that TMA delivers per phase, 0 if it counts none
  std::string_view who_arrives;
  std::string_view who_waits;
  int first_parity;  ///< that the waiter names first: 0 waits for the first phase, 1 passes at once
};

/// A named barrier (bar.sync), or several with consecutive numbers.
struct NamedBarrier {
  std::string_view name;
  int number;             ///< of the first
  int copies;             ///< one per consumer, say
  int threads;            ///< that each of them waits for, those that only arrive included
  std::string_view what;  ///< "the rows of a consumer are in shared memory"
};

/// What a group of threads does.
struct Role {
  std::string_view threads;  ///< "warp 1 of the leader CTA, one lane"
  std::string_view work;     ///< "issues the MMAs"
};

/// Where a tile lies in the grid of tiles that cover D.
struct Tile {
  int m_block, n_block;
};

/// A kernel's own function for that, which returns a structure of its own, as `Description::tile_at` wants it.
template <auto TILE_COORDINATES>
Tile tile_order(int index, int m_blocks, int n_blocks) {
  const auto [m_block, n_block] = TILE_COORDINATES(index, m_blocks, n_blocks);
  return {m_block, n_block};
}

/// A constant of a kernel, by its name.
struct Constant {
  std::string_view name;
  int value;
};

/// LADDER_CONSTANTS(Config::BLOCK_M, Config::BLOCK_N) is {{"BLOCK_M", 128}, {"BLOCK_N", 64}}.
#define LADDER_CONSTANTS(...) ::harness::constants(#__VA_ARGS__, {__VA_ARGS__})
std::vector<Constant> constants(std::string_view names, std::initializer_list<int> values);

/// A kernel in numbers, filled in from its own constants: `--explain` prints it, and pages, pictures and reports are
/// made from it.
struct Description {
  int cluster = 1;                         ///< CTAs
  int cluster_n = 1;                       ///< of these, side by side: with tiles of the same rows of D
  int tile_m = 0, tile_n = 0, tile_k = 0;  ///< elements of D per work item, and of K per stage
  std::string_view tile_owner;             ///< what computes one work tile: "CTA", "cluster"
  int stages = 0, stage_bytes = 0;         ///< per CTA
  int threads = 0;
  int smem_bytes = 0;               ///< of the map below
  int request_bytes = 0;            ///< asked for at launch; more than smem_bytes where a CTA is pinned to an SM
  int tmem_columns = 0;             ///< Blackwell
  int tmem_address = 0;             ///< Blackwell: offset of the word that tells where they are
  int accumulators = 0;             ///< FP32 registers per thread, Hopper
  std::vector<Constant> constants;  ///< those of the kernel's Config that are not said above
  std::vector<SmemRegion> smem;     ///< what is not a barrier, in the order of the offsets
  std::vector<BarrierInfo> barriers;
  std::vector<NamedBarrier> named_barriers;
  std::vector<Role> roles;
  /// Which tile is taken as number `index` of m_blocks x n_blocks, by CTAs (or clusters) that stay and take one tile
  /// after the other; tiles of one cluster have neighbouring numbers. nullptr: each CTA or cluster computes one tile.
  Tile (*tile_at)(int index, int m_blocks, int n_blocks) = nullptr;
};

/// One compiled variant of a level's kernel (a tile shape, a swizzle mode, ...). Most levels have exactly one.
struct Config {
  std::string_view name;  ///< what `--config` selects, e.g. "128x128x64"
  /// Enqueues the GEMM on `stream` and returns the launch's status; does not synchronise.
  cudaError_t (*launch)(const Problem&, cudaStream_t stream);
  Description (*describe)();
};

struct Level {
  std::string_view name;            ///< "level01_baseline"
  int arch;                         ///< 90 (Hopper, sm_90a) or 100 (Blackwell, sm_100a)
  std::string_view idea;            ///< one sentence: what this level adds
  std::span<const Config> configs;  ///< never empty
  /// The configuration that runs when `--config` is not given; nullptr means configs[0] for every shape.
  const Config* (*select)(const Problem&) = nullptr;
};

/// The whole program of a level. Returns the process's exit code: 0 right, 1 wrong result, 2 usage or unsupported
/// shape, 3 CUDA error, 77 skipped (no suitable device).
int run(int argc, char** argv, const Level& level);

}  // namespace harness
