// tcgen05.mma with factors for blocks of its operands, and with a sparse A: where factors and metadata lie, what is
// computed, what is refused, and which threads may write them when.
#include <algorithm>
#include <cmath>

#include "support.h"
#include "tcgen05_support.h"
#include "tensor_support.h"

namespace sim::test {
namespace {

constexpr size_t kBytes = 96 * 1024, kOperand = 32 * 1024;                               // of shared memory, of A in it
constexpr uint32_t kMetadata = 16, kFactorsA = 24, kFactorsB = 40, kAccumulators = 128;  // columns of tensor memory

enum class Kind { F16, TF32, F8F6F4, I8, MX8, MX4, NVF4 };
struct Case {
  Kind kind = Kind::MX8;
  int group = 1, n = 64;
  Element a = Element::E4M3, b = Element::E4M3;
  bool sparse = false;
  int factors = 0;  ///< per row
  bool ue8m0 = true;
  uint32_t a_factor = 0, b_factor = 0, selector = 0;
  bool negate_a = false, negate_b = false, b_mn = false, accumulate = true, fast = false, a_in_tmem = false;
  Swizzle a_swizzle = Swizzle::B128, b_swizzle = Swizzle::B128;
  int least_exponent = -6, most_exponent = 6;  ///< of factors UE8M0
  const char* vector = "";                     ///< how the instruction says the number of factors

  bool is_fp4() const { return kind == Kind::MX4 || kind == Kind::NVF4; }
  bool is_scaled() const { return kind >= Kind::MX8; }
  int stored_k() const { return is_fp4() ? 64 : 32 / bytes_of(a); }
  int k() const { return stored_k() * (sparse ? 2 : 1); }
};

std::string name_of(const Case& c) {
  const char* const names[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return std::string("kind::") + names[static_cast<size_t>(c.kind)] + (c.is_scaled() ? ".block_scale" : "") + c.vector;
}

uint32_t instruction_descriptor(const Case& c) {
  const auto code = [&](Element element) { return c.is_fp4() ? 1 : format_code(element); };
  uint32_t bits = uint32_t{c.sparse} << 2 | code(c.a) << 7 | code(c.b) << 10 | uint32_t{c.negate_a} << 13 |
                  uint32_t{c.negate_b} << 14 | uint32_t{c.b_mn} << 16 | static_cast<uint32_t>(c.n / 8) << 17;
  if (c.is_scaled())
    bits |= c.b_factor << 4 | uint32_t{c.ue8m0} << 23 | static_cast<uint32_t>(c.group) << 27 | c.a_factor << 29;
  else
    bits |= c.selector | (c.kind == Kind::I8 ? 2u : 1u) << 4 | static_cast<uint32_t>(8 * c.group) << 24;
  return bits;
}

/// A row's stored elements from its 32 bytes.
std::vector<uint32_t> elements_of(const Case& c, Element element, const std::vector<uint8_t>& bytes) {
  std::vector<uint32_t> elements;
  if (c.is_fp4()) {
    for (const uint8_t byte : bytes) elements.push_back(byte & 15), elements.push_back(byte >> 4);
  } else {
    for (int i = 0; i < c.stored_k(); ++i) elements.push_back(element_of_row(bytes, element, i));
  }
  return elements;
}

/// Bytes [k, k + 32) of a row or column in shared memory.
std::vector<uint8_t> bytes_of_row(const std::vector<uint8_t>& shared, const OperandLayout& layout, int size, int row,
                                  int first) {
  std::vector<uint8_t> bytes;
  for (int k = first / size; k < (first + 32) / size; ++k) {
    for (int i = 0; i < size; ++i)
      bytes.push_back(shared.at(element_offset(layout, size, row, k) - kBase + static_cast<uint32_t>(i)));
  }
  return bytes;
}

/// What the instruction finds in tensor memory, and what it stands for.
struct Sides {
  Tmem tmem;
  std::vector<std::vector<uint32_t>> a_factors, b_factors;  ///< by row of A, by column of B
  std::vector<std::vector<uint32_t>> nibbles;               ///< by row of A
};

uint32_t random_factor(const Case& c, Dice& dice) {
  if (!c.ue8m0)
    return dice.next() % 16 == 0 ? 0 : static_cast<uint32_t>(dice.between(0x10, 0x60)) | (dice.word() & 0x80);
  return static_cast<uint32_t>(127 + dice.between(c.least_exponent, c.most_exponent));
}

Sides make_sides(const Case& c, uint64_t seed) {
  Dice dice(seed);
  Sides sides{random_tmem(c.group, seed + 1), {}, {}, {}};
  const auto set_bits = [&](size_t cta, size_t lane, uint32_t column, uint32_t shift, uint32_t width, uint32_t value) {
    uint32_t& word = sides.tmem[cell(cta, lane, column)];
    const uint32_t mask = ((1u << width) - 1) << shift;
    word = (word & ~mask) | value << shift;
  };
  // Row r: lane r % 32 of every quarter, column r / 32, bytes from the one that is named on.
  const auto put_factors = [&](size_t cta, int row, uint32_t column, uint32_t first,
                               const std::vector<uint32_t>& codes) {
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      for (size_t i = 0; i < codes.size(); ++i)
        set_bits(cta, 32 * quarter + static_cast<size_t>(row % 32), column + static_cast<uint32_t>(row / 32),
                 8 * (first + static_cast<uint32_t>(i)), 8, codes[i]);
    }
  };
  const auto roll = [&] {
    std::vector<uint32_t> codes;
    for (int i = 0; i < c.factors; ++i) codes.push_back(random_factor(c, dice));
    return codes;
  };
  for (int m = 0; m < 128 * c.group; ++m) {
    sides.a_factors.push_back(roll());
    put_factors(static_cast<size_t>(m / 128), m % 128, kFactorsA, c.a_factor, sides.a_factors.back());
  }
  for (int n = 0; n < c.n; ++n) {
    sides.b_factors.push_back(roll());
    for (int cta = 0; cta < c.group; ++cta)
      put_factors(static_cast<size_t>(cta), n, kFactorsB, c.b_factor, sides.b_factors.back());
  }
  const uint32_t indices[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0x6, 0xE};
  const int per_row = c.a == Element::TF32 ? c.k() / 2 : c.is_fp4() ? c.k() / 8 : c.k() / 4;
  for (int m = 0; m < 128 * c.group && c.sparse; ++m) {
    sides.nibbles.emplace_back();
    for (int i = 0; i < per_row; ++i) {
      const uint32_t nibble = c.a == Element::TF32 ? (dice.next() % 2 ? 0xE : 0x4) : indices[dice.next() % 7];
      sides.nibbles.back().push_back(nibble);
      const auto cta = static_cast<size_t>(m / 128), row = static_cast<size_t>(m % 128);
      const auto at = static_cast<uint32_t>(i);
      if (bytes_of(c.a) >
          1)  // a column: m = (8, 2, 8), k = (4 nibbles, 2) -> lane (1, -, 16; -, 8), bit (-, 16, -; 4, -)
        set_bits(cta, row % 8 + at / 4 * 8 + row / 16 * 16, kMetadata + c.selector,
                 static_cast<uint32_t>(row / 8 % 2 * 16) + at % 4 * 4, 4, nibble);
      else  // two columns, row = lane
        set_bits(cta, row, kMetadata + at / 8, at % 8 * 4, 4, nibble);
    }
  }
  return sides;
}

/// Which of the K elements of B the stored elements of A meet, in their order.
std::vector<size_t> places(const Case& c, const std::vector<uint32_t>& nibbles) {
  std::vector<size_t> result;
  if (!c.sparse) {
    for (size_t k = 0; k < static_cast<size_t>(c.k()); ++k) result.push_back(k);
    return result;
  }
  for (size_t i = 0; i < nibbles.size(); ++i) {
    const size_t first = nibbles[i] & 3, second = nibbles[i] >> 2;
    if (c.a == Element::TF32)
      result.push_back(2 * i + (nibbles[i] == 0xE));
    else if (c.is_fp4())
      for (const size_t pair : {first, second})
        result.push_back(8 * i + 2 * pair), result.push_back(8 * i + 2 * pair + 1);
    else
      result.push_back(4 * i + first), result.push_back(4 * i + second);
  }
  return result;
}

uint32_t output(const Case& c, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                const std::vector<uint32_t>& a_factors, const std::vector<uint32_t>& b_factors, uint32_t start) {
  if (c.kind == Kind::I8) return integer_output(c.a, c.b, a, b, start, c.accumulate);
  if (c.is_fp4()) {
    const auto four = [](const std::vector<uint32_t>& codes) {
      return codes.size() == 4 ? codes : std::vector<uint32_t>{codes[0], codes[0], codes[1], codes[1]};
    };
    return fp4_output(a, b, c.negate_a != c.negate_b, four(a_factors), four(b_factors), c.ue8m0, start, c.accumulate);
  }
  int scale = 0;
  if (c.is_scaled()) {
    if (a_factors[0] == 0xFF || b_factors[0] == 0xFF) return 0x7FFF'FFFF;
    scale = static_cast<int>(a_factors[0] + b_factors[0]) - 254;
  }
  return exact_output(c.a, c.b, a, b, c.negate_a, c.negate_b, start, c.accumulate, 25, false, scale);
}

/// The instruction, with the addresses of factors and metadata in their registers.
std::string instruction(const Case& c) {
  std::string body = "mov.u32 %r33, " + std::to_string(kFactorsA | c.a_factor << 30) + "; mov.u32 %r34, " +
                     std::to_string(kFactorsB | c.b_factor << 30) + "; mov.u32 %r35, " + std::to_string(kMetadata) +
                     "; tcgen05.mma" + (c.sparse ? ".sp" : "") + ".cta_group::" + std::to_string(c.group) + "." +
                     name_of(c) + " [%r31], " + (c.a_in_tmem ? "[%r16+64]" : "%rd6") + ", %rd7, ";
  if (c.sparse) body += "[%r35], ";
  body += "%r30, ";
  if (c.is_scaled()) body += "[%r33], [%r34], ";
  return body + "%p5; ";
}
struct Layouts {
  OperandLayout a, b;
};
Layouts layouts(const Case& c) {
  const int size_a = c.is_fp4() ? 1 : bytes_of(c.a), size_b = c.is_fp4() ? 1 : bytes_of(c.b);
  Layouts all{dense_layout(c.a_swizzle, false, size_a, 128, kBase),
              dense_layout(c.b_swizzle, c.b_mn, size_b, c.n / c.group, kBase + kOperand)};
  if (c.sparse && c.b_mn) all.b.leading = 2 * all.b.leading;  // twice as deep along K
  return all;
}

/// Runs the instruction, with what comes before or after it, on these contents.
Result run_case(const Case& c, const std::string& body, const Tmem& tmem,
                const std::vector<uint8_t>& shared = std::vector<uint8_t>(kBytes), const Options& options = {},
                uint32_t change = 0) {
  const auto [a, b] = layouts(c);
  return run_one(c.group, body, tmem,
                 {.shared = shared,
                  .a = tcgen05_descriptor(a),
                  .b = tcgen05_descriptor(b),
                  .idesc = instruction_descriptor(c) ^ change,
                  .d = kAccumulators,
                  .accumulate = c.accumulate,
                  .options = options});
}

void check(const Case& c, Options options = {}) {
  const auto [a, b] = layouts(c);
  const int size_a = c.is_fp4() ? 1 : bytes_of(c.a), size_b = c.is_fp4() ? 1 : bytes_of(c.b);
  std::vector<uint8_t> shared;
  for (int cta = 0; cta < c.group; ++cta) {
    std::vector<uint8_t> low(kOperand), high(kBytes - kOperand);
    fill_elements(low, c.a, static_cast<uint64_t>(11 + cta)), fill_elements(high, c.b, static_cast<uint64_t>(23 + cta));
    shared.insert(shared.end(), low.begin(), low.end());
    shared.insert(shared.end(), high.begin(), high.end());
  }
  const Sides sides = make_sides(c, 77);
  if (c.fast) options.arithmetic = Options::Arithmetic::Fast;
  const Result run = run_case(c, instruction(c) + commit(c.group), sides.tmem, shared, options);
  ASSERT_EQ(run.outcome.status, Status::Success) << name_of(c) << " " << run.outcome.report;

  const int columns = c.n / c.group;
  std::vector<std::vector<uint32_t>> b_columns;
  for (int n = 0; n < c.n; ++n) {
    const auto begin = shared.begin() + static_cast<long>(static_cast<size_t>(n / columns) * kBytes);
    const std::vector<uint8_t> own(begin, begin + kBytes);
    std::vector<uint32_t> column;
    for (int part = 0; part < (c.sparse ? 2 : 1); ++part) {
      for (const uint32_t each : elements_of(c, c.b, bytes_of_row(own, b, size_b, n % columns, 32 * part)))
        column.push_back(each);
    }
    b_columns.push_back(column);
  }
  Tmem expected = sides.tmem;
  for (int m = 0; m < 128 * c.group; ++m) {
    const auto cta = static_cast<size_t>(m / 128), row = static_cast<size_t>(m % 128), index = static_cast<size_t>(m);
    std::vector<uint8_t> bytes(32);
    if (c.a_in_tmem) {
      for (size_t i = 0; i < 8; ++i) std::memcpy(&bytes[4 * i], &sides.tmem[cell(cta, row, 64 + i)], 4);
    } else {
      const auto begin = shared.begin() + static_cast<long>(cta * kBytes);
      bytes = bytes_of_row({begin, begin + kBytes}, a, size_a, static_cast<int>(row), 0);
    }
    const std::vector<uint32_t> stored = elements_of(c, c.a, bytes);
    const std::vector<size_t> where = places(c, c.sparse ? sides.nibbles[index] : std::vector<uint32_t>{});
    for (int n = 0; n < c.n; ++n) {
      std::vector<uint32_t> met;
      for (const size_t k : where) met.push_back(b_columns[static_cast<size_t>(n)][k]);
      uint32_t& value = expected[cell(cta, row, static_cast<size_t>(kAccumulators) + static_cast<size_t>(n))];
      value = output(c, stored, met, sides.a_factors[index], sides.b_factors[static_cast<size_t>(n)], value);
    }
  }
  // Fast arithmetic rounds otherwise, by so much of the greatest terms.
  float greatest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != sides.tmem[i]) greatest = std::max(greatest, std::abs(float_of(expected[i])));
  expect_tmem(
      run.tmem, expected, sides.tmem,
      name_of(c) + (c.sparse ? " sparse" : "") + " group " + std::to_string(c.group) + " N " + std::to_string(c.n),
      c.fast ? 1e-6f * greatest : 0);
}

Case mx8() { return {.kind = Kind::MX8, .factors = 1}; }
Case mx4() { return {.kind = Kind::MX4, .a = Element::E2M1, .b = Element::E2M1, .factors = 2}; }
Case nvf4() {
  return {.kind = Kind::NVF4,
          .a = Element::E2M1,
          .b = Element::E2M1,
          .factors = 4,
          .ue8m0 = false,
          .vector = ".scale_vec::4X"};
}

TEST(Scaled, EveryKindAndPlaceOfItsFactors) {
  for (const int group : {1, 2}) {
    for (uint32_t id = 0; id < 4; ++id) {
      Case c = mx8();
      c.group = group, c.a_factor = id, c.b_factor = (id + group) % 4;
      c.vector = id % 2 ? ".scale_vec::1X" : ".block32";
      check(c);
    }
    for (const uint32_t id : {0u, 2u}) {
      Case c = mx4();
      c.group = group, c.n = 80, c.a_factor = id, c.b_factor = 2 - id;
      c.vector = id ? ".scale_vec::2X" : "";
      check(c);
      c.kind = Kind::NVF4, c.vector = id ? ".scale_vec::2X" : ".block32";
      check(c);
    }
    Case c = nvf4();
    c.group = group;
    check(c);
    c.vector = ".block16";
    c.ue8m0 = true;
    check(c);
  }
}

TEST(Scaled, WidthsElementsAndLayouts) {
  for (const int n : {8, 24, 136, 256}) {
    Case c = mx8();
    c.n = n, c.b_swizzle = Swizzle::None;
    check(c);
    c = nvf4();
    c.n = n, c.accumulate = n != 24;
    check(c);
  }
  for (const auto& [a, b] : {std::pair{Element::E5M2, Element::E2M1}, std::pair{Element::E2M3, Element::E3M2},
                             std::pair{Element::E2M1, Element::E4M3}}) {
    Case c = mx8();
    c.a = a, c.b = b, c.negate_a = true, c.b_swizzle = Swizzle::B64;
    check(c);
  }
  Case c = mx8();
  c.b_mn = true;
  check(c);
  c = nvf4();
  c.negate_b = true, c.a_swizzle = Swizzle::B32, c.b_swizzle = Swizzle::None;
  check(c);
  c.a_in_tmem = true;
  check(c);
  c = mx8();
  c.a_in_tmem = true;
  check(c);
}

TEST(Scaled, FactorsOfAnySize) {
  for (const auto& [least, most] :
       {std::pair{-127, 128}, std::pair{-40, 40}, std::pair{-127, -100}, std::pair{60, 128}}) {
    for (Case c : {mx8(), mx4()}) {
      c.least_exponent = least, c.most_exponent = most, c.n = 32;
      check(c);
    }
  }
}

TEST(Scaled, FastArithmetic) {
  for (Case c : {mx8(), mx4(), nvf4()}) {
    c.fast = true, c.least_exponent = -2, c.most_exponent = 2;
    check(c);
  }
}

TEST(Sparse, EveryKind) {
  for (const int group : {1, 2}) {
    const auto each = [&](Case c) {
      c.sparse = true, c.group = group;
      check(c);
    };
    for (const uint32_t selector : {0u, 1u}) {
      each({.kind = Kind::F16, .a = Element::BF16, .b = Element::F16, .selector = selector});
      each({.kind = Kind::TF32, .a = Element::TF32, .b = Element::TF32, .selector = selector});
    }
    each({.kind = Kind::F16, .a = Element::F16, .b = Element::F16, .b_mn = true, .b_swizzle = Swizzle::B64});
    each({.kind = Kind::F8F6F4, .a = Element::E4M3, .b = Element::E5M2, .b_swizzle = Swizzle::None});
    each({.kind = Kind::F8F6F4, .a = Element::E2M1, .b = Element::E3M2});
    each({.kind = Kind::I8, .a = Element::S8, .b = Element::U8});
    Case c = mx8();
    c.a_factor = 2;
    each(c);
    each(mx4());
    each(nvf4());
  }
}

TEST(Sparse, FastArithmeticAndAInTensorMemory) {
  Case c{.kind = Kind::F16, .a = Element::BF16, .b = Element::BF16, .sparse = true, .fast = true};
  check(c);
  c.fast = false, c.a_in_tmem = true;
  check(c);
}

TEST(Sparse, AnInfinityThatNothingMeetsIsLeftOut) {
  // Every second element of B is infinite; A keeps the others.
  for (const bool fast : {false, true}) {
    Options options;
    if (fast) options.arithmetic = Options::Arithmetic::Fast;
    const Case c{
        .kind = Kind::F16, .n = 16, .a = Element::BF16, .b = Element::BF16, .sparse = true, .accumulate = false};
    const auto [a, b] = layouts(c);
    std::vector<uint8_t> shared(kBytes);
    const auto put = [&](const OperandLayout& layout, int row, int k, uint16_t bits) {
      std::memcpy(&shared.at(element_offset(layout, 2, row, k) - kBase), &bits, 2);
    };
    for (int row = 0; row < 128; ++row) {
      for (int k = 0; k < 16; ++k) put(a, row, k, 0x3F80);
    }
    for (int n = 0; n < 16; ++n) {
      for (int k = 0; k < 32; ++k) put(b, n, k, k % 2 ? 0x7F80 : 0x4000);
    }
    const Tmem tmem(128 * 512, 0x8888'8888);  // the first and the third of four
    const Result run = run_case(c, instruction(c) + commit(1), tmem, shared, options);
    expect_success(run.outcome);
    for (size_t lane = 0; lane < 128; ++lane) EXPECT_EQ(float_of(run.tmem[cell(0, lane, kAccumulators + 3)]), 32.0f);
  }
}

// ---- factors through shared memory

TEST(Scaled, FactorsComeThroughCopies) {
  // 32x128b.warpx4 brings 128 rows of four factors: 32 rows of 16 bytes, to all quarters. The MMA follows in the same
  // pipe.
  for (const Options& options : all_schedules()) {
    Case c = nvf4();
    c.accumulate = false;
    std::vector<uint8_t> shared(kBytes, 0x22);  // 1.0
    const size_t at = 80 * 1024;
    for (size_t row = 0; row < 128; ++row) {
      for (size_t i = 0; i < 4; ++i)
        shared[at + row % 32 * 16 + row / 32 * 4 + i] = static_cast<uint8_t>(0x38 + row % 8);
    }
    const OperandLayout factors{
        .swizzle = Swizzle::None, .start = kBase + static_cast<uint32_t>(at), .leading = 128, .stride = 128};
    const std::string copy = "mov.b64 %rd20, " + std::to_string(tcgen05_descriptor(factors)) +
                             "; tcgen05.cp.cta_group::1.32x128b.warpx4 [%r16+" + std::to_string(kFactorsA) +
                             "], %rd20; tcgen05.cp.cta_group::1.32x128b.warpx4 [%r16+" + std::to_string(kFactorsB) +
                             "], %rd20; ";
    const Result run = run_case(c, copy + instruction(c) + commit(1), random_tmem(1, 3), shared, options);
    ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
    for (size_t m = 0; m < 128; ++m) {
      for (size_t n = 0; n < 64; ++n) {
        const float expected = 64 * (1 + static_cast<float>(m % 8) / 8) * (1 + static_cast<float>(n % 8) / 8);
        ASSERT_EQ(float_of(run.tmem[cell(0, m, kAccumulators + n)]), expected) << m << " " << n;
      }
    }
  }
}

TEST(Scaled, TheOrderCheckerKnowsWhatIsReadInTensorMemory) {
  // A copy before the MMA is in order with it; one after it into what it reads, too, but only the hardware says so.
  const auto found = [](Case c, uint32_t column, bool before) {
    c.n = 32, c.accumulate = false;
    const OperandLayout from{.swizzle = Swizzle::None, .start = kBase, .leading = 128, .stride = 128};
    const std::string copy = "mov.b64 %rd20, " + std::to_string(tcgen05_descriptor(from)) +
                             "; tcgen05.cp.cta_group::1.32x128b.warpx4 [%r16+" + std::to_string(column) + "], %rd20; ";
    const Result run =
        run_case(c, (before ? copy : "") + instruction(c) + (before ? "" : copy) + commit(1),
                 Tmem(128 * 512, 0x4444'4444), std::vector<uint8_t>(kBytes, 0x44), {.check = Options::Check::On});
    EXPECT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
    EXPECT_EQ(run.outcome.report.find("error"), std::string::npos) << run.outcome.report;
    return run.outcome.report.find("habit tensor-pipe-in-order") != std::string::npos;
  };
  Case sparse = mx8();
  sparse.sparse = true;
  for (const uint32_t column : {kFactorsA, kFactorsB, kMetadata}) {
    EXPECT_FALSE(found(sparse, column, true));
    EXPECT_TRUE(found(sparse, column, false));
  }
  EXPECT_FALSE(found(sparse, 64, false));
  EXPECT_FALSE(found(mx8(), kMetadata, false));
}

// ---- what is refused

TEST(Scaled, WhatDoesNotExistIsRefused) {
  const auto fails = [](const Case& c, uint32_t change, const FaultText& fault,
                        const std::vector<Detail>& details = {}) {
    const Result run =
        run_case(c, instruction(c) + commit(1), random_tmem(1, 3), std::vector<uint8_t>(kBytes), {}, change);
    expect_fault(run.outcome, fault, details);
  };
  fails(mx8(), 1u << 23, faults::instruction_ue4m3);
  fails(mx4(), 1u << 23, faults::instruction_ue4m3);
  fails(mx4(), 1u << 4, faults::instruction_factors_of_two, {1});
  fails(nvf4(), 2u << 29, faults::instruction_factors, {2, 4});
  fails(nvf4(), 1u << 31, faults::instruction_k96);
  fails(mx8(), 1u << 25, faults::instruction_reserved_scaled);
  fails(mx8(), 3u << 27, faults::shape_of_scaled, {256});
  fails(mx4(), 1u << 8, faults::instruction_type_mxf4);
  fails(mx4(), 1u << 16, faults::instruction_transposes_small, {"B"});
  fails(mx8(), 4, faults::instruction_sparse);
  Case sparse{.kind = Kind::F16, .a = Element::BF16, .b = Element::BF16, .sparse = true};
  fails(sparse, 4, faults::instruction_dense);
  fails(sparse, 2, faults::instruction_selector, {2});
  fails(sparse, 12u << 24, faults::shape_of_sparse);
  sparse.kind = Kind::I8, sparse.a = sparse.b = Element::S8;
  fails(sparse, 1, faults::instruction_selector_of_kind);
}

TEST(Scaled, WhatIsNotKnownHasItsName) {
  const auto fails = [&](const std::string& body, const char* name) {
    const Result run = run_case(mx8(), body, random_tmem(1, 3));
    expect_fault(run.outcome, faults::not_simulated, {name});
  };
  fails("tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::lastuse [%r31], [%r16], %rd7, %r30, %p5;", ".ashift");
  fails("tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r31], %rd6, %rd7, [%r16], %r30, %p5;", "tcgen05.mma.ws.sp");
}

TEST(Sparse, MetadataThatMeanNothing) {
  const auto run = [](Case c, uint32_t word, uint8_t elements) {
    c.sparse = true, c.accumulate = false;
    return run_case(c, instruction(c) + commit(1), Tmem(128 * 512, word), std::vector<uint8_t>(kBytes, elements));
  };
  const Case bf16{.kind = Kind::F16, .a = Element::BF16, .b = Element::BF16};
  const Case tf32{.kind = Kind::TF32, .a = Element::TF32, .b = Element::TF32};
  expect_fault(run(bf16, 0x4444'4445, 1).outcome, faults::sparsity_of_equal_indices, {5});
  expect_fault(run(tf32, 0x4444'4448, 1).outcome, faults::sparsity_of_neither, {8});
  // Of zeros it does not matter, and libraries write zeros there.
  for (const Case& c : {bf16, tf32}) {
    const Result zeros = run(c, 0, 0);
    EXPECT_EQ(zeros.outcome.status, Status::Success) << zeros.outcome.report;
  }
}

}  // namespace
}  // namespace sim::test
