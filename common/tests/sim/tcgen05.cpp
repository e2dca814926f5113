// Tensor memory and the fifth-generation tensor core: allocation, loads and stores of every shape, MMAs of every
// layout, commits, copies, and what goes wrong.
#include <algorithm>
#include <cmath>

#include "support.h"
#include "tcgen05_support.h"
#include "tensor_support.h"

namespace sim::test {
namespace {

// ---- loads and stores

struct Shape {
  const char* name;
  int registers_per;  ///< registers per unit of .xN
  int most;
  bool sixteen_lanes;
};
const Shape kShapes[] = {{"32x32b", 1, 128, false},
                         {"16x64b", 1, 128, true},
                         {"16x128b", 2, 64, true},
                         {"16x256b", 4, 32, true},
                         {"16x32bx2", 1, 128, true}};

/// Lane (relative to the access's first) and column behind a thread's register (table of CUTLASS's traits).
std::pair<int, int> place(int shape, int t, int i, int half) {
  switch (shape) {
    case 0: return {t, i};
    case 1: return {t / 4 + 8 * (t % 2), 2 * i + (t / 2) % 2};
    case 2: return {t / 4 + 8 * (i % 2), 4 * (i / 2) + t % 4};
    case 3: return {t / 4 + 8 * ((i / 2) % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2};
    default: return {t % 16, t < 16 ? i : half + i};
  }
}
std::string register_list(int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", x" : "x") + std::to_string(i);
  return text + "}";
}

TEST(Tmem, LoadsOfEveryShape) {
  const Tmem c = [] {
    Tmem cells(128 * 512);
    for (uint32_t i = 0; i < cells.size(); ++i) cells[i] = i * 0x9E37'79B1u;
    return cells;
  }();
  for (int shape = 0; shape < 5; ++shape) {
    for (int num = 1; num <= kShapes[shape].most; num *= 2) {
      for (const bool pack : {false, true}) {
        const int registers = num * kShapes[shape].registers_per, width = pack ? 2 * registers : registers,
                  half = shape == 4 ? (pack ? 2 * num : num) + 3 : 0;
        if ((shape == 0 || shape == 4 ? width + half : 2 * width) > 300) continue;
        for (const int lane16 : {0, 16}) {
          if (lane16 && !kShapes[shape].sixteen_lanes) continue;
          // Each thread writes its registers back with the plain shape, to columns 0.. of its own lane.
          const int column = 37;
          std::string body = "{ .reg .b32 x<" + std::to_string(registers) + ">; add.u32 %r25, %r17, " +
                             std::to_string(column + lane16 * 65536) + ";\n";
          body += "tcgen05.ld.sync.aligned." + std::string(kShapes[shape].name) + ".x" + std::to_string(num) +
                  (pack ? ".pack::16b" : "") + ".b32 " + register_list(registers) + ", [%r25]" +
                  (shape == 4 ? ", " + std::to_string(half) : "") + "; tcgen05.wait::ld.sync.aligned;\n";
          for (int i = 0; i < registers; ++i)
            body += "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r17+" + std::to_string(i) + "], {x" + std::to_string(i) +
                    "};\n";
          body += "tcgen05.wait::st.sync.aligned; }";
          const Result run = run_all(body, c);
          ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
          int wrong = 0;
          for (int warp = 0; warp < 4; ++warp) {
            for (int t = 0; t < 32; ++t) {
              for (int i = 0; i < registers && wrong < 3; ++i) {
                const auto value = [&](int index) {
                  const auto [lane, col] = place(shape, t, index, half);
                  return c[cell(0, static_cast<size_t>(32 * warp + lane16 + lane), static_cast<size_t>(column + col))];
                };
                const uint32_t expected = pack ? (value(2 * i) & 0xFFFF) | value(2 * i + 1) << 16 : value(i);
                const uint32_t got = run.tmem[cell(0, static_cast<size_t>(32 * warp + t), static_cast<size_t>(i))];
                if (got == expected) continue;
                ++wrong;
                ADD_FAILURE() << kShapes[shape].name << ".x" << num << " pack " << pack << " +" << lane16 << " warp "
                              << warp << " lane " << t << " register " << i;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Tmem, StoresOfEveryShape) {
  const Tmem c(128 * 512, 0x1234'5678);
  for (int shape = 0; shape < 5; ++shape) {
    for (const int num : {1, 2, 8, 32}) {
      for (const bool unpack : {false, true}) {
        const int registers = num * kShapes[shape].registers_per, width = unpack ? 2 * registers : registers,
                  half = shape == 4 ? width + 1 : 0;
        if (registers > 128 || (shape == 0 || shape == 4 ? width + half : 2 * width) > 400) continue;
        const int column = 20;
        std::string body = "{ .reg .b32 x<" + std::to_string(registers) + ">; add.u32 %r25, %r17, " +
                           std::to_string(column) + "; shl.b32 %r26, %r2, 16;\n";
        for (int i = 0; i < registers; ++i)
          body += "add.u32 x" + std::to_string(i) + ", %r26, " + std::to_string(2 * i + 0x100) + ";\n";
        body += "tcgen05.st.sync.aligned." + std::string(kShapes[shape].name) + ".x" + std::to_string(num) +
                (unpack ? ".unpack::16b" : "") + ".b32 [%r25]" + (shape == 4 ? ", " + std::to_string(half) : "") +
                ", " + register_list(registers) + "; tcgen05.wait::st.sync.aligned; }";
        const Result run = run_all(body, c);
        ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
        Tmem expected = c;
        for (int warp = 0; warp < 4; ++warp) {
          for (int t = 0; t < 32; ++t) {
            for (int i = 0; i < registers; ++i) {
              const uint32_t value =
                  (static_cast<uint32_t>(32 * warp + t) << 16) + static_cast<uint32_t>(2 * i + 0x100);
              for (int part = 0; part < (unpack ? 2 : 1); ++part) {
                const auto [lane, col] = place(shape, t, unpack ? 2 * i + part : i, half);
                expected[cell(0, static_cast<size_t>(32 * warp + lane), static_cast<size_t>(column + col))] =
                    unpack ? value >> (16 * part) & 0xFFFF : value;
              }
            }
          }
        }
        EXPECT_TRUE(run.tmem == expected) << kShapes[shape].name << ".x" << num << " unpack " << unpack;
      }
    }
  }
}

TEST(Tmem, MovesOfPendingRegistersAreHonouredOtherUsesAreNot) {
  // nvcc puts plain moves, bit casts and packs between the load and the wait: the copies become valid with the load.
  for (const Options& options : all_schedules()) {
    Tmem c(128 * 512);
    for (uint32_t i = 0; i < c.size(); ++i) c[i] = 3 * i + 1;
    const std::string body =
        "{ .reg .b32 x<4>; .reg .f32 f<4>; .reg .b64 y<3>; .reg .b16 h<3>; tcgen05.ld.sync.aligned.32x32b.x4.b32 {x0, "
        "x1, x2, x3}, [%r17+8]; mov.b32 f0, x0; mov.b32 %r40, f0; mov.b64 y0, {x1, x2}; mov.b64 y1, y0; mov.b64 {%r41, "
        "%r42}, y1; mov.b32 {h0, h1}, x3; mov.b32 %r43, {h1, h0}; add.u32 %r45, %r2, 1;"
        "tcgen05.wait::ld.sync.aligned; tcgen05.st.sync.aligned.32x32b.x4.b32 [%r17], {%r40, %r41, %r42, %r43}; "
        "tcgen05.wait::st.sync.aligned; }";
    const Result run = run_all(body, c, options);
    ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
    for (size_t lane = 0; lane < 128; ++lane) {
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(run.tmem[cell(0, lane, i)], c[cell(0, lane, 8 + i)]);
      const uint32_t last = c[cell(0, lane, 11)];
      EXPECT_EQ(run.tmem[cell(0, lane, 3)], last >> 16 | last << 16);
    }
  }
  Options latest;
  latest.schedule = Options::Schedule::Latest;
  const Tmem c(128 * 512, 5);
  for (const char* const use :
       {"add.u32 %r41, x0, 1;", "mov.b32 %r40, x0; add.u32 %r41, %r40, 1;", "st.global.u32 [%rd3], x0;",
        "setp.eq.u32 %p8, x1, 0;", "cvt.rn.f32.u32 %f1, x0;", "mov.b64 %rd8, {x0, x1}; add.s64 %rd8, %rd8, 1;"}) {
    const Result run =
        run_all(std::string("{ .reg .b32 x<2>; tcgen05.ld.sync.aligned.32x32b.x2.b32 {x0, x1}, [%r17]; ") + use +
                    " tcgen05.wait::ld.sync.aligned; }",
                c, latest);
    expect_fault(run.outcome, faults::register_of_unfinished);
  }
  // The default schedule waits, as hardware does, and says so.
  const Result early = run_all(
      "{ .reg .b32 x<2>; tcgen05.ld.sync.aligned.32x32b.x2.b32 {x0, x1}, [%r17]; add.u32 "
      "x1, x0, 1; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r17], {x1}; "
      "tcgen05.wait::st.sync.aligned; tcgen05.wait::ld.sync.aligned; }",
      c);
  expect_fault(early.outcome, faults::register_of_unfinished);
  EXPECT_EQ(early.tmem[0], 6u);
  // Overwriting one is a dependency that hardware honours too: the write comes after the load's.
  const Result run = run_all(
      "{ .reg .b32 x<2>; tcgen05.ld.sync.aligned.32x32b.x2.b32 {x0, x1}, [%r17]; mov.b32 x0, "
      "77; tcgen05.wait::ld.sync.aligned; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r17], "
      "{x0}; tcgen05.wait::st.sync.aligned; }",
      c, latest);
  expect_success(run.outcome);
  EXPECT_EQ(run.tmem[0], 77u);
}

TEST(Tmem, LoadsOfWhatIsStillBeingStored) {
  const Tmem c(128 * 512, 5);
  const std::string body =
      "{ .reg .b32 x, y; mov.b32 y, 9; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r17+8], {y}; WAIT"
      "tcgen05.ld.sync.aligned.32x32b.x1.b32 {x}, [%r17+COLUMN]; tcgen05.wait::ld.sync.aligned; "
      "tcgen05.wait::st.sync.aligned; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r17], {x}; "
      "tcgen05.wait::st.sync.aligned; }";
  const auto run = [&](const std::string& wait, const std::string& column, const Options& options) {
    std::string text = body;
    text.replace(text.find("WAIT"), 4, wait);
    text.replace(text.find("COLUMN"), 6, column);
    return run_all(text, c, options);
  };
  for (Options options : all_schedules()) {
    const Result waits = run("tcgen05.wait::st.sync.aligned; ", "8", options), elsewhere = run("", "9", options);
    expect_success(waits.outcome);
    EXPECT_EQ(waits.tmem[0], 9u);
    expect_success(elsewhere.outcome);
    EXPECT_EQ(elsewhere.tmem[0], 5u);
    // The default schedule does as hardware does, and says so; the others, if they are told to.
    const Result early = run("", "8", options);
    if (options.schedule == Options::Schedule::Default) {
      expect_fault(early.outcome, faults::load_of_unfinished_store);
      EXPECT_EQ(early.tmem[0], 9u);
    } else {
      expect_fault(early.outcome, faults::load_of_unfinished_store);
    }
    options.tolerated.add(Habit::StoreWithoutWait);
    const Result tolerated = run("", "8", options);
    expect_success(tolerated.outcome);
    EXPECT_EQ(tolerated.tmem[0], 9u);
  }
}

// ---- allocation

/// One CTA (or a pair) of so many threads; warps' indices are in %r3.
Outcome run_alloc(const std::string& body, uint32_t ctas = 1, Options options = {},
                  std::vector<uint32_t>* out = nullptr, uint32_t threads = 128) {
  Bench bench(options);
  auto* memory = bench.allocate<uint32_t>(64);
  Source source;
  source.prologue = ".shared .align 4 .b8 box[64];\n.shared .align 8 .b64 bar;\n";
  source.parameters = ".param .u64 out";
  source.body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5; setp.eq.u32 "
      "%p1, %r3, 0; setp.eq.u32 %p2, %r3, 1; setp.eq.u32 %p3, %r2, 0; mov.u32 %r8, box; mov.u32 %r9, bar; mul.wide.u32 "
      "%rd2, %r1, 64; add.s64 %rd1, %rd1, %rd2;\n" +
      body;
  const Outcome outcome =
      bench.launch(source, {.grid = {ctas, 1, 1}, .block = {threads, 1, 1}, .cluster = {ctas, 1, 1}}, memory);
  if (out != nullptr) out->assign(memory, memory + 64);
  return outcome;
}

TEST(Tmem, LoadsOfWhatAnotherWarpIsStillStoring) {
  std::string values = "{%r12";
  for (int i = 1; i < 32; ++i) values += ", %r12";
  const auto run = [&](const std::string& wait, Options options, std::vector<uint32_t>* out) {
    return run_alloc(
        "@!%p1 bra all; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 32;\nall: bar.sync 0; "
        "tcgen05.fence::after_thread_sync; ld.shared.u32 %r10, [%r8]; and.b32 %r11, %r3, 3; shl.b32 %r13, %r11, 21; "
        "add.u32 %r14, %r10, %r13; add.u32 %r12, %r11, 7; setp.lt.u32 %p4, %r3, 4; @!%p4 bra meet; "
        "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r14], " +
            values + "}; " + wait +
            "tcgen05.fence::before_thread_sync;\nmeet: bar.sync 0; tcgen05.fence::after_thread_sync; @%p4 bra end; "
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r15}, [%r14+31]; tcgen05.wait::ld.sync.aligned; mul.wide.u32 "
            "%rd3, %r11, 4; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r15; "
            "tcgen05.fence::before_thread_sync;\nend: tcgen05.wait::st.sync.aligned; bar.sync 0; @!%p1 bra over; "
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;\nover:",
        1, options, out, 256);
  };
  for (Options options : all_schedules()) {
    std::vector<uint32_t> out;
    const auto expect_stored = [&] {
      EXPECT_EQ(std::vector(out.begin(), out.begin() + 4), (std::vector{7u, 8u, 9u, 10u}));
    };
    expect_success(run("tcgen05.wait::st.sync.aligned; ", options, &out));
    expect_stored();
    expect_fault(run("", options, &out), faults::load_of_unfinished_store);
    if (options.schedule == Options::Schedule::Default) expect_stored();
    options.tolerated.add(Habit::StoreWithoutWait);
    expect_success(run("", options, &out));
    expect_stored();
  }
}

TEST(Allocation, AddressesAndOrders) {
  std::vector<uint32_t> out;
  expect_success(run_alloc(
      "@!%p1 bra end; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 256; "
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8+4], 128; cvt.u64.u32 %rd3, %r8; cvta.shared.u64 "
      "%rd3, %rd3; tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd3+8], 32;"
      "ld.shared.u32 %r11, [%r8]; ld.shared.u32 %r12, [%r8+4]; ld.shared.u32 %r13, [%r8+8]; @%p3 st.global.v2.u32 "
      "[%rd1], {%r11, %r12}; @%p3 st.global.u32 [%rd1+8], %r13;"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 256; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r12, "
      "128; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r13, 32; end:",
      1, {}, &out));
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[1], 256u);
  EXPECT_EQ(out[2], 384u);
  // A pair gets the same columns in both CTAs.
  for (const Options& options : all_schedules()) {
    expect_success(
        run_alloc("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @!%p1 bra sync; mov.u32 %r10, 128; "
                  "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r8], %r10; ld.shared.u32 %r11, [%r8]; "
                  "@%p3 st.global.u32 [%rd1], %r11; tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned; sync: "
                  "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
                  "@%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r11, 128;",
                  2, options, &out));
    EXPECT_EQ(out[0], 0u);
    EXPECT_EQ(out[16], 0u);
  }
  // An allocation waits for columns that another warp frees.
  expect_success(
      run_alloc("@!%p1 bra second; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 512; bar.sync 1, 64; "
                "nanosleep.u32 1000; mov.u32 %r11, 0; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 512; bra end;"
                "second: @!%p2 bra end; bar.sync 1, 64; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
                "[%r8+4], 64; mov.u32 %r11, 0; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 64; end:"));
}

TEST(Allocation, MisuseIsExplained) {
  const std::string alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], ",
                    dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 ";
  const auto one_warp = [](const std::string& body) {
    return run_alloc("@!%p1 bra end; mov.u32 %r11, 0; " + body + " end:");
  };
  expect_fault(one_warp(alloc + "128;"), faults::exit_with_tensor_memory, {"columns 0..127"});
  expect_fault(one_warp("mov.u32 %r12, 48; " + alloc + "%r12;"), faults::alloc_columns, {48});
  expect_fault(one_warp("mov.u32 %r12, 1024; " + alloc + "%r12;"), faults::alloc_columns, {1024});
  expect_fault(one_warp(alloc + "128; " + dealloc + "%r11, 64;"), faults::dealloc_of_free, {64, "columns 0..127"});
  expect_fault(one_warp(alloc + "128; mov.u32 %r11, 64; " + dealloc + "%r11, 128;"), faults::dealloc_of_free,
               {128, 0x40});
  expect_fault(one_warp(dealloc + "%r11, 128;"), faults::dealloc_of_free, {"none"});
  expect_fault(one_warp("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; " + alloc + "128;"),
               faults::alloc_after_relinquish);
  expect_wait(one_warp(alloc + "512; " + alloc + "32;"), Wait::TmemAllocation);
  // Columns that are not allocated, another warp's lanes, lanes that the shape cannot start at, different addresses.
  const auto with_columns = [&](const std::string& body) {
    return run_alloc("@!%p1 bra all; " + alloc + "32; all: bar.sync 0; mov.u32 %r11, 0; shl.b32 %r13, %r3, 21;" + body +
                     " tcgen05.wait::ld.sync.aligned; bar.sync 0; @!%p1 bra end; " + dealloc + "%r11, 32; end:");
  };
  expect_fault(with_columns("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r13+32];"), faults::transfer_not_allocated,
               {"tcgen05.ld", 32, 32, "columns 0..31"});
  expect_fault(with_columns("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r20, %r21, %r22, %r23}, [%r13+30];"),
               faults::transfer_not_allocated, {30, 33});
  expect_fault(with_columns("mov.u32 %r14, 2097152; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r14];"),
               faults::transfer_out_of_reach, {32});
  expect_fault(with_columns("add.u32 %r14, %r13, 524288; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r14];"),
               faults::transfer_at_no_quarter);
  expect_fault(with_columns("add.u32 %r14, %r13, 524288; tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r20}, [%r14];"),
               faults::transfer_at_no_half);
  expect_fault(
      with_columns(
          "and.b32 %r14, %r2, 1; add.u32 %r14, %r13, %r14; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r14];"),
      faults::transfer_of_several_addresses);
  expect_success(
      with_columns("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r11];"));  // lane bits 0: the warp's quarter
  // cta_group::2 without a peer, with a peer that asks for something else, or that has left.
  expect_fault(run_alloc("@!%p1 bra end; tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r8], 128; end:"),
               faults::pair_of_odd_cluster);
  expect_fault(run_alloc("@!%p1 bra end; mov.u32 %r12, 64; shl.b32 %r12, %r12, %r1; "
                         "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r8], %r12; end: "
                         "barrier.cluster.arrive; barrier.cluster.wait;",
                         2),
               faults::alloc_of_pair_differs);
  expect_fault(run_alloc("setp.eq.u32 %p4, %r1, 1; @%p4 exit; nanosleep.u32 5000; @!%p1 bra end; "
                         "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r8], 128; end:",
                         2),
               faults::peer_has_exited);
  Bench hopper({}, "h200");
  Source source;
  source.prologue = ".shared .align 4 .b8 box[64];\n";
  source.body = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [box], 128;";
  expect_fault(hopper.launch(source, {.block = {32, 1, 1}}), faults::no_tensor_memory, {"Simulated H200"});
}

// ---- MMAs

struct Case {
  int group = 1, m = 128, n = 64;
  Element a = Element::BF16, b = Element::BF16;
  Swizzle a_swizzle = Swizzle::B128, b_swizzle = Swizzle::B128;
  bool a_mn = false, b_mn = false, negate_a = false, negate_b = false;
  bool accumulate = true, a_in_tmem = false, fast = false, stationary = false;
  int d_column = 64, d_lane = 0, scale = 0;
  int result = 1;  ///< 0 F16, 1 F32, 2 S32
  std::vector<uint32_t> disabled = {};
};

const char* kind_of(const Case& c) {
  switch (c.a) {
    case Element::F16:
    case Element::BF16: return "kind::f16";
    case Element::TF32: return "kind::tf32";
    case Element::S8:
    case Element::U8: return "kind::i8";
    default: return "kind::f8f6f4";
  }
}
uint32_t instruction_descriptor(const Case& c) {
  return static_cast<uint32_t>(c.result) << 4 | format_code(c.a) << 7 | format_code(c.b) << 10 |
         static_cast<uint32_t>(c.negate_a) << 13 | static_cast<uint32_t>(c.negate_b) << 14 |
         static_cast<uint32_t>(c.a_mn) << 15 | static_cast<uint32_t>(c.b_mn) << 16 |
         static_cast<uint32_t>(c.n / 8) << 17 | static_cast<uint32_t>(c.m / 16) << 24;
}

/// D[m][n] -> (CTA, lane, column): layouts A, B, D and F, and E and G of .ws.
struct Cell {
  size_t cta, lane, column;
};
Cell accumulator(const Case& c, int m, int n) {
  const auto column = static_cast<size_t>(c.d_column);
  const auto M = static_cast<size_t>(m), N = static_cast<size_t>(n), half = static_cast<size_t>(c.n) / 2;
  if (c.stationary) {
    const size_t parts = 128 / static_cast<size_t>(c.m), width = static_cast<size_t>(c.n) / parts;
    return {0, M + static_cast<size_t>(c.m) * (N / width), column + N % width};
  }
  if (c.group == 1 && c.m == 128) return {0, M, column + N};
  if (c.group == 1) return {0, 32 * (M / 16) + M % 16 + static_cast<size_t>(c.d_lane), column + N};
  if (c.m == 256) return {M / 128, M % 128, column + N};
  return {M / 64, M % 64 + 64 * (N / half), column + N % half};
}

uint32_t output(const Case& c, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t start) {
  if (c.result == 2) return integer_output(c.a, c.b, a, b, start, c.accumulate);
  if (c.scale != 0) start = bits_of(std::ldexp(float_of(start), -c.scale));
  if (c.fast) return fast_output(c.a, c.b, a, b, c.negate_a, c.negate_b, start, c.accumulate);
  return exact_output(c.a, c.b, a, b, c.negate_a, c.negate_b, start, c.accumulate, 25, c.result == 0);
}

void check_mma(const Case& c, Options options = {}) {
  const int rows = c.m / c.group, columns = c.n / c.group, size_a = bytes_of(c.a), size_b = bytes_of(c.b);
  const OperandLayout a = dense_layout(c.a_swizzle, c.a_mn, size_a, rows, kBase),
                      b = dense_layout(c.b_swizzle, c.b_mn, size_b, columns, kBase + 32 * 1024);
  constexpr size_t kBytes = 96 * 1024;
  std::vector<uint8_t> shared;
  for (int cta = 0; cta < c.group; ++cta) {
    std::vector<uint8_t> low(32 * 1024), high(kBytes - 32 * 1024);
    fill_elements(low, c.a, static_cast<uint64_t>(11 + cta)), fill_elements(high, c.b, static_cast<uint64_t>(23 + cta));
    shared.insert(shared.end(), low.begin(), low.end());
    shared.insert(shared.end(), high.begin(), high.end());
  }
  Tmem start = random_tmem(c.group, 5);
  if (c.result == 0) {
    for (uint32_t& value : start) value = value >> 20 & 0x87FF;  // F16 in the low half
  }
  // A in tensor memory: 8 columns from column 16 on; 16-bit elements two to a cell.
  if (c.a_in_tmem) {
    Dice dice(8);
    std::vector<uint8_t> bytes(32);
    for (size_t cta = 0; cta < static_cast<size_t>(c.group); ++cta) {
      for (size_t lane = 0; lane < 128; ++lane) {
        fill_elements(bytes, c.a, dice.next() | 1);
        for (size_t i = 0; i < 8; ++i) std::memcpy(&start[cell(cta, lane, 16 + i)], &bytes[4 * i], 4);
      }
      if (c.group == 2 && c.m == 128) {  // the rows are there twice
        for (size_t lane = 0; lane < 64; ++lane) {
          for (size_t i = 0; i < 8; ++i) start[cell(cta, 64 + lane, 16 + i)] = start[cell(cta, lane, 16 + i)];
        }
      }
    }
  }
  std::string body = c.a_in_tmem ? "mov.u32 %r33, 16; add.u32 %r33, %r16, %r33; " : "";
  body += std::string("tcgen05.mma") + (c.stationary ? ".ws" : "") + ".cta_group::" + std::to_string(c.group) + "." +
          kind_of(c) + " [%r31], " + (c.a_in_tmem ? "[%r33]" : "%rd6") + ", %rd7, %r30, ";
  if (!c.disabled.empty()) {
    std::string list;
    for (size_t i = 0; i < c.disabled.size(); ++i) {
      const std::string mask = "%r" + std::to_string(50 + i);
      body = "mov.b32 " + mask + ", " + std::to_string(c.disabled[i]) + "; " + body;
      list += (i ? ", " : "") + mask;
    }
    body += "{" + list + "}, ";
  }
  body += "%p5" + (c.scale ? ", " + std::to_string(c.scale) : std::string()) + "; ";
  if (c.fast) options.arithmetic = Options::Arithmetic::Fast;
  const uint32_t d = static_cast<uint32_t>(c.d_column) | static_cast<uint32_t>(c.d_lane) << 16;
  const Result run = run_one(c.group, body + commit(c.group), start,
                             {.shared = shared,
                              .a = tcgen05_descriptor(a),
                              .b = tcgen05_descriptor(b),
                              .idesc = instruction_descriptor(c),
                              .d = d,
                              .accumulate = c.accumulate,
                              .options = options});
  ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;

  Tmem expected = start;
  std::vector<std::vector<uint32_t>> b_rows;
  for (int n = 0; n < c.n; ++n) {
    const auto begin = shared.begin() + static_cast<long>(static_cast<size_t>(n / columns) * kBytes);
    b_rows.push_back(read_row({begin, begin + kBytes}, kBase, b, c.b, n % columns));
  }
  for (int cta = 0; cta < c.group; ++cta) {
    const std::vector<uint8_t> own(shared.begin() + static_cast<long>(static_cast<size_t>(cta) * kBytes),
                                   shared.begin() + static_cast<long>(static_cast<size_t>(cta + 1) * kBytes));
    for (int m = 0; m < rows; ++m) {
      std::vector<uint32_t> a_row;
      if (c.a_in_tmem) {
        const size_t lane = accumulator(c, cta * rows + m, 0).lane;
        for (size_t i = 0; i < static_cast<size_t>(32 / size_a); ++i) {
          uint32_t bits = 0;
          std::memcpy(&bits,
                      reinterpret_cast<const uint8_t*>(
                          &start[cell(static_cast<size_t>(cta), lane, 16 + i * static_cast<size_t>(size_a) / 4)]) +
                          i * static_cast<size_t>(size_a) % 4,
                      static_cast<size_t>(size_a));
          a_row.push_back(bits);
        }
      } else {
        a_row = read_row(own, kBase, a, c.a, m);
      }
      for (int n = 0; n < c.n; ++n) {
        const Cell at = accumulator(c, cta * rows + m, n);
        if (!c.disabled.empty() && (c.disabled[4 * at.cta + at.lane / 32] >> (at.lane % 32) & 1)) continue;
        uint32_t& value = expected[cell(at.cta, at.lane, at.column)];
        value = output(c, a_row, b_rows[static_cast<size_t>(n)], value);
      }
    }
  }
  expect_tmem(run.tmem, expected, start,
              std::string(kind_of(c)) + " group " + std::to_string(c.group) + " " + std::to_string(c.m) + "x" +
                  std::to_string(c.n));
}

TEST(Mma, AccumulatorLayouts) {
  for (const bool accumulate : {true, false}) {
    for (const int n : {16, 64, 240, 256}) check_mma({.group = 1, .m = 128, .n = n, .accumulate = accumulate});  // D
    for (const int n : {8, 24, 128, 256})
      check_mma({.group = 1, .m = 64, .n = n, .accumulate = accumulate, .d_lane = n % 16 ? 16 : 0});              // F
    for (const int n : {16, 128, 224, 256}) check_mma({.group = 2, .m = 256, .n = n, .accumulate = accumulate});  // A
    for (const int n : {16, 64, 256})
      check_mma({.group = 2, .m = 128, .n = n, .accumulate = accumulate, .d_column = 128});  // B
  }
  check_mma({.group = 1, .m = 128, .n = 256, .d_column = 256});
}

TEST(Mma, SwizzlesAndTransposedOperands) {
  const Swizzle swizzles[] = {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128};
  for (const int group : {1, 2}) {
    for (const bool a_mn : {false, true}) {
      for (const bool b_mn : {false, true}) {
        for (size_t i = 0; i < 4; ++i) {
          Case c{.group = group, .m = 128 * group, .n = 128};
          c.a_mn = a_mn, c.b_mn = b_mn, c.a_swizzle = swizzles[i], c.b_swizzle = swizzles[(i + (a_mn ? 1 : 2)) % 4];
          check_mma(c);
          c.m /= 2;
          check_mma(c);
        }
      }
    }
  }
}

TEST(Mma, EveryKind) {
  const auto each = [](Element a, Element b, int result) {
    for (const int group : {1, 2}) {
      for (const bool b_mn : {false, true}) {
        if ((bytes_of(a) == 4 || bits_of_element(a) < 8) && b_mn) continue;
        Case c{.group = group, .m = 128 * group, .n = 96, .a = a, .b = b};
        c.result = result, c.b_mn = b_mn, c.b_swizzle = Swizzle::B64;
        check_mma(c);
      }
    }
  };
  each(Element::F16, Element::F16, 1);
  each(Element::F16, Element::BF16, 1);
  each(Element::F16, Element::F16, 0);
  each(Element::TF32, Element::TF32, 1);
  each(Element::E4M3, Element::E5M2, 1);
  each(Element::E2M3, Element::E3M2, 1);
  each(Element::E2M1, Element::E4M3, 1);
  each(Element::S8, Element::U8, 2);
  each(Element::U8, Element::S8, 2);
  // Transposed TF32 has a swizzle of its own.
  Case c{.group = 1,
         .m = 128,
         .n = 64,
         .a = Element::TF32,
         .b = Element::TF32,
         .a_swizzle = Swizzle::B128Atom32,
         .b_swizzle = Swizzle::B128Atom32,
         .a_mn = true,
         .b_mn = true};
  check_mma(c);
  c.group = 2, c.m = 256;
  check_mma(c);
}

TEST(Mma, WeightStationary) {
  for (const int m : {32, 64, 128}) {
    for (const int n : {64, 128, 256}) check_mma({.m = m, .n = n, .stationary = true});
  }
}

TEST(Mma, AInTensorMemory) {
  check_mma({.group = 1, .m = 128, .n = 64, .a_in_tmem = true});
  check_mma({.group = 1, .m = 64, .n = 64, .a_in_tmem = true});
  check_mma({.group = 1, .m = 64, .n = 64, .a_in_tmem = true, .d_lane = 16});
  check_mma({.group = 2, .m = 256, .n = 64, .a_in_tmem = true});
  check_mma({.group = 2, .m = 128, .n = 64, .a_in_tmem = true});
  check_mma({.group = 1, .m = 128, .n = 64, .a = Element::TF32, .b = Element::TF32, .a_in_tmem = true});
  check_mma({.group = 1, .m = 128, .n = 64, .a = Element::E4M3, .b = Element::E4M3, .a_in_tmem = true});
}

TEST(Mma, NegationScaleAndDisabledLanes) {
  check_mma({.negate_a = true});
  check_mma({.negate_b = true});
  check_mma({.negate_a = true, .negate_b = true});
  check_mma({.scale = 3});
  check_mma({.group = 2, .m = 256, .n = 32, .scale = 15});
  check_mma({.disabled = {0xFFFF'FFFF, 0, 0xF0F0'F0F0, 1}});
  check_mma({.group = 2, .m = 256, .n = 32, .disabled = {1, 2, 3, 4, 5, 6, 7, 0xFFFF'0000}});
}

TEST(Mma, FastArithmetic) {
  check_mma({.group = 1, .m = 128, .n = 256, .fast = true});
  check_mma({.group = 2, .m = 256, .n = 128, .fast = true});
  check_mma({.group = 2, .m = 128, .n = 64, .fast = true});
  check_mma({.group = 1, .m = 64, .n = 40, .fast = true});
  check_mma({.group = 1, .m = 128, .n = 64, .a = Element::E4M3, .b = Element::E5M2, .fast = true});
}

TEST(Mma, ChainsRunInProgramOrderInEverySchedule) {
  // Eight MMAs on one accumulator, the first of which overwrites it: the result depends on their order.
  for (const Options& options : all_schedules()) {
    const OperandLayout layout = dense_layout(Swizzle::B128, false, 2, 128, kBase);
    std::vector<uint8_t> shared(64 * 1024);
    fill_elements(shared, Element::BF16, 9);
    const Tmem start = random_tmem(1, 4);
    std::string body;
    for (int i = 0; i < 8; ++i) {
      body += "add.s64 %rd20, %rd6, " + std::to_string(2 * (i % 4)) + "; add.s64 %rd21, %rd7, " +
              std::to_string(2 * ((i + i / 4) % 4)) +
              "; tcgen05.mma.cta_group::1.kind::f16 [%r31], %rd20, %rd21, %r30, " + (i ? "1" : "0") + ";\n";
    }
    Case c{.n = 128};
    OperandLayout b = layout;
    b.start += 32 * 1024;
    const Result run = run_one(1, body + commit(1), start,
                               {.shared = shared,
                                .a = tcgen05_descriptor(layout),
                                .b = tcgen05_descriptor(b),
                                .idesc = instruction_descriptor(c),
                                .d = 64,
                                .options = options});
    ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
    for (int m = 0; m < 128; m += 9) {
      for (int n = 0; n < 128; n += 5) {
        uint32_t value = 0;
        for (int i = 0; i < 8; ++i) {
          OperandLayout ai = layout, bi = b;
          ai.start += 32 * static_cast<uint32_t>(i % 4), bi.start += 32 * static_cast<uint32_t>((i + i / 4) % 4);
          value = exact_output(Element::BF16, Element::BF16, read_row(shared, kBase, ai, Element::BF16, m),
                               read_row(shared, kBase, bi, Element::BF16, n), false, false, value, i > 0);
        }
        ASSERT_EQ(run.tmem[cell(0, static_cast<size_t>(m), static_cast<size_t>(64 + n))], value);
      }
    }
  }
}

TEST(Mma, ReadsItsOperandsWhenItRunsNotWhenItIsIssued) {
  // Overwriting an operand before the commit has arrived destroys the result in the latest schedule.
  Options latest;
  latest.schedule = Options::Schedule::Latest;
  std::vector<uint8_t> shared(64 * 1024);
  fill_elements(shared, Element::BF16, 9);
  const OperandLayout a = dense_layout(Swizzle::B128, false, 2, 128, kBase),
                      b = dense_layout(Swizzle::B128, false, 2, 64, kBase + 32 * 1024);
  const Tmem start = random_tmem(1, 4);
  const std::string mma = "tcgen05.mma.cta_group::1.kind::f16 [%r31], %rd6, %rd7, %r30, 0; " + commit(1);
  const Given given{.shared = shared,
                    .a = tcgen05_descriptor(a),
                    .b = tcgen05_descriptor(b),
                    .idesc = instruction_descriptor({}),
                    .d = 64,
                    .options = latest};
  const Result good = run_one(1, mma, start, given),
               bad =
                   run_one(1, mma + "mov.u32 %r40, 0; st.shared.v4.u32 [%r8], {%r40, %r40, %r40, %r40};", start, given);
  expect_success(good.outcome);
  expect_success(bad.outcome);
  EXPECT_NE(good.tmem, bad.tmem);
}

TEST(Commit, ReachesTheCtasOfTheMask) {
  for (const Options& options : all_schedules()) {
    // Rank 1 of 4 commits with mask 0b1101 and, having nothing outstanding, to its own barrier.
    std::vector<uint32_t> out;
    expect_success(run_alloc(
        "@%p3 mbarrier.init.shared::cta.b64 [%r9], 1; fence.mbarrier_init.release.cluster; barrier.cluster.arrive; "
        "barrier.cluster.wait; setp.eq.u32 %p5, %r1, 1; and.pred %p6, %p5, %p3; mov.u16 %h1, 13;"
        "@%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r9], %h1; "
        "cvt.u64.u32 %rd5, %r9; cvta.shared.u64 %rd5, %rd5; @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 "
        "[%rd5];"
        "wait: mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r9], 0; @!%p7 bra wait; mov.u32 %r20, 7; @%p3 "
        "st.global.u32 [%rd1], %r20; barrier.cluster.arrive; barrier.cluster.wait;",
        4, options, &out));
    for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(out[16 * rank], 7u);
  }
}

// ---- copies from shared memory

TEST(Copy, ShapesAndBroadcasts) {
  struct Shape {
    const char* name;
    int rows, bytes;
    std::function<std::vector<int>(int)> lanes;
  };
  const Shape shapes[] = {{"128x256b", 128, 32, [](int r) { return std::vector<int>{r}; }},
                          {"128x128b", 128, 16, [](int r) { return std::vector<int>{r}; }},
                          {"64x128b.warpx2::02_13", 64, 16,
                           [](int r) {
                             return std::vector<int>{r, r + 64};
                           }},
                          {"64x128b.warpx2::01_23", 64, 16,
                           [](int r) {
                             return std::vector<int>{r % 32 + r / 32 * 64, r % 32 + r / 32 * 64 + 32};
                           }},
                          {"4x256b", 4, 32, [](int r) { return std::vector<int>{32 * r}; }},
                          {"32x128b.warpx4", 32, 16, [](int r) {
                             return std::vector<int>{r, r + 32, r + 64, r + 96};
                           }}};
  for (const Shape& shape : shapes) {
    for (const int group : {1, 2}) {
      std::vector<uint8_t> shared(static_cast<size_t>(group) * 16 * 1024);
      Dice dice(5);
      for (uint8_t& byte : shared) byte = static_cast<uint8_t>(dice.next());
      const OperandLayout layout = dense_layout(Swizzle::None, false, 4, shape.rows, kBase);
      const Tmem start = random_tmem(group, 3);
      const Result run = run_one(
          group,
          "tcgen05.cp.cta_group::" + std::to_string(group) + "." + shape.name + " [%r31], %rd6; " + commit(group),
          start, {.shared = shared, .a = tcgen05_descriptor(layout), .d = 100});
      ASSERT_EQ(run.outcome.status, Status::Success) << run.outcome.report;
      Tmem expected = start;
      for (int cta = 0; cta < group; ++cta) {
        const auto begin = shared.begin() + cta * 16 * 1024;
        const std::vector<uint8_t> own(begin, begin + 16 * 1024);
        for (int row = 0; row < shape.rows; ++row) {
          const std::vector<uint32_t> words = read_row(own, kBase, layout, Element::TF32, row);
          for (const int lane : shape.lanes(row)) {
            for (int i = 0; i < shape.bytes / 4; ++i)
              expected[cell(static_cast<size_t>(cta), static_cast<size_t>(lane), static_cast<size_t>(100 + i))] =
                  words[static_cast<size_t>(i)];
          }
        }
      }
      EXPECT_TRUE(run.tmem == expected) << shape.name << " group " << group;
    }
  }
}

TEST(Copy, FourRowsGoToALaneOfEachQuarter) {
  std::vector<uint8_t> shared(16 * 1024);
  for (size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<uint8_t>(i * 7 + i / 256);
  const OperandLayout layout = dense_layout(Swizzle::None, false, 4, 4, kBase);
  const auto run = [&](uint32_t lane, const Tmem& start) {
    return run_one(1, "tcgen05.cp.cta_group::1.4x256b [%r31], %rd6; " + commit(1), start,
                   {.shared = shared, .a = tcgen05_descriptor(layout), .d = lane << 16 | 100});
  };
  const Tmem start = random_tmem(1, 3);
  const Result right = run(31, start);  // the row that tcgen05.shift leaves
  expect_success(right.outcome);
  Tmem expected = start;
  for (int row = 0; row < 4; ++row) {
    const std::vector<uint32_t> words = read_row(shared, kBase, layout, Element::TF32, row);
    for (size_t i = 0; i < 8; ++i) expected[cell(0, static_cast<size_t>(31 + 32 * row), 100 + i)] = words[i];
  }
  EXPECT_TRUE(right.tmem == expected);
  expect_fault(run(32, start).outcome, faults::tensor_copy_lane, {32});
}

TEST(Copy, UnpacksSixteenElements) {
  // In each 16 bytes sixteen packed elements, the first in the lowest bits, and padding.
  for (const uint32_t bits : {4u, 6u}) {
    std::vector<uint8_t> shared(16 * 1024);
    Dice dice(bits);
    for (uint8_t& byte : shared) byte = static_cast<uint8_t>(dice.next());
    const OperandLayout layout = dense_layout(Swizzle::None, false, 4, 128, kBase);
    const Tmem start = random_tmem(1, 3);
    const Result run = run_one(1,
                               std::string("tcgen05.cp.cta_group::1.128x256b.b8x16.") +
                                   (bits == 4 ? "b4x16_p64" : "b6x16_p32") + " [%r31], %rd6; " + commit(1),
                               start, {.shared = shared, .a = tcgen05_descriptor(layout), .d = 100});
    expect_success(run.outcome);
    Tmem expected = start;
    for (int row = 0; row < 128; ++row) {
      const std::vector<uint32_t> packed = read_row(shared, kBase, layout, Element::TF32, row);
      for (size_t half = 0; half < 2; ++half) {
        uint8_t bytes[16] = {};
        for (uint32_t i = 0; i < 16 * bits; ++i) {
          const uint32_t bit = packed[4 * half + i / 32] >> i % 32 & 1;
          bytes[i / bits] = static_cast<uint8_t>(bytes[i / bits] | bit << (i % bits + (bits == 4 ? 2 : 0)));
        }
        for (size_t word = 0; word < 4; ++word)
          std::memcpy(&expected[cell(0, static_cast<size_t>(row), 100 + 4 * half + word)], bytes + 4 * word, 4);
      }
    }
    EXPECT_TRUE(run.tmem == expected) << bits;
  }
}

TEST(Copy, ReadsNoMoreThanItsRows) {
  // 512 bytes at the very end of shared memory.
  std::vector<uint8_t> shared(16 * 1024);
  for (size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<uint8_t>(i * 7);
  const OperandLayout last{.swizzle = Swizzle::None,
                           .start = kBase + static_cast<uint32_t>(shared.size()) - 512,
                           .leading = 128,
                           .stride = 128};
  const Result run = run_one(1, "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r31], %rd6; " + commit(1), random_tmem(1, 3),
                             {.shared = shared, .a = tcgen05_descriptor(last), .d = 32});
  expect_success(run.outcome);
  for (size_t lane = 0; lane < 128; ++lane)
    EXPECT_EQ(std::memcmp(&run.tmem[cell(0, lane, 32)], &shared[shared.size() - 512 + lane % 32 * 16], 16), 0);
}

// ---- shifts

TEST(Shift, MovesTheRowsOfThirtyTwoLanesButTheLast) {
  for (const int group : {1, 2}) {
    for (const Options& options : all_schedules()) {
      const Tmem start = random_tmem(group, 4);
      const std::string shift = "tcgen05.shift.cta_group::" + std::to_string(group) + ".down [%r31];";
      const Result run = run_one(group, shift + shift + commit(group), start,  // twice, in order
                                 {.d = 64 << 16 | 100, .options = options});
      expect_success(run.outcome);
      Tmem expected = start;
      for (size_t cta = 0; cta < static_cast<size_t>(group); ++cta) {
        for (size_t lane = 64; lane < 96; ++lane) {
          for (size_t column = 100; column < 108; ++column)
            expected[cell(cta, lane, column)] = start[cell(cta, std::min<size_t>(lane + 2, 95), column)];
        }
      }
      EXPECT_TRUE(run.tmem == expected) << "group " << group;
    }
  }
}

TEST(Shift, BeginsWithAQuarterOfTheLanes) {
  const Result run = run_one(1, "tcgen05.shift.cta_group::1.down [%r31];", random_tmem(1, 4), {.d = 16 << 16});
  expect_fault(run.outcome, faults::shift_lane, {16});
}

// ---- descriptors

TEST(Descriptors, ErrorsAreNamed) {
  const OperandLayout a = dense_layout(Swizzle::B128, false, 2, 128, kBase),
                      b = dense_layout(Swizzle::B128, false, 2, 64, kBase + 32 * 1024);
  const std::vector<uint8_t> shared(64 * 1024);
  const Tmem start(128 * 512, 0);
  const uint64_t good_a = tcgen05_descriptor(a), good_b = tcgen05_descriptor(b);
  const Case c{};
  const uint32_t good = instruction_descriptor(c);
  EXPECT_EQ(good, 0x0810'0490u);
  const auto run = [&](uint64_t da, uint64_t db, uint32_t idesc, uint32_t d = 64,
                       const std::string& kind = "kind::f16") {
    return run_one(1, "tcgen05.mma.cta_group::1." + kind + " [%r31], %rd6, %rd7, %r30, 1; " + commit(1), start,
                   {.shared = shared, .a = da, .b = db, .idesc = idesc, .d = d, .accumulate = true})
        .outcome;
  };
  const auto swizzled = [&](uint64_t code) { return (good_a & ~(uint64_t{7} << 61)) | code << 61; };
  const auto with = [&](int shift, uint32_t width, uint32_t field) {  // in the instruction descriptor
    return (good & ~(((1u << width) - 1) << shift)) | field << shift;
  };
  struct Wrong {
    Outcome outcome;
    const FaultText& fault;
    std::vector<Detail> details = {};
  };
  expect_success(run(good_a, good_b, good));
  for (const Wrong& each : {
           Wrong{run(wgmma_descriptor(a), good_b, good), faults::descriptor_of_wgmma, {"A"}},
           {run(good_a, good_b | uint64_t{1} << 15, good), faults::descriptor_reserved_bits, {"B"}},
           {run(good_a | uint64_t{1} << 52, good_b, good), faults::descriptor_absolute_mode},
           {run(swizzled(3), good_b, good), faults::descriptor_swizzle, {3}},
           {run(swizzled(1), good_b, good | 1u << 15), faults::transposed_with_atoms, {"A"}},
           {run((good_a & ~uint64_t{0x3FFF}) | 0x3F00, good_b, good), faults::operand_outside_shared, {"A"}},
           {run(good_a & ~uint64_t{0x3FFF}, good_b, good), faults::operand_outside_shared, {"A", 0}},
           // The instruction descriptor: BF16 written as 3, reserved bits, impossible shapes, accumulators.
           {run(good_a, good_b, with(7, 3, 3)), faults::instruction_type_f16, {"A", 3}},
           {run(good_a, good_b, with(10, 3, 3)), faults::instruction_type_f16, {"B", 3}},
           {run(good_a, good_b, good | 1u << 29), faults::instruction_reserved},
           {run(good_a, good_b, good | 1u << 31), faults::instruction_shifts},
           {run(good_a, good_b, good | 1u << 3), faults::instruction_saturates},
           {run(good_a, good_b, good | 4), faults::instruction_sparse},
           {run(good_a, good_b, with(24, 5, 16)), faults::shape_of_one, {256}},
           {run(good_a, good_b, with(17, 6, 0)), faults::shape_of_one, {0}},
           {run(good_a, good_b, with(17, 6, 33)), faults::shape_of_one, {264}},
           {run(good_a, good_b, with(4, 2, 2)), faults::instruction_accumulators, {2}},
           {run(good_a, good_b, with(4, 2, 0)), faults::instruction_f16_of_bf16},
           {run(good_a, good_b, good, 64, "kind::tf32"), faults::instruction_type_tf32},
           {run(good_a, good_b, good, 480), faults::mma_not_allocated, {"D", 480, 543}},
           {run(good_a, good_b, good, 64 | 32u << 16), faults::mma_d_lane, {32}},
       })
    expect_fault(each.outcome, each.fault, each.details);
}

TEST(Descriptors, SwizzleMustAgreeWithTheTensorMap) {
  Bench bench;
  const auto* tensor = bench.upload(std::vector<uint16_t>(128 * 64, 0x3F80));
  Source source;
  source.prologue =
      ".extern .shared .align 1024 .b8 box[];\n.shared .align 8 .b64 bar;\n.shared .align 4 .u32 address;\n";
  source.parameters = std::string(kMapParameter) + ", .param .u64 adesc";
  source.body =
      "mov.u32 %r9, bar; mov.u32 %r8, box; ld.param.u64 %rd6, [adesc]; mov.u64 %rd12, map; cvta.param.u64 %rd13, "
      "%rd12; setp.eq.u32 %p1, %r63, 0; @%p1 mbarrier.init.shared::cta.b64 [%r9], 1; "
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512; ld.shared.u32 %r16, [address]; @!%p1 "
      "bra sync;"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 16384; mov.u32 %r1, 0; "
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd13, {%r1, %r1}], [%r9]; "
      "wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra wait;"
      "tcgen05.mma.cta_group::1.kind::f16 [%r16], %rd6, %rd6, 136315024, 0; "
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9]; again: "
      "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 1; @!%p2 bra again; sync: bar.warp.sync -1; "
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r16, 512;";
  const auto run = [&](int tma, Swizzle mma) {
    OperandLayout layout = dense_layout(mma, false, 2, 128, kBase);
    layout.stride = 1024;
    return bench.launch(source, {.block = {32, 1, 1}, .dynamic_smem = 16384},
                        make_map({.address = tensor, .dims = {64, 128}, .box = {64, 128}, .swizzle = tma}),
                        tcgen05_descriptor(layout));
  };
  expect_success(run(3, Swizzle::B128));
  expect_fault(run(0, Swizzle::B128), faults::operand_with_other_swizzle, {"128B swizzle", "no swizzle"});
  expect_fault(run(3, Swizzle::B64), faults::operand_with_other_swizzle, {"64B swizzle", "128B swizzle"});
}

}  // namespace
}  // namespace sim::test
