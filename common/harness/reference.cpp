#include "reference.h"

#include <algorithm>
#include <memory>

#include "parallel.h"

// A tile of the result is computed by one thread in its own scratch memory, which is padded with zeros to whole
// register tiles: the inner loops know no edges. 240 and 256 are multiples of every register tile used below.

namespace harness {
namespace {

constexpr int TILE_M = 240;
constexpr int TILE_N = 256;
constexpr int BLOCK_K = 256;

struct Scratch {
  alignas(64) float a[TILE_M][BLOCK_K];
  alignas(64) float b[TILE_N * BLOCK_K];  // panels of Kernel::columns columns, each stored k by k
  alignas(64) float d[TILE_M][TILE_N];
};

/// d[0:rows, 0:columns] += a[0:rows, 0:depth] * b, in register tiles of ROWS x two vectors.
template <int ROWS, int VECTOR_BYTES>
[[gnu::always_inline]] inline void multiply(Scratch& s, int rows, int columns, int depth) {
  typedef float Vector __attribute__((vector_size(VECTOR_BYTES)));
  constexpr int LANES = VECTOR_BYTES / sizeof(float);
  static_assert(TILE_M % ROWS == 0 && TILE_N % (2 * LANES) == 0);
  for (int n = 0; n < columns; n += 2 * LANES) {
    const Vector* panel = reinterpret_cast<const Vector*>(s.b + static_cast<size_t>(n) * BLOCK_K);
    for (int m = 0; m < rows; m += ROWS) {
      Vector sum[ROWS][2] = {};
      for (int k = 0; k < depth; ++k) {
        const Vector left = panel[2 * k], right = panel[2 * k + 1];
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r) {
          sum[r][0] += s.a[m + r][k] * left;
          sum[r][1] += s.a[m + r][k] * right;
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < ROWS; ++r) {
        Vector* row = reinterpret_cast<Vector*>(&s.d[m + r][n]);
        row[0] += sum[r][0];
        row[1] += sum[r][1];
      }
    }
  }
}

// The same loop, compiled for the instruction sets that matter and chosen when the program runs, because the harness is
// built without flags for a particular CPU.
struct Kernel {
  std::string_view name;
  void (*multiply)(Scratch&, int rows, int columns, int depth);
  int columns;  // of a panel of B
};

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void multiply_avx512(Scratch& s, int rows, int columns, int depth) {
  multiply<8, 64>(s, rows, columns, depth);
}
[[gnu::target("avx2,fma")]] void multiply_avx2(Scratch& s, int rows, int columns, int depth) {
  multiply<6, 32>(s, rows, columns, depth);
}
#endif

void multiply_baseline(Scratch& s, int rows, int columns, int depth) { multiply<6, 16>(s, rows, columns, depth); }

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> available = [] {
    std::vector<Kernel> list;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) list.push_back({"avx512", multiply_avx512, 32});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.push_back({"avx2", multiply_avx2, 16});
#endif
    list.push_back({"baseline", multiply_baseline, 8});
    return list;
  }();
  return available;
}

void load_a(Scratch& s, const Bf16* a, std::int64_t pitch, int rows, int depth) {
  for (int m = 0; m < rows; ++m) {
    for (int k = 0; k < depth; ++k) s.a[m][k] = to_float(a[m * pitch + k]);
  }
}

void load_b(Scratch& s, const Bf16* b, std::int64_t pitch, int columns, int depth, int panel_columns) {
  for (int n = 0; n < TILE_N; ++n) {
    float* column = s.b + static_cast<size_t>(n / panel_columns) * panel_columns * BLOCK_K + n % panel_columns;
    if (n < columns) {
      for (int k = 0; k < depth; ++k) column[static_cast<size_t>(k) * panel_columns] = to_float(b[n * pitch + k]);
    } else {
      for (int k = 0; k < depth; ++k) column[static_cast<size_t>(k) * panel_columns] = 0;
    }
  }
}

}  // namespace

std::vector<std::string_view> gemm_variants() {
  std::vector<std::string_view> names;
  for (const Kernel& kernel : kernels()) names.push_back(kernel.name);
  return names;
}

void gemm_fp32(const Shape& shape, const Bf16* a, const Bf16* b, float* reference, std::size_t variant) {
  const Kernel& kernel = kernels().at(variant);
  const std::int64_t m_blocks = (shape.m + TILE_M - 1) / TILE_M;
  const std::int64_t n_blocks = (shape.n + TILE_N - 1) / TILE_N;
  parallel_for(m_blocks * n_blocks, [&](std::int64_t tile) {
    static thread_local const auto scratch = std::make_unique<Scratch>();  // zeroed: rows past the end stay finite
    Scratch& s = *scratch;
    const std::int64_t m0 = tile / n_blocks * TILE_M, n0 = tile % n_blocks * TILE_N;
    const int rows = static_cast<int>(std::min<std::int64_t>(TILE_M, shape.m - m0));
    const int columns = static_cast<int>(std::min<std::int64_t>(TILE_N, shape.n - n0));
    std::fill_n(&s.d[0][0], TILE_M * TILE_N, 0.0f);
    for (int k0 = 0; k0 < shape.k; k0 += BLOCK_K) {
      const int depth = std::min(BLOCK_K, shape.k - k0);
      load_a(s, a + m0 * shape.k + k0, shape.k, rows, depth);
      load_b(s, b + n0 * shape.k + k0, shape.k, columns, depth, kernel.columns);
      kernel.multiply(s, rows, columns, depth);
    }
    for (int m = 0; m < rows; ++m) std::copy_n(s.d[m], columns, reference + (m0 + m) * shape.n + n0);
  });
}

double dot_fp64(const Bf16* a, const Bf16* b, int k) {
  constexpr int LANES = 8;  // independent sums: the additions need not wait for each other
  double sums[LANES] = {};
  for (int i = 0; i < k; ++i) sums[i % LANES] += static_cast<double>(to_float(a[i])) * to_float(b[i]);
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

}  // namespace harness
