// The multiplication kernels: exact arithmetic against the integer form of the measured model, fast arithmetic against
// fused multiply-adds, and all instruction sets of this processor against one another.
#include <cmath>
#include <cstring>

#include "exec/tensor/kernels.h"
#include "support.h"
#include "tensor_support.h"

namespace sim::test {
namespace {

using tensor::Arithmetic;

struct Type {
  Element element;
  tensor::Format format;
  int element_bits;
};
const Type kTypes[] = {{Element::BF16, tensor::Format::BF16, 16}, {Element::F16, tensor::Format::F16, 16},
                       {Element::TF32, tensor::Format::TF32, 32}, {Element::E4M3, tensor::Format::E4M3, 8},
                       {Element::E5M2, tensor::Format::E5M2, 8},  {Element::E2M3, tensor::Format::E2M3, 6},
                       {Element::E3M2, tensor::Format::E3M2, 6},  {Element::E2M1, tensor::Format::E2M1, 4}};

/// A row or column of elements, as it lies in memory.
tensor::Row row_of(const Type& type, const std::vector<uint32_t>& elements) {
  tensor::Row row{};
  const auto bytes = static_cast<size_t>(bytes_of(type.element));
  if (type.element_bits >= 8) {
    for (size_t i = 0; i < elements.size(); ++i) std::memcpy(&row[i * bytes], &elements[i], bytes);
    return row;
  }
  const auto width = static_cast<size_t>(type.element_bits);  // sixteen packed into the beginning of 16 bytes
  for (size_t i = 0; i < elements.size(); ++i) {
    for (size_t bit = 0; bit < width; ++bit) {
      const size_t at = 128 * (i / 16) + width * (i % 16) + bit;
      row[at / 8] = static_cast<uint8_t>(row[at / 8] | (elements[i] >> bit & 1) << at % 8);
    }
  }
  return row;
}
template <size_t N>
std::array<tensor::Row, N> rows_of(const Type& type, const std::vector<std::vector<uint32_t>>& elements) {
  std::array<tensor::Row, N> rows{};
  for (size_t i = 0; i < elements.size(); ++i) rows[i] = row_of(type, elements[i]);
  return rows;
}

/// Kinds of input, as in the measurement: normal numbers, wide exponents, cancellation, subnormals, zeros beside huge
/// values, infinities and NaNs, overflow, random bits, tiny results, all zeros.
constexpr int kKinds = 12;
uint32_t element_of_kind(const Type& type, int kind, Dice& dice) {
  const uint32_t all = type.element_bits == 32 ? ~0u : (1u << type.element_bits) - 1, random = dice.word() & all;
  const int fraction = type.element == Element::BF16   ? 7
                       : type.element == Element::F16  ? 10
                       : type.element == Element::TF32 ? 23
                                                       : -1;
  const int bias = type.element == Element::F16 ? 15 : 127, limit = type.element == Element::F16 ? 14 : 126;
  const auto with_exponent = [&](int low, int high) {
    if (fraction < 0) return random;
    const int e = dice.between(std::max(low, -limit), std::min(high, limit));
    return (random & ~(((2u << (type.element_bits - 2 - fraction)) - 1) << fraction)) | static_cast<uint32_t>(e + bias)
                                                                                            << fraction;
  };
  switch (kind) {
    case 0: return with_exponent(-3, 3);
    case 1: return with_exponent(-14, 14);
    case 2: return with_exponent(-60, 60);
    case 3: return with_exponent(-126, 126);
    case 4:
      return dice.next() % 3 ? random & (all >> (type.element_bits - std::max(fraction, 1)))
                             : with_exponent(-1, 1);                                                    // subnormal
    case 5: return dice.next() % 2 ? random & (1u << (type.element_bits - 1)) : with_exponent(20, 60);  // zero or huge
    case 6: return random;
    case 7: return with_exponent(-80, -50);  // tiny products
    case 8: return with_exponent(60, 66);    // near overflow
    case 9: return random & (1u << (type.element_bits - 1));
    case 10: return with_exponent(-70, -60);  // results below the normal range
    default: return dice.next() % 4 ? 0 : with_exponent(-126, -100);
  }
}
uint32_t accumulator_of_kind(int kind, Dice& dice, bool half) {
  const uint32_t random = dice.word();
  if (half)
    return kind % 3 == 0   ? 0
           : kind % 3 == 1 ? (random & 0x83FF) | static_cast<uint32_t>(dice.between(1, 30)) << 10
                           : random & 0xFFFF;
  switch (dice.next() % 4) {
    case 0: return random & 0x8000'0000;
    case 1: return bits_of(dice.real(-20, 20));
    case 2: return kind == 6 ? random : bits_of(dice.real(-126, 127));
    default: return random & 0x807F'FFFF;
  }
}

/// One output by the definition, of a row and a column as they lie in memory.
uint32_t defined(const Arithmetic& how, tensor::Format format, const tensor::Row& a, const tensor::Row& b, uint32_t c,
                 bool accumulate, bool negate = false) {
  float av[tensor::kMaxK], bv[tensor::kMaxK];
  int16_t ae[tensor::kMaxK], be[tensor::kMaxK];
  tensor::widen(format, a.data(), how.k, av), tensor::widen(format, b.data(), how.k, bv);
  const int least = tensor::min_exponent(format);
  for (int i = 0; i < how.k; ++i) {
    if (negate) av[i] = -av[i];
    ae[i] = tensor::model_exponent(av[i], least), be[i] = tensor::model_exponent(bv[i], least);
  }
  return tensor::multiply_one(how, av, ae, bv, be, c, accumulate);
}

TEST(Definition, EqualsTheIntegerModelAndFusedMultiplyAdds) {
  for (const Type& type : kTypes) {
    const int k = 32 / bytes_of(type.element);
    const bool is_fp8 = type.element == Element::E4M3 || type.element == Element::E5M2;
    for (int kind = 0; kind < kKinds; ++kind) {
      Dice dice(static_cast<uint64_t>(kind * 100 + k) + 1);
      for (int i = 0; i < 300; ++i) {
        std::vector<uint32_t> a, b;
        for (int n = 0; n < k; ++n)
          a.push_back(element_of_kind(type, kind, dice)), b.push_back(element_of_kind(type, kind, dice));
        const bool accumulate = i % 4 != 0, half = type.element == Element::F16 && i % 2 == 0;
        Arithmetic how{.k = k, .fraction_bits = is_fp8 && i % 2 == 0 ? 13 : 25};
        if (half) how.result = tensor::ResultFormat::F16;
        uint32_t c = accumulator_of_kind(kind, dice, half);
        const auto model = [&](uint32_t start, bool adds) {
          return exact_output(type.element, type.element, a, b, false, false, start, adds, how.fraction_bits, half);
        };
        if (i % 3 == 0 && !half) c = model(0, false) ^ 0x8000'0000;  // cancels the products
        const tensor::Row row = row_of(type, a), column = row_of(type, b);
        EXPECT_EQ(defined(how, type.format, row, column, c, accumulate), model(c, accumulate))
            << "type " << static_cast<int>(type.element) << " kind " << kind;
        if (half || kind > 0) continue;
        how.exact = false, how.pairs = type.element == Element::BF16;
        EXPECT_EQ(defined(how, type.format, row, column, c, accumulate),
                  fast_output(type.element, type.element, a, b, false, false, c, accumulate))
            << "fast, type " << static_cast<int>(type.element);
      }
    }
  }
}

/// Every kernel against the definition, which knows no vectors: all results, both arithmetics, NaNs and infinities
/// among ordinary numbers, any number of columns, accumulators that cancel the products, and lanes that are not to be
/// written.
TEST(Vectors, EqualTheDefinition) {
  constexpr int kColumns = 16;
  const Type integers{Element::S8, tensor::Format::S8, 8};
  struct Kind {
    Type type;
    tensor::ResultFormat result;
  };
  std::vector<Kind> kinds{{integers, tensor::ResultFormat::S32}};
  for (const Type& type : kTypes) {
    kinds.push_back({type, tensor::ResultFormat::F32});
    if (type.element != Element::BF16 && type.element != Element::TF32)
      kinds.push_back({type, tensor::ResultFormat::F16});
  }
  Dice dice(2026);
  for (const auto& [type, result] : kinds) {
    const int k = 32 / bytes_of(type.element);
    for (int round = 0; round < kKinds; ++round) {
      // In every other round, most rows are of ordinary numbers and some of what the kind has.
      std::vector<std::vector<uint32_t>> a(32), b(kColumns);
      for (auto* side : {&a, &b}) {
        for (auto& row : *side) {
          const int kind = round % 2 == 0 || dice.next() % 4 == 0 ? round : 0;
          for (int i = 0; i < k; ++i) row.push_back(element_of_kind(type, kind, dice));
        }
      }
      std::array<std::array<uint32_t, 32>, kColumns> start;
      for (auto& cells : start) {
        for (uint32_t& cell : cells) {
          cell = result == tensor::ResultFormat::S32
                     ? dice.word()
                     : accumulator_of_kind(round, dice, result == tensor::ResultFormat::F16);
        }
      }
      for (const bool exact : {true, false}) {
        const bool accumulate = dice.next() % 4 != 0;
        const uint32_t mask = dice.next() % 2 ? tensor::kEveryLane : dice.word();
        const int count = dice.between(1, kColumns);
        const bool pairs = !exact && tensor::multiplies_pairs(type.format, type.format, result);
        const bool is_fp8 = type.element == Element::E4M3 || type.element == Element::E5M2;
        const Arithmetic how{.exact = exact,
                             .k = k,
                             .fraction_bits = is_fp8 && round % 4 < 2 ? 13 : 25,
                             .result = result,
                             .pairs = pairs};
        const tensor::Packing packing{.format = type.format, .k = k, .negate = dice.next() % 2 == 0, .pairs = pairs};
        const tensor::Packing others_packing{.format = type.format, .k = k, .pairs = pairs};
        const auto rows = rows_of<32>(type, a);
        const auto others = rows_of<kColumns>(type, b);
        const auto output = [&](size_t row, size_t column, uint32_t c, bool adds) {
          return defined(how, type.format, rows[row], others[column], c, adds, packing.negate);
        };
        std::array<std::array<uint32_t, 32>, kColumns> start_of_columns, column_outputs;
        std::array<std::array<uint32_t, 32>, kColumns / 2> fragment_outputs;
        for (size_t l = 0; l < 32; ++l) {
          for (size_t c = 0; c < kColumns; ++c) {
            const bool cancels = round % 3 == 0 && accumulate && result == tensor::ResultFormat::F32;
            uint32_t& old = start_of_columns[c][l] = start[c][l];
            if (cancels) old = output(l, c, 0, false) ^ 0x8000'0000;
            const bool is_written = (mask >> l & 1) != 0 && c < static_cast<size_t>(count);
            column_outputs[c][l] = is_written ? output(l, c, old, accumulate) : old;
          }
          // Register 4 g + 2 h + p: rows l / 4 of A's half h, columns 8 g + 2 (l % 4) + p.
          for (size_t r = 0; r < fragment_outputs.size(); ++r)
            fragment_outputs[r][l] =
                output(l / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (l % 4) + r % 2, start[r][l], accumulate);
        }
        for (const tensor::Kernels& set : tensor::all_kernels()) {
          tensor::LaneTile tile, halves[2];
          tensor::ColumnTile columns[kColumns];
          tensor::QuadTile quads[kColumns / 4];
          set.pack_lanes(packing, rows.data(), 1, &tile);
          set.pack_columns(others_packing, others.data(), kColumns, columns);
          for (size_t h = 0; h < 2; ++h) set.pack_lanes(packing, &rows[8 * h], 4, &halves[h]);
          set.pack_quads(others_packing, others.data(), kColumns, quads);
          auto cells = start_of_columns;
          auto fragments = start;
          std::vector<uint32_t*> to, registers;
          for (auto& each : cells) to.push_back(each.data());
          for (auto& each : fragments) registers.push_back(each.data());
          set.columns(how, &tile, columns, to.data(), count, accumulate, mask);
          set.fragments(how, halves, quads, registers.data(), kColumns / 8, accumulate);
          const std::string where = std::string(set.name) + (exact ? " exact" : " fast") + " type " +
                                    std::to_string(static_cast<int>(type.element)) + " result " +
                                    std::to_string(static_cast<int>(result)) + " round " + std::to_string(round);
          for (size_t c = 0; c < kColumns; ++c) ASSERT_EQ(cells[c], column_outputs[c]) << where << " column " << c;
          for (size_t r = 0; r < fragment_outputs.size(); ++r)
            ASSERT_EQ(fragments[r], fragment_outputs[r]) << where << " register " << r;
        }
      }
    }
  }
}

/// Several instructions into the same accumulators, which stay in registers between them.
TEST(Vectors, StepsTogetherEqualOneAfterTheOther) {
  constexpr int kSteps = tensor::kMaxSteps, kColumns = 16;
  for (const Type& type : {kTypes[0], kTypes[1], kTypes[3]}) {
    const int k = 32 / bytes_of(type.element);
    const bool pairs = tensor::multiplies_pairs(type.format, type.format, tensor::ResultFormat::F32);
    const tensor::Packing packing{.format = type.format, .k = k, .pairs = pairs};
    Arithmetic together{.exact = false, .k = k, .pairs = pairs, .steps = kSteps, .pitch = kColumns};
    Arithmetic alone = together;
    alone.steps = 1;
    Dice dice(2027);
    const auto random_rows = [&]<size_t N>(std::array<tensor::Row, N>& rows) {
      for (tensor::Row& row : rows) {
        std::vector<uint32_t> elements;
        for (int i = 0; i < k; ++i) elements.push_back(element_of_kind(type, 0, dice));
        row = row_of(type, elements);
      }
    };
    std::array<std::array<uint32_t, 32>, kColumns> start;
    for (auto& cells : start) {
      for (uint32_t& cell : cells) cell = accumulator_of_kind(0, dice, false);
    }
    std::array<tensor::Row, 32 * kSteps> rows;
    std::array<tensor::Row, kColumns * kSteps> others;
    random_rows(rows), random_rows(others);
    for (const tensor::Kernels& set : tensor::all_kernels()) {
      tensor::LaneTile tiles[kSteps], halves[2 * kSteps];
      tensor::ColumnTile columns[kColumns * kSteps];
      tensor::QuadTile quads[kColumns / 4 * kSteps];
      for (int step = 0; step < kSteps; ++step) {
        set.pack_lanes(packing, &rows[32 * step], 1, &tiles[step]);
        for (int h = 0; h < 2; ++h) set.pack_lanes(packing, &rows[32 * step + 8 * h], 4, &halves[2 * step + h]);
      }
      set.pack_columns(packing, others.data(), kColumns * kSteps, columns);
      set.pack_quads(packing, others.data(), kColumns * kSteps, quads);
      for (const bool fragments : {false, true}) {
        auto expected = start, found = start;
        const auto multiply = [&](const Arithmetic& how, int step, auto& cells) {
          std::vector<uint32_t*> to;
          for (auto& each : cells) to.push_back(each.data());
          if (fragments)
            set.fragments(how, &halves[2 * step], &quads[kColumns / 4 * step], to.data(), kColumns / 8, true);
          else
            set.columns(how, &tiles[step], &columns[kColumns * step], to.data(), kColumns, true, tensor::kEveryLane);
        };
        for (int step = 0; step < kSteps; ++step) multiply(alone, step, expected);
        together.pitch = fragments ? kColumns / 4 : kColumns;
        multiply(together, 0, found);
        EXPECT_EQ(found, expected) << set.name << " type " << static_cast<int>(type.element) << " " << fragments;
        EXPECT_NE(found, start);
      }
    }
  }
}

/// Sparse instructions and FP4 with factors, on every instruction set.
TEST(Vectors, DeepOnesEqualTheDefinition) {
  constexpr int kColumns = 4;
  Dice dice(7);
  for (int round = 0; round < 2 * kKinds; ++round) {
    static tensor::DeepLaneTile a;
    static tensor::DeepColumnTile b[kColumns];
    const Type& type = kTypes[static_cast<size_t>(round % 2)];
    const auto roll = [&](float& value, int16_t& exponent) {
      tensor::Row row = row_of(type, {element_of_kind(type, round / 2, dice)});
      tensor::widen(type.format, row.data(), 1, &value);
      exponent = tensor::model_exponent(value, tensor::min_exponent(type.format));
    };
    Arithmetic how;
    how.k = 64, how.result = round % 3 == 0 ? tensor::ResultFormat::F16 : tensor::ResultFormat::F32;
    for (int k = 0; k < how.k; ++k) {
      for (int lane = 0; lane < tensor::kLanes; ++lane) {
        if (dice.next() % 2 == 0)
          a.value[k][lane] = 0, a.exponent[k][lane] = tensor::kAbsentExponent;
        else
          roll(a.value[k][lane], a.exponent[k][lane]);
      }
      for (auto& column : b) roll(column.value[k], column.exponent[k]);
    }
    uint32_t start[kColumns][tensor::kLanes];
    for (auto& column : start) {
      for (uint32_t& each : column) each = accumulator_of_kind(round, dice, how.result == tensor::ResultFormat::F16);
    }
    for (const tensor::Kernels& set : tensor::all_kernels()) {
      uint32_t cells[kColumns][tensor::kLanes];
      std::memcpy(cells, start, sizeof cells);
      uint32_t* const pointers[] = {cells[0], cells[1], cells[2], cells[3]};
      set.deep_columns(how, a, b, pointers, kColumns, true, 0x7FFF'FFFF);
      for (size_t c = 0; c < kColumns; ++c) {
        for (size_t lane = 0; lane < 32; ++lane) {
          float values[64];
          int16_t exponents[64];
          for (size_t k = 0; k < 64; ++k) values[k] = a.value[k][lane], exponents[k] = a.exponent[k][lane];
          const uint32_t expected = lane == 31 ? start[c][lane]
                                               : tensor::multiply_one(how, values, exponents, b[c].value, b[c].exponent,
                                                                      start[c][lane], true);
          ASSERT_EQ(cells[c][lane], expected) << set.name << " round " << round << " column " << c << " lane " << lane;
        }
      }
    }
  }
}

TEST(Vectors, Fp4EqualsTheIntegerModel) {
  constexpr size_t kColumns = 4;
  Dice dice(8);
  for (int round = 0; round < 12; ++round) {
    const bool ue8m0 = round % 2 == 0;
    const auto factor = [&] {
      if (dice.next() % 32 == 0) return ue8m0 ? 0xFFu : 0x7Fu;  // NaN
      return ue8m0 ? static_cast<uint32_t>(dice.between(round < 6 ? 120 : 0, round < 6 ? 134 : 254))
                   : static_cast<uint32_t>(dice.between(0, 0x7E));
    };
    const auto set_factor = [&](uint32_t code, float& value, int16_t& exponent) {
      const bool nan = code == (ue8m0 ? 0xFFu : 0x7Fu);
      if (ue8m0)
        value = std::ldexp(1.0f, static_cast<int>(code) - 127),
        exponent = static_cast<int16_t>(static_cast<int>(code) - 127);
      else
        value = tensor::values_of(tensor::Format::E4M3)[code], exponent = tensor::model_exponent(value, -6);
      if (nan) value = NAN, exponent = tensor::kSpecialExponent;
    };
    const float* const values = tensor::values_of(tensor::Format::E2M1x2);
    static tensor::Fp4Lanes a;
    static tensor::Fp4Column b[kColumns];
    std::vector<std::vector<uint32_t>> a_codes(32), b_codes(kColumns), a_factors(32), b_factors(kColumns);
    for (size_t lane = 0; lane < 32; ++lane) {
      for (size_t k = 0; k < 64; ++k) {
        a_codes[lane].push_back(dice.word() & 15);
        a.value[k][lane] = values[a_codes[lane][k]];
      }
      for (size_t block = 0; block < 4; ++block) {
        a_factors[lane].push_back(factor());
        set_factor(a_factors[lane][block], a.factor[block][lane], a.exponent[block][lane]);
      }
    }
    for (size_t c = 0; c < kColumns; ++c) {
      for (size_t k = 0; k < 64; ++k) {
        b_codes[c].push_back(dice.word() & 15);
        b[c].value[k] = values[b_codes[c][k]];
      }
      for (size_t block = 0; block < 4; ++block) {
        b_factors[c].push_back(factor());
        set_factor(b_factors[c][block], b[c].factor[block], b[c].exponent[block]);
      }
    }
    uint32_t start[kColumns][32];
    for (auto& column : start) {
      for (uint32_t& each : column) each = accumulator_of_kind(round, dice, false);
    }
    Arithmetic how;
    how.k = 64;
    for (const tensor::Kernels& set : tensor::all_kernels()) {
      uint32_t cells[kColumns][32];
      std::memcpy(cells, start, sizeof cells);
      uint32_t* const pointers[] = {cells[0], cells[1], cells[2], cells[3]};
      set.fp4_columns(how, a, b, pointers, kColumns, true, tensor::kEveryLane);
      for (size_t c = 0; c < kColumns; ++c) {
        for (size_t lane = 0; lane < 32; ++lane)
          ASSERT_EQ(cells[c][lane], fp4_output(a_codes[lane], b_codes[c], false, a_factors[lane], b_factors[c], ue8m0,
                                               start[c][lane], true))
              << set.name << " round " << round << " column " << c << " lane " << lane;
      }
    }
  }
}

}  // namespace
}  // namespace sim::test
