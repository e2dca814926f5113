// What a level tells the harness about itself. A level's main.cu fills in one `Level` and calls `run`; everything
// else (command line, inputs, verification, timing, results) is the harness's business.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <span>
#include <string>
#include <string_view>

namespace harness {

/// One GEMM, the same everywhere in this project:  D[M,N] = A[M,K] * B[N,K]^T.
/// All three matrices are row-major BF16 in device memory, 16-byte aligned; accumulation is FP32.
/// A's row pitch is k, B's is k, D's is `ldd` >= n (all in elements). m >= 1; n, k and ldd are multiples of 8,
/// because TMA needs row pitches that are multiples of 16 bytes. A matrix may have more than 2^31 elements: offsets are
/// 64-bit.
struct Problem {
  int m, n, k;
  const __nv_bfloat16* a;
  const __nv_bfloat16* b;
  __nv_bfloat16* d;
  int ldd;
};

/// One compiled variant of a level's kernel (a tile shape, a swizzle mode, ...). Most levels have exactly one.
struct Config {
  std::string_view name;     ///< what `--config` selects, e.g. "128x128x64"
  std::string_view summary;  ///< one line for `--list-configs`: tile, stages, bytes of shared memory
  /// Enqueues the GEMM on `stream` and returns the launch's status; does not synchronise.
  cudaError_t (*launch)(const Problem&, cudaStream_t stream);
};

struct Level {
  std::string_view name;            ///< "level01_baseline"
  int arch;                         ///< 90 (Hopper, sm_90a) or 100 (Blackwell, sm_100a)
  std::string_view idea;            ///< one sentence: what this level adds
  std::span<const Config> configs;  ///< never empty
  std::string explain;  ///< `--explain`: shared-memory map, roles, barriers; built from the kernel's constants
  /// The configuration that runs when `--config` is not given; nullptr means configs[0] for every shape.
  const Config* (*select)(const Problem&) = nullptr;
};

/// The whole program of a level. Returns the process's exit code: 0 right, 1 wrong result, 2 usage or unsupported
/// shape, 3 CUDA error, 77 skipped (no suitable device).
int run(int argc, char** argv, const Level& level);

}  // namespace harness
