// The inputs of a GEMM: deterministic from a seed and the same, bit for bit, on every machine.
//
// The value of an element depends on nothing but (seed, matrix, index), so threads fill a matrix in any order. Only
// integer arithmetic and exact floating-point operations are used: the library's `log` and `cos`, and with them
// std::normal_distribution, differ between systems.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "bf16.h"
#include "shape.h"

namespace harness {

enum class Init {
  normal,   ///< approximately normal(0, 1), within +-6: what a GPU's power and clocks should be measured with
  uniform,  ///< [-1, 1)
  integer,  ///< whole numbers -2 .. 2: sums are exact in any order while 4K <= 2^24
  zeros,
};
inline constexpr std::string_view INIT_NAMES[] = {"normal", "uniform", "int", "zeros"};  ///< in the order of Init

enum class Operand : std::uint64_t { a, b };

/// 64 well-mixed bits from 64 bits (the finaliser of SplitMix64); a bijection.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Element `index` (row-major) of one operand.
Bf16 input_value(Init init, std::uint64_t seed, Operand operand, std::uint64_t index);

/// All elements of one operand, on all cores.
void fill_input(Init init, std::uint64_t seed, Operand operand, std::span<Bf16> values);

/// The same for FP32: what the values are before they are rounded to BF16.
void fill_input(Init init, std::uint64_t seed, Operand operand, std::span<float> values);

/// A [m,k] and B [n,k], row-major, in host memory.
struct Inputs {
  Inputs(const Shape& shape, Init init, std::uint64_t seed);

  Shape shape;
  Init init;
  std::unique_ptr<Bf16[]> a, b;
};

}  // namespace harness
