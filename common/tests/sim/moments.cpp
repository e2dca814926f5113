// Operations that read and write at several moments. What a program does in between shows in the schedules that make
// the moments as late as the ISA allows, and only there.
#include "support.h"

namespace sim::test {
namespace {

Options latest(const std::string& tolerated = "") {
  Options options{.schedule = Options::Schedule::Latest};
  EXPECT_EQ(options.tolerated.add(tolerated), "");
  return options;
}

const std::string kThreadZero = "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra end;\n";
std::string wait_for(const std::string& barrier, const std::string& label) {
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p2, [" + barrier + "], 0; @!%p2 bra " + label + "; ";
}
const std::string kChangeMap =
    R"(
      tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd4;
      fence.proxy.tensormap::generic.release.gpu;
      fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;)";

/// A map in global memory names one tensor, then another one. What two loads by it bring, or where two stores go.
std::vector<uint32_t> by_a_map_that_changes(const std::string& first, const std::string& between,
                                            const std::string& second, const Options& options) {
  Bench bench(options, "h200");
  auto* const ones = bench.upload(std::vector<uint32_t>(256, 1));
  auto* const twos = bench.upload(std::vector<uint32_t>(256, 2));
  auto* const map = bench.upload(std::vector<TensorMap>{
      make_map({.address = ones, .data_type = 2, .element_bytes = 4, .dims = {32, 8}, .box = {32, 8}})});
  auto* const out = bench.allocate<uint32_t>(4);
  Source source;
  source.target = "sm_90a";
  source.parameters = ".param .u64 map, .param .u64 ones, .param .u64 twos, .param .u64 out";
  source.prologue = ".shared .align 128 .b8 tiles[2048];\n.shared .align 8 .b64 bars[2];\n";
  source.body = kThreadZero +
                R"(
        ld.param.u64 %rd1, [map];
        ld.param.u64 %rd3, [ones];
        ld.param.u64 %rd4, [twos];
        ld.param.u64 %rd5, [out];
        mov.u32 %r2, tiles;
        add.u32 %r3, %r2, 1024;
        mov.u32 %r4, bars;
        add.u32 %r5, %r4, 8;
        mov.u32 %r6, 0;
        mbarrier.init.shared::cta.b64 [%r4], 1;
        mbarrier.init.shared::cta.b64 [%r5], 1;
        fence.mbarrier_init.release.cluster;
        mov.u32 %r10, 7;
        st.shared.u32 [%r2], %r10;
        st.shared.u32 [%r3], %r10;
        fence.proxy.async;)" +
                first + between + kChangeMap + second +
                R"(
        ld.shared.u32 %r7, [%r2];
        ld.shared.u32 %r8, [%r3];
        ld.global.u32 %r9, [%rd3];
        ld.global.u32 %r11, [%rd4];
        st.global.v2.u32 [%rd5], {%r7, %r8};
        st.global.v2.u32 [%rd5+8], {%r9, %r11};
        end:)";
  const Outcome outcome = bench.launch(source, {.block = {32, 1, 1}}, map, ones, twos, out);
  EXPECT_EQ(outcome.status, Status::Success) << outcome.report;
  return {out, out + 4};
}

TEST(Moments, ALoadReadsItsTensorMapLate) {
  const auto load = [](const std::string& tile, const std::string& barrier) {
    return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + barrier +
           "], 1024; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [" + tile +
           "], [%rd1, {%r6, %r6}], [" + barrier + "]; ";
  };
  const std::string first = load("%r2", "%r4"),
                    second = load("%r3", "%r5") + wait_for("%r4", "first") + wait_for("%r5", "second");
  const std::vector<uint32_t> right{1, 2}, wrong{2, 2};
  const auto loaded = [&](const std::string& between, const Options& options) {
    std::vector<uint32_t> values = by_a_map_that_changes(first, between, second, options);
    values.resize(2);
    return values;
  };
  EXPECT_EQ(loaded("", {}), right);
  EXPECT_EQ(loaded("", latest()), wrong);
  for (const Options& options : all_schedules()) {
    EXPECT_EQ(loaded(wait_for("%r4", "before"), options), right);
    EXPECT_EQ(loaded("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ", options), right);
  }
}

TEST(Moments, AStoreReadsItsTensorMapLate) {
  const auto store = [](const std::string& tile) {
    return "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r6, %r6}], [" + tile +
           "]; cp.async.bulk.commit_group; ";
  };
  const std::string all = "cp.async.bulk.wait_group 0; ";
  const std::vector<uint32_t> right{7, 7, 7, 7};
  EXPECT_EQ(by_a_map_that_changes(store("%r2"), "", store("%r3") + all, {}), right);
  EXPECT_NE(by_a_map_that_changes(store("%r2"), "", store("%r3") + all, latest()), right);
  for (const Options& options : all_schedules()) {
    EXPECT_EQ(by_a_map_that_changes(store("%r2"), "cp.async.bulk.wait_group.read 0; ", store("%r3") + all, options),
              right);
  }
}

TEST(Moments, WhatAStoreHasReadIsNotYetWritten) {
  const auto seen = [](const std::string& wait, const Options& options) {
    Bench bench(options, "h200");
    auto* const data = bench.upload(std::vector<uint32_t>(64));
    Source source;
    source.target = "sm_90a";
    source.parameters = ".param .u64 data";
    source.prologue = ".shared .align 128 .b8 box[128];\n";
    source.body = kThreadZero +
                  R"(
          ld.param.u64 %rd1, [data];
          mov.u32 %r2, %ctaid.x;
          setp.ne.u32 %p2, %r2, 0;
          @%p2 bra reader;
          mov.u32 %r3, box;
          mov.u32 %r4, 5;
          st.shared.u32 [%r3], %r4;
          fence.proxy.async;
          cp.async.bulk.global.shared::cta.bulk_group [%rd1+64], [%r3], 16;
          cp.async.bulk.commit_group;)" +
                  wait +
                  R"(
          fence.acq_rel.gpu;
          st.relaxed.gpu.global.u32 [%rd1], 1;
          cp.async.bulk.wait_group 0;
          bra end;
          reader: ld.acquire.gpu.global.u32 %r5, [%rd1];
          setp.eq.u32 %p3, %r5, 0;
          @%p3 bra reader;
          ld.global.u32 %r6, [%rd1+64];
          st.global.u32 [%rd1+128], %r6;
          end:)";
    expect_success(bench.launch(source, {.grid = {2, 1, 1}, .block = {32, 1, 1}}, data));
    return data[32];
  };
  EXPECT_EQ(seen("cp.async.bulk.wait_group.read 0;", {}), 5u);
  EXPECT_EQ(seen("cp.async.bulk.wait_group.read 0;", latest()), 0u);
  for (const Options& options : all_schedules()) EXPECT_EQ(seen("cp.async.bulk.wait_group 0;", options), 5u);
}

const std::string kWgmmaSetup =
    R"(
      ld.param.u64 %rd1, [data];
      mov.u32 %r1, %tid.x;
      mov.u32 %r2, box;
      shl.b32 %r3, %r1, 4;
      add.u32 %r3, %r2, %r3;
      mov.u32 %r4, 0x3F803F80;
      st.shared.v4.u32 [%r3], {%r4, %r4, %r4, %r4};
      fence.proxy.async;
      shr.u32 %r5, %r2, 4;
      cvt.u64.u32 %rd6, %r5;
      or.b64 %rd6, %rd6, 0x0000001000080000;
      .reg .b32 d<4>;
      .reg .b32 a<4>;
      mov.b32 d0, 0;
      mov.b32 d1, 0;
      mov.b32 d2, 0;
      mov.b32 d3, 0;
      mov.b32 a0, %r4;
      mov.b32 a1, %r4;
      mov.b32 a2, %r4;
      mov.b32 a3, %r4;)";

TEST(Moments, AWgmmaReadsItsRegistersLate) {
  const auto product = [](const std::string& before_wait, const std::string& after_wait, const Options& options) {
    Bench bench(options, "h200");
    auto* const data = bench.upload(std::vector<uint32_t>(64));
    Source source;
    source.target = "sm_90a";
    source.parameters = ".param .u64 data";
    source.prologue = ".shared .align 128 .b8 box[2048];\n";
    source.body = kWgmmaSetup +
                  R"(
          bar.sync 0;
          wgmma.fence.sync.aligned;
          wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd6, 1, 1, 1, 0;
          wgmma.commit_group.sync.aligned;)" +
                  before_wait + " wgmma.wait_group.sync.aligned 0; " + after_wait +
                  " setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1+128], d2;";
    expect_success(bench.launch(source, {.block = {128, 1, 1}}, data));
    return float_of(data[32]);
  };
  const std::string overwrites = "ld.global.u32 a1, [%rd1];", renames = "mov.b32 a1, 0;";
  EXPECT_EQ(product(overwrites, "", {}), 16.f);
  EXPECT_EQ(product(overwrites, "", latest()), 8.f);
  for (const Options& options : all_schedules()) {
    EXPECT_EQ(product("", overwrites, options), 16.f);
    EXPECT_EQ(product(renames, "", options), 16.f);
  }
}

TEST(Moments, AWarpThatReleasesForItsWarpgroupIsNamed) {
  const std::string copy =
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 1024; cp.async.bulk.shared::cluster.global.mbarrier::"
      "complete_tx::bytes [%r2], [%rd1], 1024, [%r7]; " +
      wait_for("%r7", "full");
  const auto run = [](const std::string& overwrite, const std::string& meet, const Options& options) {
    Bench bench(options, "h200");
    auto* const data = bench.upload(std::vector<uint32_t>(1024));
    Source source;
    source.target = "sm_90a";
    source.parameters = ".param .u64 data";
    source.prologue = ".shared .align 128 .b8 box[4096];\n.shared .align 8 .b64 bars[2];\n.shared .b32 arrived;\n";
    source.body = kWgmmaSetup +
                  R"(
          mov.u32 %r6, bars;
          add.u32 %r7, %r6, 8;
          setp.ne.u32 %p1, %r1, 0;
          @%p1 bra ready;
          mbarrier.init.shared::cta.b64 [%r6], 1;
          mbarrier.init.shared::cta.b64 [%r7], 1;
          fence.mbarrier_init.release.cluster;
          st.shared.u32 [arrived], 0;
          ready: bar.sync 0;
          setp.ge.u32 %p2, %r1, 128;
          @%p2 bra producer;
          wgmma.fence.sync.aligned;
          wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd6, 1, 1, 1, 0;
          wgmma.commit_group.sync.aligned;
          wgmma.wait_group.sync.aligned 0;)" +
                  meet +
                  R"(
          and.b32 %r8, %r1, 31;
          setp.ne.u32 %p3, %r8, 0;
          @%p3 bra end;
          atom.shared.add.u32 %r9, [arrived], 1;
          setp.ne.u32 %p4, %r9, 0;
          @%p4 bra end;
          mbarrier.arrive.shared::cta.b64 _, [%r6];
          bra end;
          producer: setp.ne.u32 %p5, %r1, 128;
          @%p5 bra end;)" +
                  wait_for("%r6", "empty") + overwrite + "end: bar.warp.sync -1;";
    return bench.launch(source, {.block = {160, 1, 1}}, data);
  };
  for (const std::string& overwrite : {copy, std::string("st.shared.u32 [%r2], 0;")}) {
    expect_success(run(overwrite, "", {}));
    expect_fault(run(overwrite, "", latest()), faults::store_under_wgmma);
    expect_success(run(overwrite, "", latest("warpgroup-release")));
    for (const Options& options : all_schedules()) expect_success(run(overwrite, "bar.sync 1, 128;", options));
  }
}

TEST(Moments, ColumnsThatAreFreeAreGivenBackAgain) {
  const auto run = [](const Options& options) {
    Bench bench(options, "b200");
    Source source;
    source.prologue = ".shared .b32 columns;\n";
    source.body =
        R"(
          mov.u32 %r1, %tid.x;
          setp.lt.u32 %p1, %r1, 32;
          @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;
          bar.sync 0;
          ld.shared.u32 %r2, [columns];
          tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;)";
    return bench.launch(source, {.block = {64, 1, 1}});
  };
  expect_fault(run({}), faults::dealloc_of_free, {32});
  expect_fault(run(latest()), faults::dealloc_of_free, {32});
  expect_success(run(latest("repeated-dealloc")));
}

}  // namespace
}  // namespace sim::test
