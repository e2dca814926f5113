#include "common/harness/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace harness {
namespace {

TEST(Bf16, RoundTripsEveryValue) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const Bf16 value = static_cast<Bf16>(bits);
    const float wide = to_float(value);
    EXPECT_EQ(std::isfinite(wide), is_finite(value));
    EXPECT_EQ(round_to_bf16(wide), std::isnan(wide) ? 0x7FFF : value);
  }
}

/// Rounding to nearest even, from its definition: the neighbour that is closer, or the even one.
TEST(Bf16, RoundsToNearestEven) {
  for (std::uint32_t i = 0; i < 1u << 20; ++i) {
    const auto bits = static_cast<std::uint32_t>(mix(i));
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const Bf16 below = static_cast<Bf16>(bits >> 16);  // in magnitude
    const auto above = static_cast<Bf16>(below + 1);
    const double low = std::abs(double(value) - to_float(below));
    // The value one step above the largest finite one counts as 2^128 when it comes to ties.
    const double next = is_finite(above) ? to_float(above) : std::copysign(0x1p128, value);
    const double high = std::abs(next - value);
    const Bf16 expected = low < high ? below : high < low ? above : below % 2 == 0 ? below : above;
    ASSERT_EQ(round_to_bf16(value), expected) << value;
    ASSERT_EQ(truncate_to_bf16(value), below) << value;
  }
}

TEST(Bf16, TiesAndOverflow) {
  EXPECT_EQ(round_to_bf16(1.00390625f), 0x3F80);  // halfway between 1 and 1 + 2^-7: the even one
  EXPECT_EQ(round_to_bf16(1.01171875f), 0x3F82);  // halfway between 1 + 2^-7 and 1 + 2^-6
  EXPECT_EQ(round_to_bf16(3.4e38f), 0x7F80);
  EXPECT_EQ(round_to_bf16(-3.4e38f), 0xFF80);
  EXPECT_EQ(round_to_bf16(-0.0f), 0x8000);
  EXPECT_EQ(round_to_bf16(std::nanf("")), 0x7FFF);
  EXPECT_EQ(round_to_bf16(-std::nanf("")), 0x7FFF);
}

/// Computed by an independent implementation of the same definition.
TEST(Generator, Goldens) {
  struct Golden {
    Init init;
    std::uint64_t seed;
    Operand operand;
    Bf16 values[8];
  };
  constexpr std::uint64_t INDICES[] = {0, 1, 2, 3, 4, 5, 1000000, std::uint64_t{1} << 33};
  constexpr std::uint64_t LAST = ~std::uint64_t{0};
  constexpr Golden GOLDENS[] = {
      {Init::normal, 1, Operand::a, {0x3E28, 0x3EDC, 0x3FBC, 0x3F8E, 0x3F9C, 0x3EDB, 0x3F3A, 0x3F84}},
      {Init::normal, 1, Operand::b, {0xBFB0, 0xBE97, 0xBD9A, 0xBEB6, 0x3FC0, 0x3E93, 0x3EFB, 0x3F11}},
      {Init::normal, LAST, Operand::a, {0xBF60, 0x3F07, 0xBF5D, 0x3FDF, 0x3F71, 0x3DE3, 0x3F38, 0x3FB2}},
      {Init::uniform, 1, Operand::a, {0xBE09, 0x3F22, 0x3F06, 0x3F75, 0x3EB1, 0xBCAE, 0xBF56, 0x3F08}},
      {Init::uniform, 1, Operand::b, {0x3EF4, 0xBF4D, 0xBE07, 0xBEEB, 0xBDC1, 0x3E43, 0xBF18, 0x3F64}},
      {Init::uniform, LAST, Operand::a, {0xBE35, 0xBEDE, 0x3DDC, 0xBDEE, 0xBE38, 0x3EDD, 0xBE9C, 0x3EDA}},
      {Init::integer, 1, Operand::a, {0x0000, 0x4000, 0x3F80, 0x4000, 0x3F80, 0x0000, 0xC000, 0x3F80}},
      {Init::integer, 1, Operand::b, {0x3F80, 0xC000, 0x0000, 0xBF80, 0x0000, 0x0000, 0xBF80, 0x4000}},
      {Init::integer, LAST, Operand::a, {0x0000, 0xBF80, 0x0000, 0x0000, 0x0000, 0x3F80, 0xBF80, 0x3F80}},
      {Init::zeros, 1, Operand::a, {0, 0, 0, 0, 0, 0, 0, 0}},
  };
  for (const Golden& golden : GOLDENS) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(input_value(golden.init, golden.seed, golden.operand, INDICES[i]), golden.values[i]);
    }
  }
}

TEST(Generator, FillAgreesWithSingleValues) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer, Init::zeros}) {
    std::vector<Bf16> values(200001);  // several pieces for the threads, the last one ragged
    fill_input(init, 7, Operand::b, values);
    for (size_t i = 0; i < values.size(); i += 331) ASSERT_EQ(values[i], input_value(init, 7, Operand::b, i));
    ASSERT_EQ(values.back(), input_value(init, 7, Operand::b, values.size() - 1));
  }
}

TEST(Generator, Fp32ValuesAreThoseBeforeRounding) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer, Init::zeros}) {
    std::vector<Bf16> rounded(70001);
    std::vector<float> values(rounded.size());
    fill_input(init, 7, Operand::a, rounded);
    fill_input(init, 7, Operand::a, std::span<float>(values));
    bool longer = false;  // than BF16 has bits for
    for (size_t i = 0; i < values.size(); ++i) {
      const Bf16 expected = init == Init::uniform ? truncate_to_bf16(values[i]) : round_to_bf16(values[i]);
      ASSERT_EQ(rounded[i], expected);
      longer = longer || to_float(rounded[i]) != values[i];
    }
    EXPECT_EQ(longer, init == Init::normal || init == Init::uniform);
  }
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0, neighbours = 0, low = 1e9, high = -1e9;
};

Moments moments(Init init, std::uint64_t seed, Operand operand) {
  std::vector<Bf16> values(1 << 20);
  fill_input(init, seed, operand, values);
  Moments m;
  double previous = 0;
  for (const Bf16 bits : values) {
    const double x = to_float(bits);
    m.mean += x;
    m.variance += x * x;
    m.fourth += x * x * x * x;
    m.neighbours += x * previous;
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
    previous = x;
  }
  for (double* sum : {&m.mean, &m.variance, &m.fourth, &m.neighbours}) *sum /= static_cast<double>(values.size());
  return m;
}

TEST(Generator, Statistics) {
  for (const std::uint64_t seed : {0ull, 1ull, 123456789ull}) {
    for (const Operand operand : {Operand::a, Operand::b}) {
      const Moments normal = moments(Init::normal, seed, operand);
      EXPECT_NEAR(normal.mean, 0, 0.005);
      EXPECT_NEAR(normal.variance, 1, 0.01);
      EXPECT_NEAR(normal.fourth, 2.9, 0.05);  // 3 - 6/5/12 for a sum of 12 uniforms
      EXPECT_NEAR(normal.neighbours, 0, 0.005);
      EXPECT_GT(normal.high, 4);
      EXPECT_LT(normal.high, 6);
      const Moments uniform = moments(Init::uniform, seed, operand);
      EXPECT_NEAR(uniform.mean, 0, 0.003);
      EXPECT_NEAR(uniform.variance, 1 / 3.0, 0.005);
      EXPECT_NEAR(uniform.neighbours, 0, 0.003);
      EXPECT_GE(uniform.low, -1);
      EXPECT_LT(uniform.high, 1);
      const Moments integer = moments(Init::integer, seed, operand);
      EXPECT_NEAR(integer.mean, 0, 0.01);
      EXPECT_NEAR(integer.variance, 2, 0.02);
      EXPECT_EQ(integer.low, -2);
      EXPECT_EQ(integer.high, 2);
    }
  }
}

TEST(Generator, OperandsAndSeedsDiffer) {
  std::vector<Bf16> a(1000), b(1000), other(1000);
  fill_input(Init::normal, 1, Operand::a, a);
  fill_input(Init::normal, 1, Operand::b, b);
  fill_input(Init::normal, 2, Operand::a, other);
  EXPECT_NE(a, b);
  EXPECT_NE(a, other);
}

}  // namespace
}  // namespace harness
