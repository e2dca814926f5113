// What a level tells the harness about itself. A level's main.cu fills in one `Level` and calls `run`; everything
// else (command line, inputs, verification, timing, results) is the harness's business.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

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
};

/// A piece of a CTA's shared memory. Bytes, from the 1,024-aligned start of dynamic shared memory.
struct SmemRegion {
  std::string_view name;  ///< "A, stage 0"
  int offset;
  int bytes;
};

/// One kind of mbarrier.
struct BarrierInfo {
  std::string_view name;  ///< by the state it announces: "smem_full"
  int copies;             ///< barriers of this kind per CTA: one per stage or accumulator
  int arrivals;           ///< per phase
  int bytes;              ///< that TMA delivers per phase, 0 if it counts none
  std::string_view who_arrives;
  std::string_view who_waits;
  int first_parity;  ///< that the waiter names first: 0 waits for the first phase, 1 passes at once
};

/// What a group of threads does.
struct Role {
  std::string_view threads;  ///< "warp 1 of the leader CTA, one lane"
  std::string_view work;     ///< "issues the MMAs"
};

/// A kernel in numbers, filled in from its own constants: `--explain` prints it and the READMEs are rendered from it.
struct Description {
  int cluster = 1;                         ///< CTAs
  int tile_m = 0, tile_n = 0, tile_k = 0;  ///< elements of D per work item, and of K per stage
  std::string_view tile_owner;             ///< who computes one work item: "CTA", "cluster"
  int stages = 0, stage_bytes = 0;         ///< per CTA
  int threads = 0;
  int smem_bytes = 0;     ///< of the map below
  int request_bytes = 0;  ///< asked for at launch; more than smem_bytes where a CTA is pinned to an SM
  int tmem_columns = 0;   ///< Blackwell
  int accumulators = 0;   ///< FP32 registers per thread, Hopper
  std::vector<SmemRegion> smem;
  std::vector<BarrierInfo> barriers;
  std::vector<Role> roles;
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
