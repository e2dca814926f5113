// mov, cvt and the conversions between address spaces.
#include <algorithm>
#include <cmath>
#include <limits>

#include "support.h"

namespace sim::test {
namespace {

// ---- formats, by definition

struct SmallFloat {
  int exponent_bits, fraction_bits, bias;
  bool infinities;  ///< the highest exponent is infinity and NaN; else only the last pattern is NaN
};
constexpr SmallFloat kF16{5, 10, 15, true}, kBf16{8, 7, 127, true}, kE4m3{4, 3, 7, false}, kE5m2{5, 2, 15, true};

double decode(const SmallFloat& f, uint64_t bits) {
  const int top = (1 << f.exponent_bits) - 1, e = static_cast<int>(bits >> f.fraction_bits) & top,
            m = static_cast<int>(bits) & ((1 << f.fraction_bits) - 1);
  const bool negative = bits >> (f.exponent_bits + f.fraction_bits) & 1;
  double x;
  if (f.infinities && e == top)
    x = m ? NAN : INFINITY;
  else if (!f.infinities && e == top && m == (1 << f.fraction_bits) - 1)
    x = NAN;
  else if (e == 0)
    x = std::ldexp(m, 1 - f.bias - f.fraction_bits);
  else
    x = std::ldexp((1 << f.fraction_bits) + m, e - f.bias - f.fraction_bits);
  return negative ? -x : x;
}

/// All finite values of a format in order, with their patterns.
std::vector<std::pair<double, uint64_t>> ladder(const SmallFloat& f) {
  std::vector<std::pair<double, uint64_t>> steps;
  for (uint64_t bits = 0; bits < uint64_t{1} << (f.exponent_bits + f.fraction_bits); ++bits) {
    const double x = decode(f, bits);
    if (std::isfinite(x)) steps.emplace_back(x, bits);
  }
  return steps;
}

enum class Mode { Nearest, Zero, Down, Up };

/// Searches the neighbours of |x| among all values of the format: slow, and hard to get wrong.
uint64_t encode(const SmallFloat& f, double x, Mode mode, uint64_t nan, bool saturate) {
  static std::vector<std::pair<const SmallFloat*, std::vector<std::pair<double, uint64_t>>>> known;
  auto entry = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == &f; });
  if (entry == known.end()) entry = known.insert(known.end(), {&f, ladder(f)});
  const auto& steps = entry->second;
  const uint64_t sign = std::signbit(x) ? uint64_t{1} << (f.exponent_bits + f.fraction_bits) : 0;
  if (std::isnan(x)) return nan;
  const double magnitude = std::fabs(x);
  const auto above = std::lower_bound(steps.begin(), steps.end(), magnitude,
                                      [](const auto& step, double v) { return step.first < v; });
  if (above != steps.end() && above->first == magnitude) return sign | above->second;
  const auto& below = *(above - 1);
  const bool away_mode = mode == (sign ? Mode::Down : Mode::Up);
  const uint64_t infinity =
      saturate ? steps.back().second : static_cast<uint64_t>((1 << f.exponent_bits) - 1) << f.fraction_bits;
  if (above == steps.end()) {
    const double next = 2 * steps.back().first - steps[steps.size() - 2].first;  // where the next step would be
    if (std::isinf(magnitude)) return sign | infinity;
    if (mode == Mode::Nearest ? magnitude >= (below.first + next) / 2 : away_mode) return sign | infinity;
    return sign | below.second;
  }
  if (mode != Mode::Nearest) return sign | (away_mode ? above->second : below.second);
  const double middle = (below.first + above->first) / 2;
  const bool up = magnitude > middle || (magnitude == middle && (below.second & 1));
  return sign | (up ? above->second : below.second);
}

Rows many_floats(size_t count, uint64_t seed) {
  Rows rows = singles(edge_floats());
  Dice dice(seed);
  while (rows.size() < count) rows.push_back({dice.word()});
  return rows;
}

// ---- floats to smaller floats

TEST(Convert, Bf16ModelOfTheHardware) {
  // Measured on an H200 for all inputs: NaN becomes 0x7FFF, the rest rounds to nearest even on bit 16.
  Rows rows = many_floats(40'000, 11);
  for (uint64_t high = 0; high < 0x1'0000; high += 7) {
    for (const uint64_t rest : {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF}) rows.push_back({high << 16 | rest});
  }
  const auto is_nan = [](uint64_t u) { return (u & 0x7FFF'FFFF) > 0x7F80'0000; };
  const auto rn = [&](uint64_t u) -> uint64_t { return is_nan(u) ? 0x7FFF : (u + 0x7FFF + ((u >> 16) & 1)) >> 16; };
  const auto rz = [&](uint64_t u) -> uint64_t { return is_nan(u) ? 0x7FFF : u >> 16; };
  const auto finite = [&](uint64_t h) -> uint64_t { return (h & 0x7FFF) == 0x7F80 ? h - 1 : h; };
  expect_value("cvt.rn.bf16.f32 d, a;", "f32 a", "b16 d", rows, [&](const Row& x) { return rn(x[0]); });
  expect_value("cvt.rz.bf16.f32 d, a;", "f32 a", "b16 d", rows, [&](const Row& x) { return rz(x[0]); });
  expect_value("cvt.rn.satfinite.bf16.f32 d, a;", "f32 a", "b16 d", rows,
               [&](const Row& x) { return is_nan(x[0]) ? 0x7FFF : finite(rn(x[0])); });
  expect_value("cvt.rn.relu.bf16.f32 d, a;", "f32 a", "b16 d", rows, [&](const Row& x) {
    return is_nan(x[0]) ? 0x7FFF : x[0] & 0x8000'0000 ? 0 : rn(x[0]);
  });
  Rows two;
  for (size_t i = 0; i + 1 < rows.size(); ++i) two.push_back({rows[i][0], rows[i + 1][0]});
  // The first source goes to the upper half.
  expect_value("cvt.rn.bf16x2.f32 d, a, b;", "f32 a, f32 b", "b32 d", two,
               [&](const Row& x) { return rn(x[0]) << 16 | rn(x[1]); });
  expect_value("cvt.rz.bf16x2.f32 d, a, b;", "f32 a, f32 b", "b32 d", two,
               [&](const Row& x) { return rz(x[0]) << 16 | rz(x[1]); });
  expect_value("cvt.rn.satfinite.bf16x2.f32 d, a, b;", "f32 a, f32 b", "b32 d", two, [&](const Row& x) {
    return (is_nan(x[0]) ? 0x7FFF : finite(rn(x[0]))) << 16 | (is_nan(x[1]) ? 0x7FFF : finite(rn(x[1])));
  });
  Rows all;
  for (uint64_t h = 0; h < 0x1'0000; ++h) all.push_back({h});
  expect_value("cvt.f32.bf16 d, a;", "b16 a", "f32 d", all, [](const Row& x) { return x[0] << 16; });
}

TEST(Convert, F16) {
  const Rows rows = many_floats(20'000, 12);
  const std::pair<const char*, Mode> modes[] = {
      {"rn", Mode::Nearest}, {"rz", Mode::Zero}, {"rm", Mode::Down}, {"rp", Mode::Up}};
  for (const auto& [name, mode] : modes) {
    expect_value(std::string("cvt.") + name + ".f16.f32 d, a;", "f32 a", "b16 d", rows, [mode = mode](const Row& x) {
      return encode(kF16, static_cast<double>(float_of(x[0])), mode, 0x7FFF, false);
    });
  }
  Rows near;  // where F16 has its steps, its ties and its ends
  Dice dice(1);
  for (int i = 0; i < 20'000; ++i) near.push_back({bits_of(dice.real(-26, 16)) & (i % 2 ? 0xFFFF'F000 : 0xFFFF'FFFF)});
  expect_value("cvt.rn.f16.f32 d, a;", "f32 a", "b16 d", near, [](const Row& x) {
    return encode(kF16, static_cast<double>(float_of(x[0])), Mode::Nearest, 0x7FFF, false);
  });
  expect_value("cvt.rn.satfinite.f16.f32 d, a;", "f32 a", "b16 d", rows, [](const Row& x) {
    return encode(kF16, static_cast<double>(float_of(x[0])), Mode::Nearest, 0x7FFF, true);
  });
  expect_value("cvt.rn.f16x2.f32 d, a, b;", "f32 a, f32 b", "b32 d", pairs(edge_floats(), edge_floats()),
               [](const Row& x) {
                 return encode(kF16, static_cast<double>(float_of(x[0])), Mode::Nearest, 0x7FFF, false) << 16 |
                        encode(kF16, static_cast<double>(float_of(x[1])), Mode::Nearest, 0x7FFF, false);
               });
  Rows finite;
  for (uint64_t h = 0; h < 0x1'0000; ++h) {
    if (!std::isnan(decode(kF16, h))) finite.push_back({h});
  }
  expect_value("cvt.f32.f16 d, a;", "b16 a", "f32 d", finite,
               [](const Row& x) { return bits_of(static_cast<float>(decode(kF16, x[0]))); });
}

TEST(Convert, Fp8) {
  Rows rows = many_floats(8000, 13);
  Dice dice(2);
  for (int i = 0; i < 8000; ++i) rows.push_back({bits_of(dice.real(-18, 17))});
  Rows two;
  for (size_t i = 0; i + 1 < rows.size(); ++i) two.push_back({rows[i][0], rows[i + 1][0]});
  // Saturating to the largest finite number; NaN is 0x7F in both.
  expect_value("cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "f32 a, f32 b", "b16 d", two, [](const Row& x) {
    return encode(kE4m3, static_cast<double>(float_of(x[0])), Mode::Nearest, 0x7F, true) << 8 |
           encode(kE4m3, static_cast<double>(float_of(x[1])), Mode::Nearest, 0x7F, true);
  });
  expect_value("cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "f32 a, f32 b", "b16 d", two, [](const Row& x) {
    return encode(kE5m2, static_cast<double>(float_of(x[0])), Mode::Nearest, 0x7F, true) << 8 |
           encode(kE5m2, static_cast<double>(float_of(x[1])), Mode::Nearest, 0x7F, true);
  });
  Rows bytes;
  for (uint64_t h = 0; h < 0x1'0000; ++h) bytes.push_back({h});
  const auto half = [](const SmallFloat& f, uint64_t byte) {
    return encode(kF16, decode(f, byte), Mode::Nearest, 0x7FFF, false);
  };
  expect_value("cvt.rn.f16x2.e4m3x2 d, a;", "b16 a", "b32 d", bytes,
               [&](const Row& x) { return half(kE4m3, x[0] >> 8) << 16 | half(kE4m3, x[0] & 0xFF); });
  expect_value("cvt.rn.satfinite.e4m3x2.f16x2 d, a;", "b32 a", "b16 d",
               Rows{{0x3C00'4000}, {0x7C00'FC00}, {0x0000'8000}, {0x7E00'2000}}, [](const Row& x) {
                 return encode(kE4m3, decode(kF16, x[0] >> 16), Mode::Nearest, 0x7F, true) << 8 |
                        encode(kE4m3, decode(kF16, x[0] & 0xFFFF), Mode::Nearest, 0x7F, true);
               });
}

TEST(Convert, Fp8WithoutNegativeNumbers) {
  for (const bool e4m3 : {true, false}) {
    const SmallFloat& format = e4m3 ? kE4m3 : kE5m2;
    const std::string name = e4m3 ? "e4m3x2" : "e5m2x2";
    Rows codes;
    for (uint64_t code = 0; code < 256; ++code) codes.push_back({code << 8 | (255 - code)});
    const Rows plain = evaluate("cvt.rn.f16x2." + name + " d, a;", "b16 a", "b32 d", codes);
    const auto without = [](uint64_t half) { return half & 0x8000 && (half & 0x7FFF) <= 0x7C00 ? 0 : half; };
    size_t row = 0;
    expect_value("cvt.rn.relu.f16x2." + name + " d, a;", "b16 a", "b32 d", codes, [&](const Row&) {
      const uint64_t both = plain[row++][0];
      return without(both >> 16) << 16 | without(both & 0xFFFF);
    });
    expect_value("cvt.rn.satfinite.relu." + name + ".f16x2 d, a;", "b32 a", "b16 d",
                 singles({0xBC00'3C00, 0x8000'FC00, 0x0000'8001, 0x3C00'BC00}), [&](const Row& x) {
                   const uint64_t one = static_cast<uint64_t>(format.bias) << format.fraction_bits;
                   const auto code = [&](uint64_t half) { return half == 0x3C00 ? one : 0; };
                   return code(x[0] >> 16) << 8 | code(x[0] & 0xFFFF);
                 });
  }
}

TEST(Convert, Fp4AndFp6) {
  // Every code, by the definition of its format: no infinities, no NaNs.
  struct Format {
    const char* name;
    int exponent_bits, fraction_bits, bias, apart;
  };
  for (const Format& f : {Format{"e2m1x2", 2, 1, 1, 4}, Format{"e2m3x2", 2, 3, 1, 8}, Format{"e3m2x2", 3, 2, 3, 8}}) {
    const std::string reg = f.apart == 4 ? "b8" : "b16";
    const auto value = [&](uint64_t code) {
      const auto e = static_cast<int>(code >> f.fraction_bits) & ((1 << f.exponent_bits) - 1);
      const auto m = static_cast<int>(code) & ((1 << f.fraction_bits) - 1);
      const double x = e == 0 ? std::ldexp(m, 1 - f.bias - f.fraction_bits)
                              : std::ldexp((1 << f.fraction_bits) + m, e - f.bias - f.fraction_bits);
      return code >> (f.exponent_bits + f.fraction_bits) & 1 ? -x : x;
    };
    const uint64_t codes = uint64_t{2} << (f.exponent_bits + f.fraction_bits), largest = codes / 2 - 1;
    // Byte registers are filled by a conversion, for nothing else loads them here.
    Rows all;
    for (uint64_t code = 0; code < codes; ++code) all.push_back({code << f.apart | (codes - 1 - code)});
    const std::string convert = ".reg .b8 byte; cvt.u8.u16 byte, a; ";
    const auto widen = [&](const std::string& relu) {
      return f.apart == 4 ? convert + "cvt.rn" + relu + ".f16x2.e2m1x2 d, byte;"
                          : "cvt.rn" + relu + ".f16x2." + f.name + " d, a;";
    };
    for (const bool relu : {false, true}) {
      expect_value(widen(relu ? ".relu" : ""), "b16 a", "b32 d", all, [&](const Row& x) {
        const auto half = [&](uint64_t code) {
          const double v = value(code & (codes - 1));
          return encode(kF16, relu && v <= 0 ? 0.0 : v, Mode::Nearest, 0, false);
        };
        return half(x[0] >> f.apart) << 16 | half(x[0]);
      });
    }
    // Everything between two neighbours, and what is beyond the largest.
    std::vector<uint64_t> numbers = edge_floats();
    for (uint64_t code = 0; code < largest; ++code) {
      const auto low = static_cast<float>(value(code)), high = static_cast<float>(value(code + 1)),
                 middle = (low + high) / 2;
      for (const float x : {low, middle, std::nextafter(middle, low), std::nextafter(middle, high)}) {
        numbers.push_back(std::bit_cast<uint32_t>(x));
        numbers.push_back(std::bit_cast<uint32_t>(-x));
      }
    }
    const auto nearest = [&](uint64_t bits) -> uint64_t {
      const auto x = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      if (std::isnan(x)) return largest;
      const bool beyond = std::fabs(x) >= value(largest);
      uint64_t best = beyond ? largest : 0;
      for (uint64_t code = 1; code <= largest && !beyond; ++code) {
        const double there = std::fabs(std::fabs(x) - value(code)), here = std::fabs(std::fabs(x) - value(best));
        if (there < here || (there == here && code % 2 == 0)) best = code;
      }
      return best | (std::signbit(x) ? codes / 2 : 0);
    };
    const std::string narrow = std::string("cvt.rn.satfinite.") + f.name + ".f32 ";
    expect_value(f.apart == 4 ? ".reg .b8 byte; " + narrow + "byte, a, b; cvt.u16.u8 d, byte;" : narrow + "d, a, b;",
                 "f32 a, f32 b", "b16 d", pairs(numbers, {0x3F80'0000, 0xC000'0000}),
                 [&](const Row& x) { return nearest(x[0]) << f.apart | nearest(x[1]); });
  }
}

TEST(Convert, ScalesOfBlocks) {
  const std::vector<uint64_t> numbers{0,           1,           0x0040'0000, 0x0040'0001, 0x007F'FFFF,
                                      0x0080'0000, 0x0080'0001, 0x3F80'0000, 0x3F80'0001, 0xBF80'0000,
                                      0x7F7F'FFFF, 0x7F80'0000, 0x7FC0'0000, 0x4000'0000, 0x7F00'0001};
  for (const bool up : {false, true}) {
    const auto code = [up](uint64_t bits) -> uint64_t {
      const double x = std::fabs(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
      if (std::isnan(x)) return 255;
      int exponent = 0;  // of the power of two below x
      uint64_t best = 0;
      for (exponent = -127; exponent <= 127; ++exponent)
        if (std::ldexp(1.0, exponent) <= x) best = static_cast<uint64_t>(exponent + 127);
      if (up && std::ldexp(1.0, static_cast<int>(best) - 127) < x && best < 254) ++best;
      return best;
    };
    expect_value(std::string("cvt.") + (up ? "rp" : "rz") + ".satfinite.ue8m0x2.f32 d, a, b;", "f32 a, f32 b", "b16 d",
                 pairs(numbers, numbers), [&](const Row& x) { return code(x[0]) << 8 | code(x[1]); });
    expect_value(std::string("cvt.") + (up ? "rp" : "rz") + ".satfinite.ue8m0x2.bf16x2 d, a;", "b32 a", "b16 d",
                 singles({0x3F80'0040, 0x3F81'7F7F, 0x7FC0'FF80, 0x0041'BF80}),
                 [&](const Row& x) { return code(x[0] & 0xFFFF'0000) << 8 | code((x[0] << 16) & 0xFFFF'FFFF); });
  }
  expect_value("cvt.rn.bf16x2.ue8m0x2 d, a;", "b16 a", "b32 d", singles({0x7F00, 0x01FE, 0xFF80}), [](const Row& x) {
    const auto brain = [](uint64_t code) {
      return code == 255 ? 0x7FFF
                         : encode(kBf16, std::ldexp(1.0, static_cast<int>(code) - 127), Mode::Nearest, 0, false);
    };
    return brain(x[0] >> 8) << 16 | brain(x[0] & 255);
  });
}

TEST(Convert, Tf32) {
  const Rows rows = many_floats(4000, 14);
  expect_value("cvt.rna.tf32.f32 d, a;", "f32 a", "b32 d", rows, [](const Row& x) -> uint64_t {
    if (std::isnan(float_of(x[0]))) return 0x7FFF'FFFF;
    return (x[0] + 0x1000) & 0xFFFF'E000;
  });
}

TEST(Convert, DoublesToFloats) {
  Rows rows = singles(edge_doubles());
  Dice dice(3);
  for (int i = 0; i < 3000; ++i)
    rows.push_back(
        {(dice.next() & 0x800F'FFFF'FFFF'FFFF) | static_cast<uint64_t>(1023 + dice.between(-160, 140)) << 52});
  for (int i = 0; i < 1000; ++i)
    rows.push_back({std::bit_cast<uint64_t>(static_cast<double>(dice.real(-60, 60))) | 0x1000'0000});  // ties
  const auto round = [](double x, Mode mode) -> uint64_t {
    if (std::isnan(x)) return 0;
    const auto nearest = static_cast<float>(x);
    float lower = nearest, upper = nearest;
    if (static_cast<double>(nearest) > x) lower = std::nextafter(nearest, -INFINITY);
    if (static_cast<double>(nearest) < x) upper = std::nextafter(nearest, INFINITY);
    switch (mode) {
      case Mode::Nearest: return bits_of(nearest);
      case Mode::Zero: return bits_of(x > 0 ? lower : upper);
      case Mode::Down: return bits_of(lower);
      default: return bits_of(upper);
    }
  };
  const std::pair<const char*, Mode> modes[] = {
      {"rn", Mode::Nearest}, {"rz", Mode::Zero}, {"rm", Mode::Down}, {"rp", Mode::Up}};
  std::erase_if(rows, [](const Row& x) { return std::isnan(double_of(x[0])); });
  for (const auto& [name, mode] : modes) {
    expect_value(std::string("cvt.") + name + ".f32.f64 d, a;", "f64 a", "f32 d", rows,
                 [&, mode = mode](const Row& x) { return round(double_of(x[0]), mode); });
  }
  std::vector<uint64_t> floats = edge_floats();
  std::erase_if(floats, [](uint64_t bits) { return std::isnan(float_of(bits)); });
  expect_value("cvt.f64.f32 d, a;", "f32 a", "f64 d", singles(floats),
               [](const Row& x) { return std::bit_cast<uint64_t>(static_cast<double>(float_of(x[0]))); });
  expect_value(
      "cvt.ftz.f64.f32 d, a;", "f32 a", "f64 d", Rows{{1}, {0x807F'FFFF}, {0x0080'0000}}, [](const Row& x) -> uint64_t {
        return x[0] == 1 ? 0 : x[0] == 0x0080'0000 ? std::bit_cast<uint64_t>(0x1p-126) : std::bit_cast<uint64_t>(-0.0);
      });
  expect_value("cvt.sat.f32.f32 d, a;", "f32 a", "f32 d", singles(edge_floats()), [](const Row& x) {
    const float v = float_of(x[0]);
    return bits_of(v > 0 ? std::min(v, 1.0f) : 0.0f);
  });
}

// ---- floats and integers

TEST(Convert, FloatsToIntegers) {
  struct Target {
    const char* name;
    const char* registers;
    int bits;
    bool is_signed;
  };
  const Target targets[] = {{"s8", "b32", 8, true},    {"u8", "b32", 8, false},  {"s16", "b16", 16, true},
                            {"u16", "b16", 16, false}, {"s32", "b32", 32, true}, {"u32", "b32", 32, false},
                            {"s64", "b64", 64, true},  {"u64", "b64", 64, false}};
  const std::pair<const char*, double (*)(double)> modes[] = {
      {"rni", std::nearbyint}, {"rzi", std::trunc}, {"rmi", std::floor}, {"rpi", std::ceil}};
  std::vector<uint64_t> floats = edge_floats();
  for (const float v :
       {0.5f,          1.5f,          2.5f,    -0.5f,    -1.5f,    127.5f,        128.0f,        -128.5f,
        -129.0f,       255.5f,        256.0f,  32767.5f, 65535.5f, 2147483520.0f, 2147483648.0f, -2147483648.0f,
        4294967040.0f, 4294967296.0f, 9.2e18f, 9.3e18f,  1.8e19f,  1.9e19f}) {
    floats.push_back(bits_of(v));
  }
  const Rows rows = singles(floats), doubles = singles(edge_doubles());
  for (const Target& t : targets) {
    for (const auto& [name, round] : modes) {
      const auto model = [&, round = round](double x, bool from_double) -> uint64_t {
        const int width = std::max(t.bits, std::string(t.registers) == "b16" ? 16 : t.bits == 64 ? 64 : 32);
        const auto fit = [&](uint64_t v) { return width == 64 ? v : v & ((uint64_t{1} << width) - 1); };
        // NaN: 0, but the highest bit alone if the source is a double or the result has 64 bits.
        const auto extend = [&](uint64_t v) {
          return fit(t.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(v << (64 - t.bits)) >> (64 - t.bits))
                                 : v);
        };
        if (std::isnan(x)) return from_double || t.bits == 64 ? extend(uint64_t{1} << (t.bits - 1)) : 0;
        const double r = round(x), low = t.is_signed ? -std::ldexp(1, t.bits - 1) : 0,
                     limit = std::ldexp(1, t.is_signed ? t.bits - 1 : t.bits);
        if (r < low) return extend(t.is_signed ? uint64_t{1} << (t.bits - 1) : 0);
        if (r >= limit)
          return extend(t.is_signed    ? (uint64_t{1} << (t.bits - 1)) - 1
                        : t.bits == 64 ? ~uint64_t{0}
                                       : (uint64_t{1} << t.bits) - 1);
        return extend(r < 0 ? static_cast<uint64_t>(static_cast<int64_t>(r)) : static_cast<uint64_t>(r));
      };
      const std::string form = std::string("cvt.") + name + "." + t.name, out = std::string(t.registers) + " d";
      expect_value(form + ".f32 d, a;", "f32 a", out, rows,
                   [&](const Row& x) { return model(static_cast<double>(float_of(x[0])), false); });
      expect_value(form + ".f64 d, a;", "f64 a", out, doubles,
                   [&](const Row& x) { return model(double_of(x[0]), true); });
    }
  }
  expect_value("cvt.rzi.s32.bf16 d, a;", "b16 a", "b32 d", Rows{{0x4048}, {0xC048}, {0x7F80}},
               [](const Row& x) -> uint64_t {
                 return x[0] == 0x4048 ? 3 : x[0] == 0xC048 ? 0xFFFF'FFFD : 0x7FFF'FFFF;
               });
  expect_value("cvt.rni.f32.f32 d, a;", "f32 a", "f32 d", Rows{{bits_of(2.5f)}, {bits_of(-0.3f)}, {bits_of(3.5f)}},
               [](const Row& x) { return bits_of(std::nearbyint(float_of(x[0]))); });
}

TEST(Convert, IntegersToFloats) {
  const std::pair<const char*, Mode> modes[] = {
      {"rn", Mode::Nearest}, {"rz", Mode::Zero}, {"rm", Mode::Down}, {"rp", Mode::Up}};
  std::vector<uint64_t> words = edge_integers(64);
  Dice dice(4);
  for (int i = 0; i < 300; ++i) {
    const uint64_t v = dice.next() >> dice.between(0, 63);
    words.push_back(v), words.push_back(~v);
    words.push_back((v | 1) << 39 << (i % 25)), words.push_back(((v & 0xFFF'FFFF) << 36) + (uint64_t{1} << (i % 36)));
  }
  const Rows rows = singles(words);
  for (const auto& [name, mode] : modes) {
    const auto round = [mode = mode](uint64_t bits, bool is_signed, int digits) -> long double {
      const bool negative = is_signed && static_cast<int64_t>(bits) < 0;
      const unsigned __int128 magnitude = negative ? static_cast<unsigned __int128>(0 - bits) : bits;
      unsigned __int128 unit = 1;
      while (magnitude / unit >= static_cast<unsigned __int128>(1) << digits) unit *= 2;
      unsigned __int128 count = magnitude / unit;
      const unsigned __int128 rest = magnitude % unit;
      const bool away = mode == Mode::Nearest ? 2 * rest > unit || (2 * rest == unit && (count & 1))
                        : mode == Mode::Zero  ? false
                                              : rest > 0 && (mode == Mode::Down) == negative;
      count += away;
      const long double result = static_cast<long double>(count) * static_cast<long double>(unit);
      return negative ? -result : result;
    };
    const std::string n = std::string("cvt.") + name;
    expect_value(n + ".f32.s64 d, a;", "b64 a", "f32 d", rows,
                 [&](const Row& x) { return bits_of(static_cast<float>(round(x[0], true, 24))); });
    expect_value(n + ".f32.u64 d, a;", "b64 a", "f32 d", rows,
                 [&](const Row& x) { return bits_of(static_cast<float>(round(x[0], false, 24))); });
    expect_value(n + ".f64.s64 d, a;", "b64 a", "f64 d", rows,
                 [&](const Row& x) { return std::bit_cast<uint64_t>(static_cast<double>(round(x[0], true, 53))); });
    expect_value(n + ".f64.u64 d, a;", "b64 a", "f64 d", rows,
                 [&](const Row& x) { return std::bit_cast<uint64_t>(static_cast<double>(round(x[0], false, 53))); });
    const Rows narrow = singles(edge_integers(32));
    expect_value(n + ".f32.s32 d, a;", "b32 a", "f32 d", narrow, [&](const Row& x) {
      return bits_of(static_cast<float>(round(static_cast<uint64_t>(int64_t{static_cast<int32_t>(x[0])}), true, 24)));
    });
    expect_value(n + ".f32.u32 d, a;", "b32 a", "f32 d", narrow,
                 [&](const Row& x) { return bits_of(static_cast<float>(round(x[0], false, 24))); });
    expect_value(n + ".f16.s32 d, a;", "b32 a", "b16 d", narrow, [&, mode = mode](const Row& x) {
      return encode(kF16, static_cast<double>(static_cast<int32_t>(x[0])), mode, 0x7FFF, false);
    });
    expect_value(n + ".bf16.u32 d, a;", "b32 a", "b16 d", narrow, [&, mode = mode](const Row& x) {
      return encode(kBf16, static_cast<double>(x[0]), mode, 0x7FFF, false);
    });
  }
  expect_value("cvt.rn.f32.s8 d, a;", "b32 a", "f32 d", Rows{{0x80}, {0x7F}, {0x1FF}},
               [](const Row& x) { return bits_of(static_cast<float>(static_cast<int8_t>(x[0]))); });
}

TEST(Convert, IntegersToIntegers) {
  struct Kind {
    const char* name;
    int bits;
    bool is_signed;
  };
  const Kind kinds[] = {{"u8", 8, false},   {"s8", 8, true},   {"u16", 16, false}, {"s16", 16, true},
                        {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}};
  const auto registers = [](int bits) { return bits <= 16 ? std::string("b16") : "b" + std::to_string(bits); };
  const auto extend = [](uint64_t v, const Kind& kind) {
    return kind.is_signed    ? static_cast<uint64_t>(static_cast<int64_t>(v << (64 - kind.bits)) >> (64 - kind.bits))
           : kind.bits == 64 ? v
                             : v & ((uint64_t{1} << kind.bits) - 1);
  };
  for (const Kind& from : kinds) {
    const int from_width = std::max(from.bits, 16);
    const Rows rows = singles(edge_integers(from_width));
    for (const Kind& to : kinds) {
      const int width = std::max(to.bits, 16);
      const auto fit = [&](uint64_t v) { return width == 64 ? v : v & ((uint64_t{1} << width) - 1); };
      expect_value(std::string("cvt.") + to.name + "." + from.name + " d, a;", registers(from.bits) + " a",
                   registers(to.bits) + " d", rows, [&](const Row& x) { return fit(extend(extend(x[0], from), to)); });
      // Where every value fits, there is no form that saturates.
      const bool fits = to.is_signed == from.is_signed ? to.bits >= from.bits : to.is_signed && to.bits > from.bits;
      if (fits) continue;
      expect_value(std::string("cvt.sat.") + to.name + "." + from.name + " d, a;", registers(from.bits) + " a",
                   registers(to.bits) + " d", rows, [&](const Row& x) {
                     const __int128 v = from.is_signed ? static_cast<__int128>(static_cast<int64_t>(extend(x[0], from)))
                                                       : static_cast<__int128>(extend(x[0], from));
                     const __int128 low = to.is_signed ? -(static_cast<__int128>(1) << (to.bits - 1)) : 0,
                                    high = (static_cast<__int128>(1) << (to.is_signed ? to.bits - 1 : to.bits)) - 1;
                     return fit(static_cast<uint64_t>(std::clamp(v, low, high)));
                   });
    }
  }
  // Wider registers than the type: sign or zero extension to the register.
  EXPECT_EQ(
      evaluate("cvt.s8.s32 d, a; cvt.u8.u32 e, a; cvt.s16.s32 f, a;", "b32 a", "b32 d, b32 e, b32 f", {{0x1234'F680}}),
      (Rows{{0xFFFF'FF80, 0x80, 0xFFFF'F680}}));
  // The source's register may be wider, too: its lower part counts, in every lane.
  const Rows wide = singles(edge_integers(64));
  expect_value("cvt.s64.s32 d, a;", "b64 a", "b64 d", wide,
               [](const Row& x) { return static_cast<uint64_t>(static_cast<int32_t>(x[0])); });
  expect_value("cvt.u32.u16 d, a;", "b64 a", "b32 d", wide, [](const Row& x) { return x[0] & 0xFFFF; });
  expect_value("cvt.s16.s8 d, a;", "b64 a", "b32 d", wide,
               [](const Row& x) { return static_cast<uint32_t>(static_cast<int8_t>(x[0])); });
  expect_value("cvt.pack.sat.s16.s32 d, a, b;", "b32 a, b32 b", "b32 d", pairs(edge_integers(32), edge_integers(32)),
               [](const Row& x) {
                 const auto clamp = [](uint64_t v) {
                   return static_cast<uint64_t>(std::clamp<int32_t>(static_cast<int32_t>(v), -32768, 32767)) & 0xFFFF;
                 };
                 return clamp(x[0]) << 16 | clamp(x[1]);
               });
  EXPECT_EQ(evaluate("cvt.pack.sat.u8.s32.b32 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d",
                     {{300, 0xFFFF'FFFF, 0x1122'3344}}),
            (Rows{{0x3344'FF00}}));
}

// ---- moves

TEST(Move, PacksAndUnpacks) {
  EXPECT_EQ(evaluate("mov.b32 d, {a, b}; mov.b64 e, {c, d}; mov.b128 f, {e, e};", "b16 a, b16 b, b32 c",
                     "b32 d, b64 e, b128 f", {{0x1111, 0x2222, 0x3333'4444}}),
            (Rows{{0x2222'1111, 0x2222'1111'3333'4444, 0x2222'1111'3333'4444, 0x2222'1111'3333'4444}}));
  EXPECT_EQ(evaluate("mov.b32 {d, e}, a; mov.b64 {_, f}, b; mov.b64 {g, d, _, h}, b;", "b32 a, b64 b",
                     "b16 d, b16 e, b32 f, b16 g, b16 h", {{0x2222'1111, 0x1234'5678'9ABC'DEF0}}),
            (Rows{{0x9ABC, 0x2222, 0x1234'5678, 0xDEF0, 0x1234}}));
  EXPECT_EQ(evaluate("mov.b32 d, a; mov.f32 e, d; mov.b64 f, b; mov.f64 g, f; mov.u16 h, 65535;", "f32 a, f64 b",
                     "b32 d, f32 e, b64 f, f64 g, b16 h", {{0x7FC0'1234, 0x7FF8'0000'0000'0001}}),
            (Rows{{0x7FC0'1234, 0x7FC0'1234, 0x7FF8'0000'0000'0001, 0x7FF8'0000'0000'0001, 0xFFFF}}));
}

TEST(Move, SpecialRegisters) {
  Bench bench;
  auto* out = bench.allocate<uint32_t>(2 * 2 * 64 * 16);
  const std::string names[] = {"tid.x",   "tid.y",           "tid.z",       "ntid.x",
                               "ctaid.x", "ctaid.y",         "nctaid.y",    "laneid",
                               "warpid",  "lanemask_lt",     "lanemask_ge", "lanemask_eq",
                               "nwarpid", "cluster_ctarank", "clusterid.x", "nclusterid.x"};
  Source source;
  source.parameters = ".param .u64 out";
  source.body =
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mad.lo.u32 %r1, %r2, "
      "8, %r1; mad.lo.u32 %r1, %r3, 32, %r1;\n"
      "mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mad.lo.u32 %r4, %r5, 2, %r4; mad.lo.u32 %r1, %r4, 64, %r1; "
      "mul.wide.u32 %rd2, %r1, 64; add.s64 %rd1, %rd1, %rd2;\n";
  for (int i = 0; i < 16; ++i)
    source.body += "mov.u32 %r9, %" + names[i] + "; st.global.u32 [%rd1+" + std::to_string(4 * i) + "], %r9;\n";
  LaunchConfig config;
  config.grid = {2, 2, 1}, config.block = {8, 4, 2}, config.cluster = {2, 1, 1};
  expect_success(bench.launch(source, config, out));
  for (uint32_t y = 0; y < 2; ++y) {
    for (uint32_t x = 0; x < 2; ++x) {
      for (uint32_t t = 0; t < 64; ++t) {
        const uint32_t lane = t % 32, cta = y * 2 + x;
        const std::vector<uint32_t> expected{
            t % 8,      t / 8 % 4, t / 32, 8, x, y, 2, lane, t / 32, (1u << lane) - 1, ~((1u << lane) - 1),
            1u << lane, 2,         x,      0, 1};
        EXPECT_EQ(std::vector<uint32_t>(out + (cta * 64 + t) * 16, out + (cta * 64 + t) * 16 + 16), expected)
            << cta << " " << t;
      }
    }
  }
}

TEST(Move, ClocksRunForward) {
  const Rows rows = evaluate("mov.u64 d, %clock64; mov.u64 e, %clock64; mov.u32 f, %clock; mov.u64 g, %globaltimer;",
                             "b32 a", "b64 d, b64 e, b32 f, b64 g", {{0}});
  EXPECT_LT(rows[0][0], rows[0][1]);
  EXPECT_LE(rows[0][1], rows[0][2]);
}

// ---- addresses

TEST(Addresses, SpacesAndBack) {
  const std::string prologue =
      ".shared .align 16 .b8 box[64];\n.global .align 8 .b32 cell = 17;\n.const .align 4 .b32 fixed = 23;\n";
  const Rows rows = evaluate(
      "mov.u32 %r1, box; cvta.shared.u64 %rd2, %rd1; mov.u64 %rd1, box; cvta.shared.u64 %rd2, %rd1; st.shared.u32 "
      "[%r1+4], 99; ld.u32 d, [%rd2+4]; cvta.to.shared.u64 %rd3, %rd2; cvt.u32.u64 %r2, %rd3;"
      "setp.eq.u32 e, %r1, %r2; isspacep.shared f, %rd2; isspacep.global g, %rd2; mov.u64 %rd4, cell; cvta.global.u64 "
      "%rd5, %rd4; ld.u32 h, [%rd5]; isspacep.global i, %rd5;"
      "mov.u64 %rd6, fixed; cvta.const.u64 %rd7, %rd6; ld.u32 j, [%rd7]; ld.const.u32 k, [fixed];",
      "b32 a", "b32 d, pred e, pred f, pred g, b32 h, pred i, b32 j, b32 k", {{0}}, prologue);
  EXPECT_EQ(rows, (Rows{{99, 1, 1, 0, 17, 1, 23, 23}}));
}

TEST(Addresses, ClusterRanks) {
  // Shared addresses carry the CTA's rank in bits 31..24; mapa replaces it, getctarank reads it.
  Bench bench;
  auto* out = bench.allocate<uint32_t>(4 * 8);
  Source source;
  source.prologue = ".shared .align 8 .b8 box[16];\n";
  source.parameters = ".param .u64 out";
  source.body = R"(
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %cluster_ctarank; mul.wide.u32 %rd2, %r1, 32; add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r2, box; st.global.u32 [%rd1], %r2;
    add.u32 %r3, %r1, 1; and.b32 %r3, %r3, 3; mapa.shared::cluster.u32 %r4, %r2, %r3; st.global.u32 [%rd1+4], %r4;
    getctarank.shared::cluster.u32 %r5, %r4; st.global.u32 [%rd1+8], %r5;
    cvta.shared.u64 %rd3, %rd4; mov.u64 %rd4, box; cvta.shared.u64 %rd3, %rd4; mapa.u64 %rd5, %rd3, %r3; getctarank.u64 %r6, %rd5; st.global.u32 [%rd1+12], %r6;
    st.shared.u32 [box], %r1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    ld.shared::cluster.u32 %r7, [%r4]; st.global.u32 [%rd1+16], %r7; ld.u32 %r8, [%rd5]; st.global.u32 [%rd1+20], %r8;
    and.b32 %r9, %r2, 16777215; ld.shared::cluster.u32 %r10, [%r9]; st.global.u32 [%rd1+24], %r10;
    mapa.shared::cluster.u32 %r11, %r4, 2; st.global.u32 [%rd1+28], %r11;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)";
  LaunchConfig config;
  config.grid = {4, 1, 1}, config.block = {32, 1, 1}, config.cluster = {4, 1, 1};
  expect_success(bench.launch(source, config, out));
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const uint32_t next = (rank + 1) % 4, *row = out + 8 * rank;
    EXPECT_EQ(std::vector<uint32_t>(row, row + 8), (std::vector<uint32_t>{rank << 24 | 0x400, next << 24 | 0x400, next,
                                                                          next, next, next, 0, 2u << 24 | 0x400}))
        << rank;
  }
}

}  // namespace
}  // namespace sim::test
