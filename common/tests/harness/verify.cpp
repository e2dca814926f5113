#include "common/harness/verify.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "common/harness/failure.h"
#include "common/harness/reference.h"
#include "support.h"

namespace harness {
namespace {

// --- A tensor core, one K=16 step at a time: the products and the accumulator are shifted to their largest exponent,
// truncated to 25 fractional bits, added exactly, and the sum is truncated to binary32.

struct Term {
  std::int64_t significand;  // value = significand * 2^(exponent - fraction)
  int exponent, fraction;
  bool negative;
};

Term decode(float value, int fraction) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int field = static_cast<int>(bits >> 23 & 0xFF);
  const std::int64_t significand = (bits & 0x7FFFFF) | (field != 0 ? 0x800000 : 0);
  return {significand >> (23 - fraction), std::max(field, 1) - 127, fraction, bits >> 31 != 0};
}

float tensor_core_step(const Bf16* a, const Bf16* b, int count, float accumulator) {
  std::array<Term, 17> terms{};
  terms[16] = decode(accumulator, 23);
  for (int i = 0; i < count; ++i) {
    const Term x = decode(to_float(a[i]), 7), y = decode(to_float(b[i]), 7);
    terms[i] = {x.significand * y.significand, x.exponent + y.exponent, 14, x.negative != y.negative};
  }
  int largest = -133;
  for (const Term& t : terms) {
    if (t.significand != 0) largest = std::max(largest, t.exponent);
  }
  std::int64_t sum = 0;  // in units of 2^(largest - 25)
  for (const Term& t : terms) {
    if (t.significand == 0) continue;
    const int shift = 25 - t.fraction - (largest - t.exponent);
    const std::int64_t units = shift >= 0 ? t.significand << shift : shift > -63 ? t.significand >> -shift : 0;
    sum += t.negative ? -units : units;
  }
  if (sum == 0) return 0;
  std::int64_t magnitude = std::abs(sum);
  int exponent = largest - 25;
  for (; magnitude >= 1 << 24; ++exponent) magnitude >>= 1;
  return static_cast<float>(std::ldexp(sum < 0 ? -double(magnitude) : double(magnitude), exponent));
}

float tensor_core(const Inputs& inputs, int m, int n) {
  const int k = inputs.shape.k;
  float sum = 0;
  for (int first = 0; first < k; first += 16) {
    sum = tensor_core_step(inputs.a.get() + std::int64_t{m} * k + first, inputs.b.get() + std::int64_t{n} * k + first,
                           std::min(16, k - first), sum);
  }
  return sum;
}

// --- A problem with its reference and a D that a correct kernel would have computed.

struct Case {
  Case(const Shape& shape, Init init, std::uint64_t seed = 11)
      : inputs(shape, init, seed), reference(static_cast<size_t>(shape.d_elements())), d(shape) {
    gemm_fp32(shape, inputs.a.get(), inputs.b.get(), reference.data());
    d.fill([&](int m, int n) { return tensor_core(inputs, m, n); });
  }

  float& expected(int m, int n) { return reference[std::int64_t{m} * inputs.shape.n + n]; }
  Verdict full() const { return verify(inputs, d.output(), reference.data()); }
  Verdict sampled() const { return verify(inputs, d.output(), nullptr); }

  Inputs inputs;
  std::vector<float> reference;
  test::HostD d;
};

const Shape RAGGED{201, 264, 328};
const Shape SQUARE{264, 264, 264};

std::string text(const Verdict& verdict) {
  std::string all;
  for (const std::string& fault : verdict.faults) all += fault + "\n";
  return all + verdict.map + verdict.hint;
}

void expect_wrong(const Verdict& verdict, const std::string& part) {
  EXPECT_FALSE(verdict.right);
  EXPECT_FALSE(verdict.faults.empty());
  EXPECT_NE(text(verdict).find(part), std::string::npos) << text(verdict) << "\ndoes not say: " << part;
}

TEST(Verifier, AcceptsATensorCore) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer, Init::zeros}) {
    for (const Shape& shape : {RAGGED, Shape{1, 8, 8}, Shape{3, 24, 4096}, Shape{130, 8, 16}, Shape{129, 136, 1000}}) {
      const Case c(shape, init);
      const Verdict full = c.full();
      EXPECT_TRUE(full.right) << to_string(shape) << " " << text(full);
      EXPECT_EQ(full.wrong, 0);
      EXPECT_EQ(full.compared, shape.d_elements());
      EXPECT_TRUE(text(full).empty());
      EXPECT_GE(full.cosine, 0.99999);
      const Verdict sampled = c.sampled();
      EXPECT_TRUE(sampled.right) << to_string(shape) << " " << text(sampled);
      EXPECT_EQ(sampled.compared, sampled.samples);
    }
  }
}

TEST(Verifier, AcceptsALongAccumulation) {
  const Case c({8, 16, 65536}, Init::normal);
  EXPECT_TRUE(c.full().right) << text(c.full());
}

TEST(Verifier, AcceptsTheExactlyRoundedResult) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer}) {
    Case c(RAGGED, init);
    c.d.fill([&](int m, int n) { return c.expected(m, n); });
    EXPECT_TRUE(c.full().right) << text(c.full());
    EXPECT_EQ(c.full().different, 0);
    if (init == Init::normal) { EXPECT_NEAR(1 - c.full().cosine, 1.4e-6, 1e-7); }
  }
}

TEST(Verifier, RejectsOneWrongElement) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer}) {
    Case c(RAGGED, init);
    c.d.at(150, 200) = round_to_bf16(to_float(c.d.at(150, 200)) * 1.03f + 0.75f);
    const Verdict verdict = c.full();
    expect_wrong(verdict, "1 of 53064 elements are wrong");
    EXPECT_EQ(verdict.worst.m, 150);
    EXPECT_EQ(verdict.worst.n, 200);
    expect_wrong(verdict, "rows from 128, columns from 128, 1 wrong");
    expect_wrong(verdict, "1 rows (150) and 1 columns (200)");
  }
}

TEST(Verifier, RejectsWholeNumbersThatAreOffByOneBit) {
  Case c(RAGGED, Init::integer);
  c.d.at(3, 5) ^= 1;
  expect_wrong(c.full(), "1 of 53064 elements are wrong");
}

TEST(Verifier, RejectsAMissingTile) {
  Case c(RAGGED, Init::normal);
  for (int m = 128; m < 201; ++m) {
    for (int n = 0; n < 128; ++n) c.d.at(m, n) = BF16_POISON;
  }
  const Verdict verdict = c.full();
  expect_wrong(verdict, "9344 of them never written");
  expect_wrong(verdict, "    ...\n    #..\n");
  expect_wrong(verdict, "they were never written");
  EXPECT_FALSE(c.sampled().right);
}

TEST(Verifier, RejectsADroppedKStep) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer}) {
    for (const Shape& shape : {RAGGED, Shape{128, 128, 4096}}) {
      Case c(shape, init);
      c.d.fill(
          [&](int m, int n) { return static_cast<float>(c.expected(m, n) - test::exact(c.inputs, m, n, 160, 176)); });
      const Verdict verdict = c.full();
      expect_wrong(verdict, "elements are wrong");
      expect_wrong(verdict, "the products of k = 160 to 175 are missing");
    }
  }
}

TEST(Verifier, RejectsADroppedStepAmongAMillionProducts) {
  constexpr int K = 1 << 20;
  Case c({8, 16, K}, Init::normal);
  EXPECT_TRUE(c.full().right) << text(c.full());
  const auto add = [&](int first, double times) {
    for (int m = 0; m < 8; ++m) {
      for (int n = 0; n < 16; ++n) {
        const double part = test::exact(c.inputs, m, n, first, first + 64);
        c.d.at(m, n) = round_to_bf16(static_cast<float>(to_float(c.d.at(m, n)) + times * part));
      }
    }
  };
  add(K - 64, -1);
  expect_wrong(c.full(), "the 64 products from k = 1048512 on are missing in D");
  expect_wrong(c.sampled(), "the 64 products from k = 1048512 on are missing in D");
  add(K - 64, 1);
  add(6400, 1);
  expect_wrong(c.full(), "the 64 products from k = 6400 on are in D more than once");
}

TEST(Verifier, JudgesNoKThatItsChecksDoNotHoldFor) {
  for (const auto& [init, k] : {std::pair{Init::normal, MAX_VERIFIED_K + 8}, {Init::integer, MAX_EXACT_K + 8}}) {
    const Inputs inputs({1, 8, k}, init, 1);
    const test::HostD d(inputs.shape);
    EXPECT_THROW(verify(inputs, d.output(), nullptr), Failure);
  }
}

TEST(Verifier, RejectsADroppedKStepInASingleTile) {
  Case c({257, 264, 2048}, Init::normal);
  for (int m = 0; m < 128; ++m) {
    for (int n = 128; n < 256; ++n) {
      c.d.at(m, n) = round_to_bf16(static_cast<float>(c.expected(m, n) - test::exact(c.inputs, m, n, 2032, 2048)));
    }
  }
  const Verdict verdict = c.full();
  expect_wrong(verdict, "    .+.\n    ...\n    ...\n");
  expect_wrong(verdict, "k = 2032 to 2047");
}

TEST(Verifier, RejectsAnAccumulationThatStoppedEarly) {
  Case c(RAGGED, Init::normal);
  c.d.fill([&](int m, int n) { return static_cast<float>(test::exact(c.inputs, m, n, 0, 64)); });
  expect_wrong(c.full(), "only k = 0 to 63 was accumulated");
}

TEST(Verifier, RejectsATransposedD) {
  for (const Init init : {Init::normal, Init::integer}) {
    Case c(SQUARE, init);
    c.d.fill([&](int m, int n) { return c.expected(n, m); });
    expect_wrong(c.full(), "D is transposed");
  }
}

TEST(Verifier, RejectsAFactorOfTwo) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer}) {
    Case c(RAGGED, init);
    c.d.fill([&](int m, int n) { return 2 * c.expected(m, n); });
    const Verdict verdict = c.full();
    EXPECT_GE(verdict.cosine, 0.99999);  // which is why the cosine alone is not enough
    expect_wrong(verdict, "1 - 2 sum(xy)");
    expect_wrong(verdict, "they are 2 times what they should be");
    EXPECT_FALSE(c.sampled().right);
  }
}

TEST(Verifier, RejectsErrorsThatEachElementMayHaveAndAllTogetherMayNot) {
  Case c({8, 16, 65536}, Init::normal);  // so long a sum that an element may be off by more than its rounding
  constexpr float ERROR = 0.006f;
  for (const bool alternate : {false, true}) {
    c.d.fill([&](int m, int n) { return c.expected(m, n) * (alternate && (m + n) % 2 != 0 ? 1 - ERROR : 1 + ERROR); });
    const Verdict verdict = c.full();
    EXPECT_EQ(verdict.wrong, 0);
    expect_wrong(verdict, "1 - 2 sum(xy) / sum(x^2 + y^2) is");
    EXPECT_EQ(text(verdict).find("the cosine similarity is") != std::string::npos, alternate) << text(verdict);
  }
}

TEST(Verifier, RejectsNan) {
  for (const Bf16 bad : {Bf16{0x7FFF}, Bf16{0x7F80}, Bf16{0xFF80}, Bf16{0xFFC0}, BF16_POISON}) {
    Case c(RAGGED, Init::normal);
    c.d.at(200, 263) = bad;
    EXPECT_FALSE(c.full().right);
    EXPECT_FALSE(c.sampled().right);
    c.d.at(200, 263) = round_to_bf16(c.expected(200, 263));
    c.d.at(77, 99) = bad;  // no sample falls here, but NaN is looked for everywhere
    const Verdict verdict = c.sampled();
    EXPECT_FALSE(verdict.right);
    EXPECT_EQ(verdict.wrong, 1);
    EXPECT_EQ(verdict.unwritten, bad == BF16_POISON ? 1 : 0);
  }
}

TEST(Verifier, RejectsAStaleD) {
  Case c(RAGGED, Init::normal);
  const Case other(RAGGED, Init::normal, 12);
  c.d.memory = other.d.memory;
  expect_wrong(c.full(), "no resemblance");
  EXPECT_FALSE(c.sampled().right);
}

TEST(Verifier, RejectsAStoreThatNeverHappened) {
  Case c(RAGGED, Init::normal);
  c.d = test::HostD(RAGGED);
  expect_wrong(c.full(), "53064 of them never written");
}

TEST(Verifier, RejectsAStorePastTheRow) {
  for (const int column : {0, 7}) {
    Case c(RAGGED, Init::normal);
    c.d.at(42, RAGGED.n + column) = 0;
    expect_wrong(c.full(), "1 elements were stored past the end of a row, the first in row 42");
    expect_wrong(c.sampled(), "past the end of a row");
  }
}

TEST(Verifier, RejectsATouchedGuardBand) {
  Case c(RAGGED, Init::normal);
  c.d.memory[test::HostD::GUARD - 1] = 0;
  expect_wrong(c.full(), "memory before D was overwritten, the first time 2 bytes before it");
  Case after(RAGGED, Init::normal);
  after.d.memory[after.d.memory.size() - test::HostD::GUARD + 3] = 0;
  expect_wrong(after.sampled(), "memory after D was overwritten, the first time 6 bytes after its end");
}

TEST(Verifier, RejectsZeros) {
  for (const Init init : {Init::normal, Init::uniform, Init::integer}) {
    Case c(RAGGED, init);
    c.d.fill([](int, int) { return 0.0f; });
    expect_wrong(c.full(), "they are zero");
    EXPECT_FALSE(c.sampled().right);
  }
}

TEST(Verifier, AnAllZeroReferenceNeedsAnAllZeroD) {
  Case c(RAGGED, Init::zeros);
  EXPECT_TRUE(c.full().right);
  c.d.at(9, 9) = round_to_bf16(-0.0f);
  EXPECT_TRUE(c.full().right) << "-0 is a zero";
  c.d.at(9, 9) = round_to_bf16(1e-30f);
  EXPECT_FALSE(c.full().right);
}

TEST(Verifier, RejectsTruncationInsteadOfRounding) {
  Case c(RAGGED, Init::normal);
  for (int m = 0; m < RAGGED.m; ++m) {
    for (int n = 0; n < RAGGED.n; ++n) c.d.at(m, n) = truncate_to_bf16(c.expected(m, n));
  }
  expect_wrong(c.full(), "truncated instead of rounded");
}

TEST(Verifier, NamesSwappedColumnsAndShiftedRows) {
  Case swapped(RAGGED, Init::normal);
  swapped.d.fill([&](int m, int n) { return swapped.expected(m, n ^ 1); });
  expect_wrong(swapped.full(), "columns n and n ^ 1 are swapped");
  Case shifted(SQUARE, Init::normal);
  shifted.d.fill([&](int m, int n) { return shifted.expected(m >= 256 ? m : (m + 32) % 256, n); });
  expect_wrong(shifted.full(), "they hold the values of the row 32 below");
}

TEST(Verifier, DistrustsAWrongReference) {
  Case c(RAGGED, Init::normal);
  for (float& value : c.reference) value += 1;
  c.d.fill([&](int m, int n) { return c.expected(m, n); });
  expect_wrong(c.full(), "the reference itself disagrees with FP64");
}

TEST(Verifier, DrawsTheMapOfALargeDInGroups) {
  // 40 x 70 tiles, more than the map shows one by one. The values are zeros: only the picture is of interest.
  const Shape shape{40 * 128, 70 * 128, 8};
  const Inputs inputs(shape, Init::zeros, 1);
  const std::vector<float> reference(static_cast<size_t>(shape.d_elements()), 0);
  test::HostD d(shape);
  d.fill([](int, int) { return 0.0f; });
  d.at(5119, 8959) = BF16_POISON;
  const Verdict verdict = verify(inputs, d.output(), reference.data());
  expect_wrong(verdict, "tiles of 256 x 256");
  expect_wrong(verdict, "..................................+\n");
}

TEST(Verifier, ToleranceGrowsWithTheLengthOfTheSum) {
  EXPECT_NEAR(accumulation_tolerance(16), (std::ldexp(1, -23) + 17 * std::ldexp(1, -25)) * 6 / 4, 1e-12);
  EXPECT_NEAR(accumulation_tolerance(8), (std::ldexp(1, -23) + 17 * std::ldexp(1, -25)) * 6 / std::sqrt(8), 1e-12);
  EXPECT_NEAR(accumulation_tolerance(4096), 16 * accumulation_tolerance(16), 1e-12);
}

TEST(Digest, IsThatOfTheValuesAndNotOfThePitch) {
  const Shape shape{3, 8, 8};
  for (const int padding : {0, 8, 64}) {
    test::HostD d(shape, padding);
    for (int i = 0; i < 24; ++i) d.at(i / 8, i % 8) = static_cast<Bf16>(i * 2654);
    EXPECT_EQ(digest(shape, d.output()), 0x38547BA7D0DDE459u);  // computed by an independent implementation
    d.at(2, 7) ^= 1;
    EXPECT_NE(digest(shape, d.output()), 0x38547BA7D0DDE459u);
  }
}

}  // namespace
}  // namespace harness
