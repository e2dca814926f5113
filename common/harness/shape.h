// The size of one GEMM and the rules it must obey.
#pragma once

#include <cstdint>
#include <string>

namespace harness {

/// D[m,n] = A[m,k] * B[n,k]^T.
struct Shape {
  int m, n, k;
  bool operator==(const Shape&) const = default;

  std::int64_t a_elements() const { return std::int64_t{m} * k; }
  std::int64_t b_elements() const { return std::int64_t{n} * k; }
  std::int64_t d_elements() const { return std::int64_t{m} * n; }
  double flops() const { return 2.0 * m * n * k; }  ///< multiplications and additions of the definition
};

inline constexpr std::int64_t MAX_EXTENT = std::int64_t{1} << 30;    ///< of m, n and k: int arithmetic has headroom
inline constexpr std::int64_t MAX_ELEMENTS = std::int64_t{1} << 40;  ///< of each matrix: byte counts have headroom
inline constexpr int SHAPE_MULTIPLE = 8;                             ///< of n and k: 16 bytes of BF16

/// "4096x1024x512"
std::string to_string(const Shape& shape);

/// The legal shape closest to `shape` in every extent.
Shape nearest_legal(const Shape& shape);

/// Throws a usage error that names the broken rule and the nearest legal shape.
void require_legal(const Shape& shape);

}  // namespace harness
