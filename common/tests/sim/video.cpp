// Video instructions and st.bulk. programs.instructions compares hundreds of forms with what an H200 made of them; here
// is what the ISA says, form by form, in numbers that can be followed by hand.
#include "support.h"

namespace sim::test {
namespace {

uint32_t video(const std::string& instruction, uint32_t a, uint32_t b, uint32_t c = 0) {
  return static_cast<uint32_t>(evaluate(instruction, "b32 a, b32 b, b32 c", "b32 d", {{a, b, c}}).at(0).at(0));
}

TEST(Video, PartsOfRegistersAreSelectedAndExtended) {
  EXPECT_EQ(video("vadd.s32.s32.s32 d, a.b3, b.h0;", 0xFF00'0000, 0x0001'8000), 0xFFFF'7FFFu);
  EXPECT_EQ(video("vadd.u32.u32.u32 d, a.b3, b.h0;", 0xFF00'0000, 0x0001'8000), 0x80FFu);
  EXPECT_EQ(video("vsub.s32.u32.u32 d, a.b0, b.b1;", 0x05, 0x0700), 0xFFFF'FFFEu);
  EXPECT_EQ(video("vabsdiff.u32.s32.s32 d, a, b;", 0x8000'0000, 0x7FFF'FFFF), 0xFFFF'FFFFu);
  EXPECT_EQ(video("vmin.s32.s32.u32 d, a, b;", 0xFFFF'FFFF, 3), 0xFFFF'FFFFu);
  EXPECT_EQ(video("vmax.u32.s32.u32 d, a, b;", 0xFFFF'FFFF, 3), 3u);
}

TEST(Video, ResultsSaturateMergeAndMeetTheThirdOperand) {
  EXPECT_EQ(video("vadd.s32.s32.s32.sat d, a, b;", 0x7FFF'FFFF, 1), 0x7FFF'FFFFu);
  EXPECT_EQ(video("vsub.u32.u32.u32.sat d, a, b;", 3, 5), 0u);
  EXPECT_EQ(video("vadd.u32.u32.u32.sat d.b1, a, b, c;", 200, 100, 0x1122'3344), 0x1122'FF44u);
  EXPECT_EQ(video("vadd.u32.u32.u32 d.h1, a, b, c;", 0xFFFF, 2, 0x1122'3344), 0x0001'3344u);
  EXPECT_EQ(video("vadd.s32.s32.s32.add d, a, b, c;", 1, 2, 10), 13u);
  EXPECT_EQ(video("vadd.s32.s32.s32.min d, a, b, c;", 1, 2, 0xFFFF'FFFF), 0xFFFF'FFFFu);
  EXPECT_EQ(video("vadd.u32.u32.u32.max d, a, b, c;", 1, 2, 0xFFFF'FFFF), 0xFFFF'FFFFu);
}

TEST(Video, ShiftsComparisonsProducts) {
  EXPECT_EQ(video("vshl.u32.u32.u32.clamp d, a, b;", 1, 33), 0u);
  EXPECT_EQ(video("vshl.u32.u32.u32.wrap d, a, b;", 1, 33), 2u);
  // 34 bits: what was shifted to bit 32 is too great for 32 bits, what came to bit 33 is a sign, and the rest is lost.
  EXPECT_EQ(video("vshl.u32.u32.u32.sat.clamp d, a, b;", 1, 32), 0xFFFF'FFFFu);
  EXPECT_EQ(video("vshl.u32.u32.u32.sat.clamp d, a, b;", 2, 32), 0u);
  EXPECT_EQ(video("vshl.u32.u32.u32.sat.clamp d, a, b;", 4, 33), 0u);
  EXPECT_EQ(video("vshl.s32.s32.u32.sat.wrap d, a, b;", 0xFFFF'FFFF, 31), 0x8000'0000u);
  EXPECT_EQ(video("vshl.s32.u32.u32.sat.clamp.add d, a, b, c;", 2, 30, 1), 0x8000'0000u);
  EXPECT_EQ(video("vshr.s32.s32.u32.clamp d, a, b;", 0x8000'0000, 40), 0xFFFF'FFFFu);
  EXPECT_EQ(video("vset.s32.u32.lt d, a, b;", 0xFFFF'FFFF, 1), 1u);
  EXPECT_EQ(video("vset.u32.u32.ge.add d, a, b, c;", 2, 1, 7), 8u);
  EXPECT_EQ(video("vmad.s32.s32.s32.shr7 d, a.h0, b.h0, c;", 0x7FFF, 0x7FFF, 64), (0x7FFFu * 0x7FFF + 64) >> 7);
  EXPECT_EQ(video("vmad.u32.u32.u32.po d, a, b, c;", 3, 4, 5), 18u);
  EXPECT_EQ(video("vmad.s32.s32.s32 d, -a, b, c;", 3, 4, 5), 0xFFFF'FFF9u);
}

TEST(Video, TwoAndFourAtATime) {
  EXPECT_EQ(video("vadd2.s32.s32.s32 d, a, b, c;", 0x0001'FFFF, 0x0002'0001), 0x0003'0000u);
  EXPECT_EQ(video("vadd2.s32.s32.s32.sat d, a, b, c;", 0x7FFF'8000, 0x0001'FFFF), 0x7FFF'8000u);
  EXPECT_EQ(video("vavrg4.u32.u32.u32 d, a, b, c;", 0x0102'0304, 0x0202'0403), 0x0202'0404u);
  EXPECT_EQ(video("vabsdiff4.u32.u32.u32.add d, a, b, c;", 0x0110'2030, 0x0201'3020, 100), 100u + 1 + 15 + 16 + 16);
  EXPECT_EQ(video("vmin4.s32.s32.s32 d.b20, a, b, c;", 0x8001'FF7F, 0x7F02'0180, 0xAABB'CCDD), 0xAA01'CC80u);
  EXPECT_EQ(video("vmax2.u32.u32.u32 d.h0, a.h33, b.h00, c;", 0x0005'0001, 0x0003'0009, 0x1111'2222), 0x1111'0003u);
  EXPECT_EQ(video("vset4.u32.u32.ne d, a, b, c;", 0x0102'0304, 0x0100'0300), 0x0001'0001u);
}

TEST(BulkStore, WritesZerosAndNothingElse) {
  for (const std::string to : {".shared::cta [%r1+8]", " [%rd5]"}) {
    Bench bench;
    auto* out = bench.allocate<uint32_t>(32);
    Source source;
    source.parameters = ".param .u64 out";
    source.body =
        ".shared .align 8 .b8 box[128]; mov.u32 %r1, box; mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; "
        "add.u32 %r4, %r1, %r3; st.shared.u32 [%r4], -1; cvt.u64.u32 %rd1, %r1; cvta.shared.u64 %rd5, %rd1; "
        "add.u64 %rd5, %rd5, 8; bar.sync 0; setp.ne.u32 %p1, %r2, 0; @%p1 bra wait; mov.u64 %rd2, 24; st.bulk.weak" +
        to +
        ", %rd2, 0; wait: bar.sync 0; ld.shared.u32 %r5, [%r4]; ld.param.u64 %rd3, [out]; "
        "mul.wide.u32 %rd4, %r2, 4; add.u64 %rd3, %rd3, %rd4; st.global.u32 [%rd3], %r5;";
    LaunchConfig config;
    config.block = {32, 1, 1};
    expect_success(bench.launch(source, config, out));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i >= 2 && i < 8 ? 0u : ~0u) << i;
  }
}

TEST(BulkStore, RefusesOtherSizesAndPlaces) {
  const auto launch = [](const std::string& instruction) {
    Bench bench;
    auto* memory = bench.allocate<uint32_t>(32);
    Source source;
    source.parameters = ".param .u64 memory";
    source.body =
        ".shared .align 8 .b8 box[128]; mov.u32 %r1, box; ld.param.u64 %rd1, [memory]; mov.u64 %rd2, 12; "
        "mov.u64 %rd3, 16; " +
        instruction;
    return bench.launch(source, LaunchConfig{}, memory);
  };
  expect_failure(launch("st.bulk.shared::cta [%r1], %rd2, 0;"), Status::MisalignedAddress, {"multiple of 8"});
  EXPECT_NE(launch("st.bulk [%rd1], %rd3, 0;").status, Status::Success);
}

}  // namespace
}  // namespace sim::test
