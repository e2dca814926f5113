#include "inputs.h"

#include <algorithm>

#include "parallel.h"

namespace harness {
namespace {

constexpr std::uint64_t GOLDEN_RATIO = 0x9E3779B97F4A7C15u;  // 2^64 / phi: SplitMix64's step from one draw to the next
constexpr std::uint64_t DRAWS_PER_ELEMENT = 3;               // the most that any distribution needs

std::uint64_t key_of(std::uint64_t seed, Operand operand) {
  return mix(mix(seed + GOLDEN_RATIO) + static_cast<std::uint64_t>(operand));
}

std::uint64_t draw(std::uint64_t key, std::uint64_t number) { return mix(key + (number + 1) * GOLDEN_RATIO); }

/// The sum of the two 16-bit numbers in each half of x, one sum in each half.
std::uint64_t add_pairs(std::uint64_t x) {
  constexpr std::uint64_t LOW_16_OF_EACH_32 = 0x0000FFFF0000FFFFu;
  return (x & LOW_16_OF_EACH_32) + ((x >> 16) & LOW_16_OF_EACH_32);
}

/// Irwin-Hall: the sum of 12 uniforms has variance 12/12 = 1. With 16-bit uniforms u, sum(u) - 12 * 65535/2 is an
/// integer of 20 bits and symmetric around 0; divided by 2^16 it is exact in binary32 and has standard deviation 1.
float normal(std::uint64_t key, std::uint64_t first_draw) {
  const std::uint64_t sums =
      add_pairs(draw(key, first_draw)) + add_pairs(draw(key, first_draw + 1)) + add_pairs(draw(key, first_draw + 2));
  const std::int32_t sum = static_cast<std::int32_t>((sums & 0xFFFFFFFF) + (sums >> 32)) - 6 * 65535;
  return static_cast<float>(sum) * 0x1p-16f;
}

/// 24 random bits, scaled.
float uniform(std::uint64_t key, std::uint64_t first_draw) {
  const std::int32_t value = static_cast<std::int32_t>(draw(key, first_draw) >> 40) - (1 << 23);
  return static_cast<float>(value) * 0x1p-23f;
}

float integer(std::uint64_t key, std::uint64_t first_draw) {
  const std::int32_t value = static_cast<std::int32_t>(((draw(key, first_draw) >> 32) * 5) >> 32) - 2;
  return static_cast<float>(value);
}

float unchanged(float value) { return value; }

template <float (*distribution)(std::uint64_t, std::uint64_t), auto convert, typename Element>
void fill_with(std::uint64_t key, std::span<Element> values) {
  constexpr std::int64_t PIECE = 1 << 16;
  const std::int64_t count = static_cast<std::int64_t>(values.size());
  parallel_for((count + PIECE - 1) / PIECE, [&](std::int64_t piece) {
    const std::int64_t end = std::min(count, (piece + 1) * PIECE);
    for (std::int64_t i = piece * PIECE; i < end; ++i) {
      values[i] = convert(distribution(key, static_cast<std::uint64_t>(i) * DRAWS_PER_ELEMENT));
    }
  });
}

}  // namespace

Bf16 input_value(Init init, std::uint64_t seed, Operand operand, std::uint64_t index) {
  const std::uint64_t key = key_of(seed, operand);
  switch (init) {
    case Init::normal: return round_to_bf16(normal(key, index * DRAWS_PER_ELEMENT));
    // Truncated rather than rounded, so that 1 itself never appears.
    case Init::uniform: return truncate_to_bf16(uniform(key, index * DRAWS_PER_ELEMENT));
    case Init::integer: return round_to_bf16(integer(key, index * DRAWS_PER_ELEMENT));
    case Init::zeros: break;
  }
  return 0;
}

void fill_input(Init init, std::uint64_t seed, Operand operand, std::span<Bf16> values) {
  const std::uint64_t key = key_of(seed, operand);
  switch (init) {
    case Init::normal: return fill_with<normal, round_to_bf16>(key, values);
    case Init::uniform: return fill_with<uniform, truncate_to_bf16>(key, values);
    case Init::integer: return fill_with<integer, round_to_bf16>(key, values);
    case Init::zeros: return std::fill(values.begin(), values.end(), Bf16{0});
  }
}

void fill_input(Init init, std::uint64_t seed, Operand operand, std::span<float> values) {
  const std::uint64_t key = key_of(seed, operand);
  switch (init) {
    case Init::normal: return fill_with<normal, unchanged>(key, values);
    case Init::uniform: return fill_with<uniform, unchanged>(key, values);
    case Init::integer: return fill_with<integer, unchanged>(key, values);
    case Init::zeros: return std::fill(values.begin(), values.end(), 0.0f);
  }
}

Inputs::Inputs(const Shape& shape, Init init, std::uint64_t seed)
    : shape(shape),
      init(init),
      a(std::make_unique_for_overwrite<Bf16[]>(shape.a_elements())),
      b(std::make_unique_for_overwrite<Bf16[]>(shape.b_elements())) {
  fill_input(init, seed, Operand::a, {a.get(), static_cast<size_t>(shape.a_elements())});
  fill_input(init, seed, Operand::b, {b.get(), static_cast<size_t>(shape.b_elements())});
}

}  // namespace harness
