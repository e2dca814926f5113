// A level as a library with one function, for ctypes and the like. It stands in the place of the harness: the level's
// main.cu, unchanged, calls harness::run with what it has, and here that is only remembered.
#include "common/harness/level.h"

#include <climits>
#include <optional>

int level_main(int argc, char** argv);  // main() of the level's main.cu, under another name

namespace {

std::optional<harness::Level> level;

}  // namespace

int harness::run(int, char**, const Level& described) {
  level = described;
  return 0;
}

/// Enqueues D[m,n] = A[m,k] * B[n,k]^T on `stream`; all BF16 in device memory, row-major without gaps, 16-byte aligned.
/// Does not synchronise. Returns a cudaError_t: cudaErrorInvalidValue for m < 1, or n or k that are no positive
/// multiples of 8.
extern "C" int ladder_matmul(long long m, long long n, long long k, const void* a, const void* b, void* d,
                             void* stream) {
  const auto is_extent = [](long long extent, int multiple) {
    return extent > 0 && extent <= INT_MAX && extent % multiple == 0;
  };
  if (!is_extent(m, 1) || !is_extent(n, 8) || !is_extent(k, 8)) return cudaErrorInvalidValue;
  if (!level) level_main(0, nullptr);
  const harness::Problem problem{.m = static_cast<int>(m),
                                 .n = static_cast<int>(n),
                                 .k = static_cast<int>(k),
                                 .a = static_cast<const __nv_bfloat16*>(a),
                                 .b = static_cast<const __nv_bfloat16*>(b),
                                 .d = static_cast<__nv_bfloat16*>(d),
                                 .ldd = static_cast<int>(n)};
  const harness::Config* chosen = level->select != nullptr ? level->select(problem) : nullptr;
  const harness::Config& config = chosen != nullptr ? *chosen : level->configs.front();
  return config.launch(problem, static_cast<cudaStream_t>(stream));
}
