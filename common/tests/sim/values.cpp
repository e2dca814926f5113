// Values that no exact model has: approximations, spellings of literals, moves, special registers, address spaces.
// Everything else that computes numbers is compared with an exact model (scripts/ladder/exact, test fuzz.values) and
// with an H200 (programs/h200_instructions.txt, test programs.instructions).
#include <algorithm>
#include <cmath>

#include "support.h"

namespace sim::test {
namespace {

TEST(Approximations, AreAtLeastAsGoodAsTheHardwares) {
  struct Case {
    const char* form;
    double (*function)(double);
    double first, last;
  };
  const Case cases[] = {{"rcp.approx.ftz.f32", [](double x) { return 1 / x; }, 0.1, 9},
                        {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
                        {"sqrt.approx.f32", std::sqrt, 0, 9},
                        {"ex2.approx.ftz.f32", std::exp2, -8, 8},
                        {"lg2.approx.f32", std::log2, 0.01, 100},
                        {"sin.approx.f32", std::sin, -4, 4},
                        {"cos.approx.f32", std::cos, -4, 4},
                        {"tanh.approx.f32", std::tanh, -4, 4}};
  for (const Case& c : cases) {
    Rows rows;
    for (int i = 0; i <= 200; ++i)
      rows.push_back({bits_of(static_cast<float>(c.first + (c.last - c.first) * i / 200))});
    const Rows got = evaluate(std::string(c.form) + " d, a;", "f32 a", "f32 d", rows);
    for (size_t i = 0; i < got.size(); ++i) {
      const double expected = c.function(static_cast<double>(float_of(rows[i][0])));
      EXPECT_NEAR(static_cast<double>(float_of(got[i][0])), expected, 2e-7 * std::max(1.0, std::fabs(expected)))
          << c.form;
    }
  }
  EXPECT_EQ(evaluate("ex2.approx.f16 d, a;", "b16 a", "b16 d", {{0x4000}}), (Rows{{0x4400}}));
  EXPECT_EQ(evaluate("tanh.approx.bf16x2 d, a;", "b32 a", "b32 d", {{0x0000'7F80}}), (Rows{{0x0000'3F80}}));
  expect_value("div.full.f32 d, a, b;", "f32 a, f32 b", "f32 d", pairs(edge_floats(), edge_floats()), [](const Row& x) {
    const float quotient = float_of(x[0]) / float_of(x[1]);
    return std::isnan(quotient) ? 0x7FFF'FFFF : bits_of(quotient);
  });
}

TEST(Approximations, CoarseReciprocalsOfDoubles) {
  // Division and the mathematical functions start from these: 20 bits, the lower word 0, no subnormals.
  const auto upper = [](double x) { return std::bit_cast<uint64_t>(x) & ~uint64_t{0xFFFF'FFFF}; };
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  EXPECT_EQ(evaluate("rcp.approx.ftz.f64 d, a; rsqrt.approx.ftz.f64 e, a;", "f64 a", "f64 d, f64 e",
                     {{bits(3.0)}, {bits(0.25)}, {bits(0.0)}, {bits(0x1p-1070)}, {bits(INFINITY)}}),
            (Rows{{upper(1.0 / 3), upper(1 / std::sqrt(3.0))},
                  {bits(4.0), bits(2.0)},
                  {bits(INFINITY), bits(INFINITY)},
                  {bits(INFINITY), bits(INFINITY)},
                  {0, 0}}));
}

TEST(Literals, InEveryPosition) {
  EXPECT_EQ(
      evaluate("add.s32 d, a, -5; add.s32 e, 0x10, a; add.u32 f, a, 0b101; add.s32 g, 010, a; sub.s32 h, 1000000U, a;",
               "b32 a", "b32 d, b32 e, b32 f, b32 g, b32 h", {{100}}),
      (Rows{{95, 116, 105, 108, 999'900}}));
  EXPECT_EQ(
      evaluate("add.f32 d, a, 0f3FC00000; add.f32 e, a, 1.5; fma.rn.f32 f, a, -2.0, 0fBF800000; mov.f32 g, 0F7F800000;",
               "f32 a", "f32 d, f32 e, f32 f, f32 g", {{bits_of(1.0f)}}),
      (Rows{{bits_of(2.5f), bits_of(2.5f), bits_of(-3.0f), 0x7F80'0000}}));
  EXPECT_EQ(evaluate("mov.f64 d, 0d3FF8000000000000; mov.f64 e, 2.5e0; mov.b64 f, -1; add.s64 g, a, -4294967296;",
                     "b64 a", "f64 d, f64 e, b64 f, b64 g", {{1}}),
            (Rows{{std::bit_cast<uint64_t>(1.5), std::bit_cast<uint64_t>(2.5), ~uint64_t{0}, 0xFFFF'FFFF'0000'0001}}));
}

// ---- moves

TEST(Move, RegistersMayBeWiderThanTheTypesOfAConversion) {
  EXPECT_EQ(
      evaluate("cvt.s8.s32 d, a; cvt.u8.u32 e, a; cvt.s16.s32 f, a;", "b32 a", "b32 d, b32 e, b32 f", {{0x1234'F680}}),
      (Rows{{0xFFFF'FF80, 0x80, 0xFFFF'F680}}));
  // The lower part of a source counts, in every lane.
  const Rows wide = singles(edge_integers(64));
  expect_value("cvt.s64.s32 d, a;", "b64 a", "b64 d", wide,
               [](const Row& x) { return static_cast<uint64_t>(static_cast<int32_t>(x[0])); });
  expect_value("cvt.u32.u16 d, a;", "b64 a", "b32 d", wide, [](const Row& x) { return x[0] & 0xFFFF; });
  expect_value("cvt.s16.s8 d, a;", "b64 a", "b32 d", wide,
               [](const Row& x) { return static_cast<uint32_t>(static_cast<int8_t>(x[0])); });
}

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
  expect_success(bench.launch(source, {.grid = {2, 2, 1}, .block = {8, 4, 2}, .cluster = {2, 1, 1}}, out));
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
  expect_success(bench.launch(source, {.grid = {4, 1, 1}, .block = {32, 1, 1}, .cluster = {4, 1, 1}}, out));
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const uint32_t next = (rank + 1) % 4, *row = out + 8 * rank;
    EXPECT_EQ(std::vector<uint32_t>(row, row + 8), (std::vector<uint32_t>{rank << 24 | 0x400, next << 24 | 0x400, next,
                                                                          next, next, next, 0, 2u << 24 | 0x400}))
        << rank;
  }
}

}  // namespace
}  // namespace sim::test
