// Loads, stores, atomics, cp.async, and the matrix loads and stores of a warp.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support.h"

namespace sim::test {
namespace {

// ---- loads and stores

TEST(Access, EveryWidthAndSignInEverySpace) {
  // Stores `a` of each width, loads it back with each sign into a wider register.
  struct Space {
    const char* name;
    std::string prologue, address;
  };
  const Space spaces[] = {{"global", ".global .align 32 .b8 box[8192];",
                           "mov.u64 %rd1, box; mul.wide.u32 %rd2, %r60, 32; add.s64 %rd1, %rd1, %rd2;"},
                          {"shared", ".shared .align 32 .b8 box[8192];",
                           "mov.u64 %rd1, box; mul.wide.u32 %rd2, %r63, 32; add.s64 %rd1, %rd1, %rd2;"},
                          {"shared::cta", ".shared .align 32 .b8 box[8192];",
                           "mov.u64 %rd1, box; mul.wide.u32 %rd2, %r63, 32; add.s64 %rd1, %rd1, %rd2;"},
                          {"local", "", ".local .align 32 .b8 box[32]; mov.u64 %rd1, box;"}};
  const Rows rows = singles(edge_integers(64));
  for (const Space& space : spaces) {
    const std::string s = std::string(".") + space.name;
    for (const int bits : {8, 16, 32, 64}) {
      const std::string b = std::to_string(bits), r = bits == 64 ? "%rd5" : bits == 32 ? "%r5" : "%h5";
      const std::string narrow =
          bits == 64 ? "mov.b64 %rd5, a;" : "cvt.u" + std::string(bits == 32 ? "32" : "16") + ".u64 " + r + ", a;";
      const std::string text = space.address + narrow + "st" + s + ".b" + b + " [%rd1+8], " + r + "; ld" + s + ".u" +
                               b + " d, [%rd1+8]; ld" + s + ".s" + b + " e, [%rd1+8];";
      Bench bench;
      const auto model = [&](const Row& x) {
        const uint64_t low = bits == 64 ? x[0] : x[0] & ((uint64_t{1} << bits) - 1);
        return Row{low, static_cast<uint64_t>(static_cast<int64_t>(low << (64 - bits)) >> (64 - bits))};
      };
      const Rows got = evaluate(text, "b64 a", "b64 d, b64 e", rows, space.prologue);
      ASSERT_EQ(got.size(), rows.size());
      for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(got[i], model(rows[i])) << s << " " << bits;
    }
    // The same through a generic address.
    if (std::string(space.name) == "shared::cta") continue;
    const std::string text = space.address + "cvta" + s + ".u64 %rd3, %rd1; st.u32 [%rd3+4], %r60; ld" + s +
                             ".u32 %r7, [%rd1+4]; add.u32 %r7, %r7, 1; st" + s +
                             ".v2.u32 [%rd1+8], {%r7, %r7}; ld.v2.u32 {d, e}, [%rd3+8];";
    const Rows got = evaluate(text, "b64 a", "b32 d, b32 e", rows, space.prologue);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], (Row{i + 1, i + 1})) << s;
  }
}

TEST(Access, Vectors) {
  const std::string box = ".shared .align 32 .b8 box[32];";
  EXPECT_EQ(evaluate("st.shared.v4.u32 [box], {a, b, a, 7}; ld.shared.v2.u64 {d, e}, [box]; ld.shared.v4.u16 {f, _, g, "
                     "_}, [box+8];",
                     "b32 a, b32 b", "b64 d, b64 e, b16 f, b16 g", {{0x1111'2222, 0x3333'4444}}, box),
            (Rows{{0x3333'4444'1111'2222, 0x0000'0007'1111'2222, 0x2222, 7}}));
  EXPECT_EQ(evaluate("st.shared.v4.u8 [box+4], {%h1, %h2, %h1, %h2}; mov.u16 %h1, 0x1A1; mov.u16 %h2, 0xB2; "
                     "st.shared.v4.u8 [box+4], {%h1, %h2, %h1, %h2}; ld.shared.u32 d, [box+4]; ld.shared.v4.s8 {%h3, "
                     "%h4, %h5, %h6}, [box+4]; cvt.s32.s16 e, %h4;",
                     "b32 a", "b32 d, b32 e", {{0}}, box),
            (Rows{{0xB2A1'B2A1, 0xFFFF'FFB2}}));
  EXPECT_EQ(
      evaluate("st.shared.v2.f32 [box], {a, 0f3F800000}; st.shared.v2.f64 [box+16], {%fd1, 2.0}; mov.f64 %fd1, 1.0; "
               "st.shared.v2.f64 [box+16], {%fd1, 2.0}; ld.shared.b128 d, [box]; ld.shared.b128 e, [box+16];",
               "f32 a", "b128 d, b128 e", {{5}}, box)[0][2],
      std::bit_cast<uint64_t>(1.0));
  EXPECT_EQ(evaluate("st.shared.b128 [box+16], a; ld.shared.v2.b64 {d, e}, [box+16];", "b128 a", "b64 d, b64 e",
                     {{11, 22}}, box),
            (Rows{{11, 22}}));
  // Registers wider than what is stored of them, each lane its own.
  for (uint64_t value : {uint64_t{0x1122'3344'5566'7788}, uint64_t{0x99AA'BBCC'DDEE'FF00}}) {
    EXPECT_EQ(evaluate("mov.u32 %r1, %laneid; shl.b32 %r2, %r1, 4; mov.u32 %r3, boxes; add.u32 %r3, %r3, %r2; "
                       "st.shared.u64 [%r3], 0; st.shared.u32 [%r3], a; ld.shared.u64 d, [%r3]; st.shared.u8 [%r3], 0; "
                       "st.shared.v2.u16 [%r3+4], {a, a}; ld.shared.u64 e, [%r3];",
                       "b64 a", "b64 d, b64 e", {{1}, {value}, {value + 1}}, ".shared .align 16 .b8 boxes[512];")[1],
              (Row{value & 0xFFFF'FFFF, (value & 0xFFFF'FF00) | (value & 0xFFFF) << 32 | (value & 0xFFFF) << 48}));
  }
  // 32-byte accesses of global memory.
  const std::string global = ".global .align 32 .b8 box[64];";
  EXPECT_EQ(evaluate("mov.u64 %rd1, box; st.global.v8.b32 [%rd1+32], {a, 1, 2, 3, 4, 5, 6, 7}; ld.global.v4.b64 {%rd2, "
                     "%rd3, %rd4, %rd5}, [%rd1+32]; add.s64 d, %rd2, %rd5; ld.global.nc.L2::256B.v8.b32 {%r1, %r2, "
                     "%r3, %r4, %r5, %r6, %r7, e}, [%rd1+32];",
                     "b32 a", "b64 d, b32 e", {{9}}, global),
            (Rows{{(uint64_t{7} << 32 | 6) + (uint64_t{1} << 32 | 9), 7}}));
}

TEST(Access, CacheHintsAndOrdersChangeNothing) {
  const std::string global = ".global .align 16 .b8 box[16];";
  for (const char* const store :
       {"st.global.wt.b32", "st.global.wb.b32", "st.global.cs.b32", "st.relaxed.gpu.global.b32",
        "st.release.sys.global.b32", "st.volatile.global.b32", "st.relaxed.cta.global.L1::no_allocate.b32",
        "st.weak.global.b32", "st.global.L1::evict_last.b32"}) {
    EXPECT_EQ(evaluate(std::string("mov.u64 %rd1, box; ") + store + " [%rd1], a; ld.global.u32 d, [%rd1];", "b32 a",
                       "b32 d", {{77}}, global),
              (Rows{{77}}))
        << store;
  }
  for (const char* const load :
       {"ld.global.ca.u32", "ld.global.cg.u32", "ld.global.cs.u32", "ld.global.lu.u32", "ld.global.cv.u32",
        "ld.global.nc.u32", "ld.global.nc.L1::no_allocate.L2::128B.u32", "ld.relaxed.gpu.global.u32",
        "ld.acquire.sys.global.u32", "ld.volatile.global.u32", "ld.weak.global.u32", "ldu.global.u32"}) {
    EXPECT_EQ(evaluate(std::string("mov.u64 %rd1, box; st.global.u32 [%rd1], a; ") + load + " d, [%rd1];", "b32 a",
                       "b32 d", {{78}}, global),
              (Rows{{78}}))
        << load;
  }
}

TEST(Access, Parameters) {
  // Every type and vector that nvcc uses, and a structure whose address is taken.
  struct Packet {
    uint8_t bytes[4];
    uint16_t half;
    uint32_t word;
    float real;
    double wide;
    uint64_t address;
  } packet{{1, 0xFE, 3, 4}, 0xBEEF, 0xCAFE'F00D, 1.5f, 2.5, 0x1122'3344'5566'7788};
  static_assert(sizeof(Packet) == 32);
  Bench bench;
  auto* out = bench.allocate<uint64_t>(16);
  Source source;
  source.parameters =
      ".param .u64 .ptr .align 8 out, .param .align 8 .b8 packet[32], .param .u8 small, .param .s16 negative";
  source.body = R"(
    ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;
    ld.param.v4.u8 {%h1, %h2, %h3, %h4}, [packet]; cvt.u64.u16 %rd2, %h2; st.global.u64 [%rd1], %rd2;
    ld.param.u16 %h5, [packet+4]; cvt.u64.u16 %rd2, %h5; st.global.u64 [%rd1+8], %rd2;
    ld.param.u32 %r1, [packet+8]; cvt.u64.u32 %rd2, %r1; st.global.u64 [%rd1+16], %rd2;
    ld.param.f32 %f1, [packet+12]; mov.b32 %r1, %f1; cvt.u64.u32 %rd2, %r1; st.global.u64 [%rd1+24], %rd2;
    ld.param.f64 %fd1, [packet+16]; st.global.f64 [%rd1+32], %fd1;
    ld.param.v2.u32 {%r1, %r2}, [packet+24]; cvt.u64.u32 %rd2, %r2; st.global.u64 [%rd1+40], %rd2;
    ld.param.s8 %r3, [packet+1]; cvt.s64.s32 %rd2, %r3; st.global.u64 [%rd1+48], %rd2;
    mov.b64 %rd3, packet; cvta.param.u64 %rd4, %rd3; ld.u32 %r4, [%rd4+8]; ld.param.u32 %r5, [%rd3+8]; add.u32 %r4, %r4, %r5; cvt.u64.u32 %rd2, %r4; st.global.u64 [%rd1+56], %rd2;
    ld.param.u8 %r6, [small]; ld.param.s16 %r7, [negative]; add.s32 %r6, %r6, %r7; cvt.s64.s32 %rd2, %r6; st.global.u64 [%rd1+64], %rd2;)";
  const uint8_t small = 200;
  const int16_t negative = -300;
  expect_success(bench.launch(source, {}, out, packet, small, negative));
  EXPECT_EQ(std::vector<uint64_t>(out, out + 9),
            (std::vector<uint64_t>{0xFE, 0xBEEF, 0xCAFE'F00D, 0x3FC0'0000, std::bit_cast<uint64_t>(2.5), 0x1122'3344,
                                   ~uint64_t{1}, (2ull * 0xCAFE'F00D) & 0xFFFF'FFFF, ~uint64_t{99}}));
}

TEST(Access, SharedMemoryPlacement) {
  // Static variables from 0x400 on, each at its own alignment; dynamic memory behind all of them at its alignment; what
  // another kernel of the module declares costs this one nothing.
  const std::string ptx = R"(
    .version 9.0
    .target sm_100a
    .address_size 64
    .extern .shared .align 1024 .b8 dynamic[];
    .shared .align 4 .b8 unused[5000];
    .shared .align 8 .b8 first[12];
    .visible .entry other(.param .u64 out) { .reg .b32 %r<4>; mov.u32 %r1, unused; ret; }
    .visible .entry k(.param .u64 out)
    {
      .reg .b32 %r<8>; .reg .b64 %rd<4>;
      .shared .align 16 .b8 _ZZ1kE6second[100];
      ld.param.u64 %rd1, [out];
      mov.u32 %r1, first; st.global.u32 [%rd1], %r1; mov.u32 %r2, _ZZ1kE6second; st.global.u32 [%rd1+4], %r2; mov.u32 %r3, dynamic; st.global.u32 [%rd1+8], %r3;
      mov.u32 %r4, %dynamic_smem_size; st.global.u32 [%rd1+12], %r4; mov.u32 %r5, %total_smem_size; st.global.u32 [%rd1+16], %r5; mov.u32 %r6, dynamic+20; st.global.u32 [%rd1+20], %r6; st.shared.u32 [dynamic+1020], %r6;
      ret;
    })";
  Bench bench;
  auto* out = bench.allocate<uint32_t>(8);
  expect_success(bench.launch(ptx, {.dynamic_smem = 1024}, out));
  std::vector<uint32_t> found(out, out + 6);
  std::sort(found.begin(), found.begin() + 2);
  EXPECT_EQ(found[0], 0x400u);
  EXPECT_TRUE(found[1] == 0x410 || found[1] == 0x468) << found[1];
  EXPECT_EQ(found[2], 0x800u);
  EXPECT_EQ(found[3], 1024u);
  EXPECT_EQ(found[4], 2048u);
  EXPECT_EQ(found[5], 0x814u);
}

TEST(Access, FreshMemoryIsPoisoned) {
  EXPECT_EQ(evaluate(".local .align 4 .b8 stack[8]; ld.shared.u32 d, [box]; ld.local.u32 e, [stack];", "b32 a",
                     "b32 d, b32 e", {{0}}, ".shared .align 4 .b8 box[4];"),
            (Rows{{0xFFFF'FFFF, 0xFFFF'FFFF}}));
}

TEST(Access, InitialisedVariablesAndRelocations) {
  const std::string prologue = R"(
    .global .align 4 .u32 numbers[3] = {1, 0x20, 4294967295};
    .global .align 8 .b8 text[6] = {104, 101, 108, 108, 111, 0};
    .global .align 8 .u64 pointer = generic(text);
    .global .align 8 .u64 inside = text+1;
    .global .align 8 .f64 real = 0d3FF8000000000000;
    .const .align 4 .f32 table[2][2] = {{0f3F800000, 2.0}, {0f40400000, 4.0}};
    .global .align 4 .u32 zeroed[4];
    .const .align 8 .u64 list[2] = {numbers, generic(numbers)+8};
    .global .align 1 .b8 wide[16] = {1};)";
  EXPECT_EQ(evaluate(R"(
      mov.u64 %rd1, numbers; ld.global.u32 d, [%rd1+8]; ld.global.u64 %rd2, [pointer]; ld.u8 e, [%rd2+4]; ld.global.u64 %rd3, [inside]; ld.global.u8 f, [%rd3]; ld.global.f64 g, [real];
      ld.const.f32 h, [table+12]; mov.u64 %rd4, zeroed; ld.global.u32 i, [%rd4+12]; ld.const.u64 %rd5, [list+8]; ld.u32 j, [%rd5]; ld.const.u64 %rd6, [list]; ld.global.u32 k, [%rd6+4]; mov.u64 %rd7, wide; ld.global.u8 l, [%rd7+15];)",
                     "b32 a", "b32 d, b32 e, b32 f, f64 g, f32 h, b32 i, b32 j, b32 k, b32 l", {{0}}, prologue),
            (Rows{{0xFFFF'FFFF, 'o', 'e', std::bit_cast<uint64_t>(1.5), bits_of(4.0f), 0, 0xFFFF'FFFF, 0x20, 0}}));
}

// ---- atomics: fuzz.values compares those of global and shared addresses with an exact model

TEST(Atomic, GenericAddressesReachEverySpace) {
  struct Case {
    const char* form;
    const char* type;
    uint64_t start, operand, expected;
  };
  const Case cases[] = {{"add.u32", "b32", 5, 7, 12},
                        {"max.s64", "b64", 1, ~0ull, 1},
                        {"add.f32", "f32", bits_of(1.5f), bits_of(2.0f), bits_of(3.5f)},
                        {"add.f32", "f32", 0xFFC0'1234, bits_of(1.0f), 0x7FFF'FFFF},
                        {"add.noftz.f16x2", "b32", 0x3C00'3C00, 0x4000'3C00, 0x4200'4000},
                        {"exch.b64", "b64", 1, 2, 2}};
  for (const Case& c : cases) {
    const std::string type = c.type, bits = type.substr(1);
    for (const std::string space : {"global", "shared"}) {
      EXPECT_EQ(evaluate("mov.u64 %rd1, box; cvta." + space + ".u64 %rd1, %rd1; st.b" + bits + " [%rd1], a; atom." +
                             c.form + " d, [%rd1], b; ld.b" + bits + " e, [%rd1];",
                         type + " a, " + type + " b", type + " d, " + type + " e", {{c.start, c.operand}},
                         "." + space + " .align 8 .b8 box[8];"),
                (Rows{{c.start, c.expected}}))
          << space << " " << c.form;
    }
  }
}

// ---- cp.async

TEST(CpAsync, GroupsSizesAndZeroFill) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    std::vector<uint32_t> input(32 * 12);
    std::iota(input.begin(), input.end(), 0);
    const auto* in = bench.upload(input);
    auto* out = bench.allocate<uint32_t>(32 * 16);
    Source source;
    source.prologue = ".shared .align 16 .b8 box[2048];\n";
    source.parameters = ".param .u64 in, .param .u64 out";
    source.body = R"(
      ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 48; add.s64 %rd1, %rd1, %rd3; mul.wide.u32 %rd3, %r1, 64; add.s64 %rd2, %rd2, %rd3;
      mov.u32 %r2, box; mul.lo.u32 %r3, %r1, 64; add.u32 %r2, %r2, %r3;
      cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.commit_group;
      cp.async.ca.shared.global.L2::128B [%r2+16], [%rd1+16], 8; cp.async.ca.shared.global [%r2+24], [%rd1+24], 4; cp.async.ca.shared.global [%r2+28], [%rd1+28], 4; cp.async.commit_group;
      mov.u32 %r4, 4; cp.async.cg.shared.global [%r2+32], [%rd1+32], 16, %r4; cp.async.commit_group;
      setp.ne.u32 %p1, %r1, 99; cp.async.ca.shared.global [%r2+48], [%rd1], 16, %p1;
      cp.async.wait_group 2; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2]; st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};
      cp.async.wait_group 0; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2+16]; st.global.v4.u32 [%rd2+16], {%r10, %r11, %r12, %r13};
      ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2+32]; st.global.v4.u32 [%rd2+32], {%r10, %r11, %r12, %r13};
      cp.async.wait_all; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2+48]; st.global.v4.u32 [%rd2+48], {%r10, %r11, %r12, %r13};)";
    expect_success(bench.launch(source, {.block = {32, 1, 1}}, in, out));
    for (uint32_t t = 0; t < 32; ++t) {
      const uint32_t b = 12 * t;
      EXPECT_EQ(std::vector<uint32_t>(out + 16 * t, out + 16 * t + 16),
                (std::vector<uint32_t>{b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, b + 7, b + 8, 0, 0, 0, 0, 0, 0, 0}))
          << t;
    }
  }
}

TEST(CpAsync, ReadingBeforeTheWaitSeesDestroyedBytes) {
  Bench bench({.schedule = Options::Schedule::Latest});
  const auto* in = bench.upload(std::vector<uint32_t>{1, 2, 3, 4});
  auto* out = bench.allocate<uint32_t>(1);
  Source source;
  source.prologue = ".shared .align 16 .b8 box[16];\n";
  source.parameters = ".param .u64 in, .param .u64 out";
  source.body =
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, box; st.shared.u32 [%r1], 77; "
      "cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group; ld.shared.u32 %r2, [%r1]; "
      "cp.async.wait_group 0; st.global.u32 [%rd2], %r2;";
  expect_success(bench.launch(source, {}, in, out));
  EXPECT_EQ(*out, 0xFFFF'FFFFu);
}

TEST(CpAsync, ArrivesOnAnMbarrier) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    std::vector<uint32_t> input(32 * 4, 0);
    std::iota(input.begin(), input.end(), 5);
    const auto* in = bench.upload(input);
    auto* out = bench.allocate<uint32_t>(32);
    Source source;
    source.prologue = ".shared .align 16 .b8 box[512];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 other;\n";
    source.parameters = ".param .u64 in, .param .u64 out";
    // .noinc: the arrivals are among the 32 expected. Without it, they are added: 32 ordinary ones are expected
    // besides.
    source.body = R"(
      ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared::cta.b64 [bar], 32; @%p1 mbarrier.init.shared::cta.b64 [other], 32; bar.sync 0;
      mul.wide.u32 %rd3, %r1, 16; add.s64 %rd1, %rd1, %rd3; mov.u32 %r2, box; mul.lo.u32 %r3, %r1, 16; add.u32 %r4, %r2, %r3;
      cp.async.cg.shared.global [%r4], [%rd1], 16; mov.u32 %r5, bar; mov.u32 %r6, other; cp.async.mbarrier.arrive.noinc.shared.b64 [%r5]; cp.async.mbarrier.arrive.shared.b64 [%r6]; mbarrier.arrive.shared::cta.b64 %rd4, [%r6];
      wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0; @!%p2 bra wait; again: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6], 0; @!%p2 bra again;
      xor.b32 %r7, %r3, 496; add.u32 %r7, %r2, %r7; ld.shared.u32 %r8, [%r7+8]; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r8;)";
    expect_success(bench.launch(source, {.block = {32, 1, 1}}, in, out));
    for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 4 * (31 - t) + 2 + 5) << t;
  }
}

// ---- ldmatrix, stmatrix, movmatrix

/// Matrices of 16-byte rows: row p, at the address that lane p holds, has random bytes. `body` is executed with the
/// lane's address in %r8; afterwards, shared memory is in `memory` and %r10 to %r13 of each lane are returned.
std::vector<uint32_t> run_matrices(const std::string& body, const std::vector<uint32_t>& rows,
                                   std::vector<uint8_t>& memory, const std::vector<uint32_t>& registers) {
  Bench bench;
  auto* bytes = bench.upload(memory);
  const auto* addresses = bench.upload(rows);
  auto* values = bench.upload(registers);
  Source source;
  source.prologue = ".shared .align 16 .b8 box[8192];\n";
  source.parameters = ".param .u64 memory, .param .u64 rows, .param .u64 values";
  source.body =
      "ld.param.u64 %rd1, [memory]; ld.param.u64 %rd2, [rows]; ld.param.u64 %rd3, [values]; mov.u32 %r1, %tid.x; "
      "mov.u32 %r2, 0; mov.u32 %r3, box; mul.wide.u32 %rd4, %r1, 4;\n"
      "fill: mad.lo.u32 %r5, %r2, 32, %r1; mul.wide.u32 %rd5, %r5, 4; add.s64 %rd5, %rd1, %rd5; ld.global.u32 %r6, "
      "[%rd5]; mul.lo.u32 %r7, %r5, 4; add.u32 %r7, %r3, %r7; st.shared.u32 [%r7], %r6; add.u32 %r2, %r2, 1; "
      "setp.lt.u32 %p1, %r2, 64; @%p1 bra fill;\n"
      "bar.sync 0; add.s64 %rd2, %rd2, %rd4; ld.global.u32 %r8, [%rd2]; add.u32 %r8, %r3, %r8; mul.wide.u32 %rd4, %r1, "
      "16; add.s64 %rd3, %rd3, %rd4; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3];\n" +
      body +
      "\nst.global.v4.u32 [%rd3], {%r10, %r11, %r12, %r13}; bar.sync 0; mov.u32 %r2, 0;\n"
      "drain: mad.lo.u32 %r5, %r2, 32, %r1; mul.wide.u32 %rd5, %r5, 4; add.s64 %rd5, %rd1, %rd5; mul.lo.u32 %r7, %r5, "
      "4; add.u32 %r7, %r3, %r7; ld.shared.u32 %r6, [%r7]; st.global.u32 [%rd5], %r6; add.u32 %r2, %r2, 1; "
      "setp.lt.u32 %p1, %r2, 64; @%p1 bra drain;";
  expect_success(bench.launch(source, {.block = {32, 1, 1}}, bytes, addresses, values));
  memory.assign(bytes, bytes + 8192);
  return {values, values + 128};
}
struct Matrices {
  std::vector<uint8_t> memory = std::vector<uint8_t>(8192);
  std::vector<uint32_t> rows;  ///< scattered
  std::vector<uint32_t> registers = std::vector<uint32_t>(128);
  Matrices() {
    Dice dice(12);
    for (uint32_t p = 0; p < 32; ++p) rows.push_back(16 * (p * 37 % 256 + 256 * (p % 2)));
    for (uint8_t& byte : memory) byte = static_cast<uint8_t>(dice.next());
    for (uint32_t& value : registers) value = static_cast<uint32_t>(dice.next());
  }
  /// Element `i` of row `p`, of so many bits each.
  uint32_t element(uint32_t p, uint32_t i, uint32_t bits) const {
    uint32_t value = 0;
    for (uint32_t b = 0; b < bits; ++b) value |= (memory[rows[p] + (i * bits + b) / 8] >> (i * bits + b) % 8 & 1u) << b;
    return value;
  }
};
std::string register_list(int count) {
  return count == 1 ? "{%r10}" : count == 2 ? "{%r10, %r11}" : "{%r10, %r11, %r12, %r13}";
}
std::string format_of(uint32_t bits) { return bits == 8 ? ".b8" : bits == 4 ? ".b8x16.b4x16_p64" : ".b8x16.b6x16_p32"; }

TEST(Matrix, EightRowsOfEightHalves) {
  // Register j of lane t: row t / 4 of matrix j, elements 2 (t % 4) and the next; transposed, column t / 4.
  for (const int count : {1, 2, 4}) {
    for (const bool trans : {false, true}) {
      const std::string shape = "m8n8.x" + std::to_string(count) + (trans ? ".trans" : "");
      const Matrices m;
      std::vector<uint8_t> memory = m.memory, stored = m.memory;
      const auto values =
          run_matrices("ldmatrix.sync.aligned." + shape + ".shared.b16 " + register_list(count) + ", [%r8];", m.rows,
                       memory, m.registers);
      run_matrices("stmatrix.sync.aligned." + shape + ".shared::cta.b16 [%r8], " + register_list(count) + ";", m.rows,
                   stored, m.registers);
      std::vector<uint8_t> expected = m.memory;
      for (uint32_t t = 0; t < 32; ++t) {
        for (uint32_t j = 0; j < static_cast<uint32_t>(count); ++j) {
          for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t row = 8 * j + (trans ? 2 * (t % 4) + i : t / 4), column = trans ? t / 4 : 2 * (t % 4) + i;
            EXPECT_EQ(values[4 * t + j] >> 16 * i & 0xFFFF, m.element(row, column, 16)) << shape << " lane " << t;
            for (uint32_t byte = 0; byte < 2; ++byte)
              expected[m.rows[row] + 2 * column + byte] =
                  static_cast<uint8_t>(m.registers[4 * t + j] >> (16 * i + 8 * byte));
          }
        }
      }
      EXPECT_EQ(stored, expected) << shape;
    }
  }
}

TEST(Matrix, SixteenColumnsOfBytes) {
  for (const uint32_t bits : {8u, 4u, 6u}) {
    for (const int count : {1, 2}) {
      const Matrices m;
      std::vector<uint8_t> memory = m.memory;
      const auto values = run_matrices("ldmatrix.sync.aligned.m16n16.x" + std::to_string(count) + ".trans.shared" +
                                           format_of(bits) + " " + register_list(2 * count) + ", [%r8];",
                                       m.rows, memory, m.registers);
      for (uint32_t t = 0; t < 32; ++t) {
        for (uint32_t j = 0; j < 4; ++j) {  // register j: columns 8 (j % 2) on, of matrix j / 2
          uint32_t expected = m.registers[4 * t + j];
          for (uint32_t i = 0; i < 4 && j < 2 * static_cast<uint32_t>(count); ++i) {
            expected &= ~(0xFFu << 8 * i);
            expected |= m.element(16 * (j / 2) + t % 4 * 4 + i, t / 4 + 8 * (j % 2), bits) << 8 * i;
          }
          EXPECT_EQ(values[4 * t + j], expected) << bits << " x" << count << " lane " << t << " register " << j;
        }
      }
    }
  }
}

TEST(Matrix, EightRowsOfPackedElements) {
  for (const uint32_t bits : {4u, 6u}) {
    for (const int count : {1, 2, 4}) {
      const Matrices m;
      std::vector<uint8_t> memory = m.memory;
      const auto values = run_matrices("ldmatrix.sync.aligned.m8n16.x" + std::to_string(count) + ".shared" +
                                           format_of(bits) + " " + register_list(count) + ", [%r8];",
                                       m.rows, memory, m.registers);
      for (uint32_t t = 0; t < 32; ++t) {
        for (uint32_t j = 0; j < static_cast<uint32_t>(count); ++j) {
          uint32_t expected = 0;
          for (uint32_t i = 0; i < 4; ++i) expected |= m.element(8 * j + t / 4, t % 4 * 4 + i, bits) << 8 * i;
          EXPECT_EQ(values[4 * t + j], expected) << bits << " x" << count << " lane " << t << " register " << j;
        }
      }
    }
  }
}

TEST(Matrix, StoresOfBytesAreTransposed) {
  for (const int count : {1, 2, 4}) {
    const Matrices m;
    std::vector<uint8_t> memory = m.memory, expected = m.memory;
    run_matrices("stmatrix.sync.aligned.m16n8.x" + std::to_string(count) + ".trans.shared.b8 [%r8], " +
                     register_list(count) + ";",
                 m.rows, memory, m.registers);
    // A lane holds rows t / 4 and 8 more of columns 2 (t % 4) and the next; each column becomes a row of memory.
    for (uint32_t t = 0; t < 32; ++t) {
      for (uint32_t j = 0; j < static_cast<uint32_t>(count); ++j) {
        for (uint32_t i = 0; i < 4; ++i) {
          expected[m.rows[8 * j + t % 4 * 2 + i % 2] + t / 4 + 8 * (i / 2)] =
              static_cast<uint8_t>(m.registers[4 * t + j] >> 8 * i);
        }
      }
    }
    EXPECT_EQ(memory, expected) << count;
  }
}

TEST(Matrix, MoveTransposes) {
  Bench bench;
  auto* out = bench.allocate<uint32_t>(32);
  Source source;
  source.parameters = ".param .u64 out";
  source.body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3; shl.b32 %r3, %r3, 1; "
      "mad.lo.u32 %r4, %r2, 10, %r3; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16; or.b32 %r6, %r4, %r5;"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r7, %r6; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; "
      "st.global.u32 [%rd1], %r7;";
  expect_success(bench.launch(source, {.block = {32, 1, 1}}, out));
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t r = t / 4, c = 2 * (t % 4);
    EXPECT_EQ(out[t], (10 * c + r) | (10 * (c + 1) + r) << 16) << t;
  }
}

// ---- what a kernel may not do

TEST(Faults, AreNamedWithTheLane) {
  Bench bench;
  bench.allocate<uint32_t>(1, "cudaMalloc #6");
  auto* buffer = bench.allocate<uint32_t>(100, "cudaMalloc #7");
  auto* freed = bench.allocate<uint32_t>(100, "cudaMalloc #8");
  bench.device().memory().release(freed);
  std::vector<uint32_t> mine(4);
  const auto run = [&](const std::string& body, const void* pointer, const std::string& prologue = "") {
    Source source;
    source.prologue = prologue;
    source.parameters = ".param .u64 p";
    source.body =
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 "
        "%r2, 0;\n" +
        body;
    return bench.launch(source, {.block = {128, 1, 1}}, pointer);
  };
  expect_fault(run("st.global.u32 [%rd3], %r1;", buffer), faults::access_outside, {"store", 4, "cudaMalloc #7"});
  expect_fault(run("ld.global.u32 %r2, [%rd3+-64];", buffer), faults::access_outside,
               {"load", "64 bytes", "cudaMalloc #7"});
  expect_fault(run("ld.global.u32 %r2, [%rd3+2];", buffer), faults::access_misaligned, {4, "load"});
  expect_fault(run("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];", buffer), faults::access_misaligned, {16, "load"});
  expect_fault(run("ld.global.u32 %r2, [%rd3];", freed), faults::access_outside, {"cudaMalloc #8"});
  expect_fault(run("ld.global.u32 %r2, [%rd3];", mine.data()), faults::access_outside);
  expect_fault(run("ld.global.u32 %r2, [%rd3];", nullptr), faults::access_outside);
  expect_fault(run("mov.u64 %rd4, fixed; st.global.u32 [%rd4], %r1;", buffer, ".const .align 4 .u32 fixed = 3;\n"),
               faults::store_to_constant, {"fixed"});
  expect_fault(run("mov.u32 %r3, box; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r1;", buffer,
                   ".shared .align 4 .b8 box[400];\n"),
               faults::access_outside_shared, {0x590, 400});
  expect_fault(run("ld.shared.u32 %r2, [%r2];", buffer, ".shared .align 4 .b8 box[400];\n"),
               faults::access_outside_shared, {0});
  expect_fault(run(".local .align 4 .b8 stack[16]; mov.u64 %rd5, stack; add.s64 %rd5, %rd5, %rd2; "
                   "st.local.u32 [%rd5], %r1;",
                   buffer),
               faults::access_outside_local, {"store", 4, 16});
  expect_fault(run("atom.global.add.u32 %r2, [%rd3], 1;", buffer), faults::access_outside, {"atomic operation"});
  expect_fault(run("mov.u32 %r3, bar; mbarrier.init.shared::cta.b64 [%r3], 1; ld.shared.u32 %r2, [%r3+4];", buffer,
                   ".shared .align 8 .b64 bar;\n"),
               faults::access_of_mbarrier);
}

}  // namespace
}  // namespace sim::test
