// The order checker, on kernels: what it is told of instructions. Its rules have their tests in order.cpp.
#include "support.h"

namespace sim::test {
namespace {

Options checked(const std::string& tolerated = "", bool strict = false) {
  Options options{.check = strict ? Options::Check::Strict : Options::Check::On};
  EXPECT_EQ(options.tolerated.add(tolerated), "");
  return options;
}

/// Runs one CTA. An empty text: nothing is found.
void expect_found(const Source& source, const std::string& text, uint32_t threads = 128, std::string_view gpu = "h200",
                  const Options& options = checked()) {
  Bench bench(options, gpu);
  auto* const data = bench.upload(std::vector<uint32_t>(4096));
  const Outcome outcome = bench.launch(source, {.block = {threads, 1, 1}}, data);
  EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
  if (text.empty())
    EXPECT_EQ(outcome.report, "");
  else
    EXPECT_NE(found_in(outcome).find(text), std::string::npos) << outcome.report;
}

// ---- memory

Source exchange(const std::string& between) {
  Source source;
  source.parameters = ".param .u64 data";
  source.prologue = ".shared .align 16 .b8 box[512];\n";
  source.body = R"(mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mov.u32 %r4, box; add.u32 %r5, %r4, %r3;
    xor.b32 %r6, %r3, 256; add.u32 %r6, %r4, %r6; st.shared.u32 [%r5], %r2;
    )" + between +
                " ld.shared.u32 %r7, [%r6];";
  return source;
}

TEST(Checked, ABarrierBetweenAStoreAndALoad) {
  expect_found(exchange("bar.sync 0;"), "");
  expect_found(exchange(""), "error (read after write)");
  expect_found(exchange("bar.warp.sync -1;"), "error (read after write)");
}

TEST(Checked, ABarrierOfTheWarp) {
  const auto neighbour = [](const std::string& between) {
    Source source = exchange(between);
    source.body.replace(source.body.find("256"), 3, "4");
    return source;
  };
  expect_found(neighbour("bar.warp.sync -1;"), "");
  expect_found(neighbour(""), "habit warp-synchronous");
}

TEST(Checked, LanesOfOneBarrierOfTheWarpMayNameTheirOwnTiles) {
  // A tile of 16 lanes waits for itself; its neighbours are in it, and what lies beyond is not.
  const auto tiles = [](const char* distance) {
    Source source = exchange(
        "mov.u32 %r8, %laneid; setp.lt.u32 %p1, %r8, 16; selp.b32 %r8, 0xffff, 0xffff0000, %p1; "
        "bar.warp.sync %r8;");
    source.body.replace(source.body.find("256"), 3, distance);
    return source;
  };
  expect_found(tiles("4"), "");
  expect_found(tiles("64"), "habit warp-synchronous");
}

TEST(Checked, BytesOfOneWordByDifferentCtas) {
  for (const bool same : {false, true}) {
    Bench bench(checked(), "h200");
    auto* const data = bench.upload(std::vector<uint32_t>(64));
    Source source;
    source.parameters = ".param .u64 data";
    source.body = "ld.param.u64 %rd1, [data]; mov.u32 %r1, %ctaid.x; mul.lo.u32 %r2, %r1, " +
                  std::string(same ? "0" : "1") + "; cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2; " +
                  "add.u32 %r1, %r1, 7; st.global.u8 [%rd1], %r1;";
    const Outcome outcome = bench.launch(source, {.grid = {4, 1, 1}, .block = {1, 1, 1}}, data);
    EXPECT_EQ(found_in(outcome).find("error (write after write)") != std::string::npos, same) << outcome.report;
  }
}

TEST(Checked, VolatileAccessesOfAWarpCountOnLockstep) {
  // Each lane adds what its neighbour has; without a barrier of the warp it may find it before or after that one has
  // added.
  const auto reduce = [](const std::string& access, const std::string& between) {
    Source source;
    source.parameters = ".param .u64 data";
    source.prologue = ".shared .align 16 .b8 box[512];\n";
    source.body = "mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mov.u32 %r4, box; add.u32 %r5, %r4, %r3; st" + access +
                  ".shared.u32 [%r5], %r2;" + between + "ld" + access + ".shared.u32 %r6, [%r5+16];" + between + "st" +
                  access + ".shared.u32 [%r5], %r6;";
    return source;
  };
  expect_found(reduce(".volatile", ""), "habit warp-synchronous", 32);
  expect_found(reduce(".volatile", "bar.warp.sync -1;"), "", 32);
  expect_found(reduce(".volatile", ""), "", 32, "h200", checked("warp-synchronous"));
  expect_found(reduce(".relaxed.cta", ""), "", 32);  // atomic accesses say that they may meet
}

TEST(Checked, LanesOfAStoreThatWriteToOnePlace) {
  const auto store = [](const std::string& stores) {
    Source source;
    source.parameters = ".param .u64 data";
    source.prologue = ".shared .align 16 .b8 box[1024];\n";
    source.body =
        "ld.param.u64 %rd1, [data]; mov.u32 %r2, %tid.x; mov.u32 %r3, 7; mov.u32 %r4, box; shl.b32 %r5, %r2, 2; "
        "add.u32 %r5, %r4, %r5; " +
        stores;
    return source;
  };
  const std::string habit = "habit lanes-of-a-store";
  expect_found(store("st.shared.u32 [%r4], %r2;"), habit, 32);
  expect_found(store("st.global.u32 [%rd1], %r2;"), habit, 32);
  expect_found(store("st.shared.u32 [%r5], %r2;"), "", 32);
  expect_found(store("st.shared.u32 [%r4], %r3;"), "", 32);              // the same of all
  expect_found(store("st.relaxed.cta.shared.u32 [%r4], %r2;"), "", 32);  // atomic: in some order
  expect_found(store("setp.eq.u32 %p1, %r2, 3; @%p1 st.shared.u32 [%r4], %r2;"), "", 32);
  expect_found(store("st.shared.u32 [%r4], %r2;"), "", 32, "h200", checked("lanes-of-a-store"));
  // Rows of a matrix: each at a place of its own, or two at one.
  expect_found(store("shl.b32 %r6, %r2, 4; add.u32 %r6, %r4, %r6; "
                     "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r2};"),
               "", 32);
  expect_found(store("and.b32 %r6, %r2, 6; shl.b32 %r6, %r6, 4; add.u32 %r6, %r4, %r6; "
                     "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r2};"),
               habit, 32);
}

TEST(Checked, AtomicsInGlobalMemory) {
  const auto count = [](const std::string& instruction) {
    Source source;
    source.parameters = ".param .u64 data";
    source.body = "ld.param.u64 %rd1, [data]; " + instruction;
    return source;
  };
  expect_found(count("red.global.add.u32 [%rd1], 1;"), "");
  expect_found(count("ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;"),
               "error (write after write)");
}

// ---- wgmma and its registers

Source multiply(const std::string& before, const std::string& after = "") {
  Source source;
  source.target = "sm_90a";
  source.parameters = ".param .u64 data";
  source.prologue = ".shared .align 1024 .b8 box[8192];\n";
  const std::string mma =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, %rd6, %rd7, 1, 1, 1, 0, 0;";
  source.body = R"(.reg .b32 d<4>; ld.param.u64 %rd1, [data]; mov.u32 %r2, %tid.x; mov.u32 %r3, box;
    shr.u32 %r4, %r3, 4; cvt.u64.u32 %rd6, %r4; or.b64 %rd6, %rd6, 0x0000004000010000; mov.u64 %rd7, %rd6;
    )" + before +
                " " + mma + " " + after + R"( wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd2, %r2, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], d0;)";
  return source;
}
const std::string kZeros = "mov.b32 d0, 0; mov.b32 d1, 0; mov.b32 d2, 0; mov.b32 d3, 0;";
const std::string kFence = "wgmma.fence.sync.aligned;";

TEST(Checked, TheFirstWgmmaFollowsAFence) {
  expect_found(multiply(kZeros + kFence), "");
  expect_found(multiply(kZeros), "wgmma fence");
}

TEST(Checked, RegistersAreFencedAfterTheyHaveBeenTouched) {
  const std::string touch = "add.u32 d1, d1, d1;";
  expect_found(multiply(kZeros + touch + kFence), "");
  expect_found(multiply(kZeros + kFence + touch), "uses accessed registers");
}

TEST(Checked, AMoveOfARegisterIsANewName) {
  const std::string start = ".reg .b32 e; mov.b32 e, 0; " + kZeros + kFence;
  expect_found(multiply(start + "mov.b32 d1, e;"), "");
  expect_found(multiply(start + "add.u32 e, e, e; mov.b32 d1, e;"), "uses accessed registers");
}

TEST(Checked, WgmmasOfOneShapeNeedNoFenceBetweenThem) {
  const std::string again =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, %rd6, %rd7, 1, 1, 1, 0, 0;";
  expect_found(multiply(kZeros + kFence, again), "");
}

/// A from registers, of which `after` does something before the wait.
Source multiply_registers(const std::string& after, const std::string& last = "") {
  Source source =
      multiply(kZeros + ".reg .b32 a<4>; mov.b32 a0, 0; mov.b32 a1, 0; mov.b32 a2, 0; mov.b32 a3, 0;" + kFence,
               "wgmma.commit_group.sync.aligned; " + after);
  const std::string from = "{d0, d1, d2, d3}, %rd6, %rd7, 1, 1, 1, 0, 0;";
  source.body.replace(source.body.find(from), from.size(), "{d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd7, 1, 1, 1, 0;");
  source.body += last;
  return source;
}

TEST(Checked, RegistersOfAAreOverwrittenAfterTheWait) {
  expect_found(multiply_registers(""), "");
  expect_found(multiply_registers("", "add.u32 a1, a1, 1;"), "");
  expect_found(multiply_registers("add.u32 a1, a1, 1;"), "overwrites registers of A");
  expect_found(multiply_registers("mov.b32 a1, 1;"), "");  // a new name
  expect_found(multiply_registers("wgmma.wait_group.sync.aligned 0; add.u32 a1, a1, 1;"), "");
  expect_found(multiply_registers("wgmma.wait_group.sync.aligned 1; add.u32 a1, a1, 1;"), "overwrites registers of A");
}

}  // namespace
}  // namespace sim::test
