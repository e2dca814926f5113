// Hopper's wgmma with BF16: layouts, scales, order, misuse. programs.instructions compares its other types, its sparse
// form and all of mma.sync with an H200.
#include "support.h"
#include "tensor_support.h"

namespace sim::test {
namespace {

constexpr uint32_t kBase = 0x400;  // of dynamic shared memory, for there is no other

std::string list_of(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + name + std::to_string(i);
  return text + "}";
}

struct Case {
  int n = 64;
  Swizzle a_swizzle = Swizzle::B128, b_swizzle = Swizzle::B128;
  bool a_mn = false, b_mn = false, a_in_registers = false, accumulate = true, fast = false;
  int scale_a = 1, scale_b = 1;
  uint32_t start_offset = 0, base_offset = 0;
};

std::string instruction(const Case& c) {
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(c.n) + "k16.f32.bf16.bf16 " + list_of("d", c.n / 2) +
         ", " + (c.a_in_registers ? "{%r40, %r41, %r42, %r43}" : "%rd6") + ", %rd7, %p5, " + std::to_string(c.scale_a) +
         ", " + std::to_string(c.scale_b) +
         (c.a_in_registers ? ""
          : c.a_mn         ? ", 1"
                           : ", 0") +
         (c.b_mn ? ", 1;" : ", 0;");
}

/// One warpgroup: fills shared memory, loads accumulators (and A's registers), runs `body`, writes the accumulators
/// back.
Source warpgroup_kernel(const Case& c, const std::string& body, uint32_t shared_bytes) {
  const int registers = c.n / 2;
  Source source;
  source.target = "sm_90a";
  source.prologue = ".extern .shared .align 1024 .b8 box[];\n";
  source.parameters =
      ".param .u64 from, .param .u64 c, .param .u64 out, .param .u64 adesc, .param .u64 bdesc, .param .u32 acc, .param "
      ".u64 aregs";
  source.body = ".reg .b32 d<" + std::to_string(registers) +
                ">; mov.u32 %r2, %tid.x; mov.u32 %r8, box; ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [c]; "
                "ld.param.u64 %rd3, [out]; ld.param.u64 %rd6, [adesc]; ld.param.u64 %rd7, [bdesc]; ld.param.u64 %rd8, "
                "[aregs]; ld.param.u32 %r32, [acc]; setp.ne.u32 %p5, %r32, 0;\n"
                "shl.b32 %r10, %r2, 4; fill: setp.ge.u32 %p1, %r10, " +
                std::to_string(shared_bytes) +
                "; @%p1 bra filled; cvt.u64.u32 %rd5, %r10; add.s64 %rd5, %rd1, %rd5; ld.global.v4.u32 {%r11, %r12, "
                "%r13, %r14}, [%rd5]; add.u32 %r15, %r8, %r10; st.shared.v4.u32 [%r15], {%r11, %r12, %r13, %r14}; "
                "add.u32 %r10, %r10, 2048; bra fill; filled:\n"
                "mul.wide.u32 %rd4, %r2, " +
                std::to_string(4 * registers) +
                "; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4; mul.wide.u32 %rd4, %r2, 16; add.s64 %rd8, %rd8, "
                "%rd4; ld.global.v4.u32 {%r40, %r41, %r42, %r43}, [%rd8];\n";
  for (int i = 0; i < registers; ++i)
    source.body += "ld.global.u32 d" + std::to_string(i) + ", [%rd2+" + std::to_string(4 * i) + "];\n";
  source.body += "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n" + body + "\n";
  for (int i = 0; i < registers; ++i)
    source.body += "st.global.u32 [%rd3+" + std::to_string(4 * i) + "], d" + std::to_string(i) + ";\n";
  return source;
}
const std::string kFinish = " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

struct Result {
  Outcome outcome;
  std::vector<uint32_t> registers;
};
Result run_warpgroup(const Case& c, const std::string& body, const std::vector<uint8_t>& shared,
                     const std::vector<uint32_t>& start, uint64_t a, uint64_t b,
                     const std::vector<uint32_t>& a_registers, Options options = {}, std::string_view gpu = "h200",
                     bool for_debugging = false) {
  if (c.fast) options.arithmetic = Options::Arithmetic::Fast;
  Bench bench(options, gpu);
  const auto* from = bench.upload(shared);
  const auto* accumulators = bench.upload(start);
  const auto* fragments = bench.upload(a_registers);
  auto* out = bench.allocate<uint32_t>(start.size());
  Result result;
  Source kernel = warpgroup_kernel(c, body, static_cast<uint32_t>(shared.size()));
  if (for_debugging) kernel.target += ", debug";
  result.outcome = bench.launch(kernel, {.block = {128, 1, 1}, .dynamic_smem = shared.size()}, from, accumulators, out,
                                a, b, static_cast<uint32_t>(c.accumulate), fragments);
  result.registers.assign(out, out + start.size());
  return result;
}

uint32_t output(const Case& c, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t start) {
  const Element type = Element::BF16;
  if (c.fast) return fast_output(type, type, a, b, c.scale_a < 0, c.scale_b < 0, start, c.accumulate);
  return exact_output(type, type, a, b, c.scale_a < 0, c.scale_b < 0, start, c.accumulate);
}

/// Of D, behind accumulator `i` of those of all threads, thread after thread.
size_t row_of(const Case& c, size_t i) {
  const size_t per_thread = static_cast<size_t>(c.n) / 2, thread = i / per_thread, lane = thread % 32;
  return 16 * (thread / 32) + lane / 4 + 8 * (i % per_thread / 2 % 2);
}
size_t column_of(const Case& c, size_t i) {
  const size_t per_thread = static_cast<size_t>(c.n) / 2, thread = i / per_thread, within = i % per_thread;
  return 8 * (within / 4) + 2 * (thread % 4) + within % 2;
}

std::vector<uint32_t> random_accumulators(const Case& c) {
  Dice dice(31);
  std::vector<uint32_t> start(static_cast<size_t>(128 * c.n / 2));
  for (uint32_t& each : start) each = bits_of(dice.real(-3, 3));
  return start;
}

void check_wgmma(const Case& c, Options options = {}) {
  OperandLayout a = dense_layout(c.a_swizzle, c.a_mn, 2, 64, kBase + c.start_offset),
                b = dense_layout(c.b_swizzle, c.b_mn, 2, c.n, kBase + 20 * 1024 + c.start_offset);
  a.base_offset = b.base_offset = c.base_offset;
  std::vector<uint8_t> shared(64 * 1024), fragment_bytes(128 * 16);
  fill_elements(shared, Element::BF16, 3), fill_elements(fragment_bytes, Element::BF16, 6);
  std::vector<uint32_t> fragments(512);
  std::memcpy(fragments.data(), fragment_bytes.data(), fragment_bytes.size());
  const std::vector<uint32_t> start = random_accumulators(c);
  const Result result = run_warpgroup(c, instruction(c) + kFinish, shared, start, wgmma_descriptor(a),
                                      wgmma_descriptor(b), fragments, options);
  ASSERT_EQ(result.outcome.status, Status::Success) << result.outcome.report;
  std::vector<std::vector<uint32_t>> rows, columns;
  for (size_t m = 0; m < 64; ++m) {
    rows.push_back(read_row(shared, kBase, a, Element::BF16, static_cast<int>(m)));
    // Register j of a lane: row lane / 4 + 8 (j % 2), elements of K from 8 (j / 2) + 2 (lane % 4) on.
    for (size_t k = 0; k < 16 && c.a_in_registers; ++k) {
      const size_t lane = 32 * (m / 16) + 4 * (m % 8) + k / 2 % 4, j = m % 16 / 8 + 2 * (k / 8);
      rows[m][k] = fragments[4 * lane + j] >> (16 * (k % 2)) & 0xFFFF;
    }
  }
  for (int n = 0; n < c.n; ++n) columns.push_back(read_row(shared, kBase, b, Element::BF16, n));
  int wrong = 0;
  for (size_t i = 0; i < start.size() && wrong < 3; ++i) {
    const uint32_t expected = output(c, rows[row_of(c, i)], columns[column_of(c, i)], start[i]);
    if (result.registers[i] == expected) continue;
    ++wrong;
    ADD_FAILURE() << instruction(c).substr(0, 60) << " register " << i << std::hex << ": " << result.registers[i]
                  << ", not " << expected;
  }
}

TEST(Wgmma, EveryN) {
  for (int n = 8; n <= 256; n += 8) {
    check_wgmma({.n = n, .accumulate = n % 16 == 0});
    if (n % 32 == 0) check_wgmma({.n = n, .a_in_registers = true});
  }
}

TEST(Wgmma, SwizzlesAndTransposedOperands) {
  const Swizzle swizzles[] = {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128};
  for (size_t i = 0; i < 4; ++i) {
    for (const bool a_mn : {false, true}) {
      for (const bool b_mn : {false, true}) {
        Case c{.n = 128};
        c.a_mn = a_mn, c.b_mn = b_mn, c.a_swizzle = swizzles[i], c.b_swizzle = swizzles[(i + 1 + (a_mn ? 1 : 0)) % 4];
        check_wgmma(c);
        if (!a_mn) c.a_in_registers = true, check_wgmma(c);
      }
    }
  }
}

TEST(Wgmma, StartsAndBaseOffsetsInsideTheAtom) {
  for (const Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    for (uint32_t start = 0; start < 1024; start += 128) {
      for (const uint32_t base : {0u, 1u, 5u}) {
        Case c{.n = 16};
        c.a_swizzle = c.b_swizzle = swizzle, c.start_offset = start, c.base_offset = base;
        check_wgmma(c);
      }
    }
  }
  for (const uint32_t advance : {32, 64, 96, 112}) {  // inside the 128-byte line, and past its end
    Case c{.n = 32};
    c.start_offset = advance;
    check_wgmma(c);
  }
}

TEST(Wgmma, ScalesAndArithmetics) {
  check_wgmma({.scale_a = -1});
  check_wgmma({.scale_b = -1});
  check_wgmma({.accumulate = false, .scale_a = -1, .scale_b = -1});
  check_wgmma({.n = 256, .fast = true});
  check_wgmma({.n = 64, .a_in_registers = true, .fast = true});
}

TEST(Wgmma, ChainsRunInOrderInEverySchedule) {
  std::vector<uint8_t> shared(64 * 1024);
  fill_elements(shared, Element::BF16, 3);
  const Case c{.n = 64};
  const OperandLayout a = dense_layout(Swizzle::B128, false, 2, 64, kBase),
                      b = dense_layout(Swizzle::B128, false, 2, 64, kBase + 16 * 1024);
  const std::vector<uint32_t> start = random_accumulators(c);
  std::string body;
  for (int i = 0; i < 4; ++i) {
    // Two groups in flight; the second is waited for first by leaving one pending.
    body += instruction(c) + " add.s64 %rd6, %rd6, 2; add.s64 %rd7, %rd7, 2; wgmma.commit_group.sync.aligned;" +
            (i == 2 ? " wgmma.wait_group.sync.aligned 1;" : "");
  }
  body += "wgmma.wait_group.sync.aligned 0;";
  for (const Options& options : all_schedules()) {
    const Result result = run_warpgroup(c, body, shared, start, wgmma_descriptor(a), wgmma_descriptor(b),
                                        std::vector<uint32_t>(512), options);
    ASSERT_EQ(result.outcome.status, Status::Success) << result.outcome.report;
    for (size_t i = 0; i < start.size(); i += 11) {
      uint32_t value = start[i];
      for (uint32_t step = 0; step < 4; ++step) {
        OperandLayout as = a, bs = b;
        as.start += 32 * step, bs.start += 32 * step;
        value = output(c, read_row(shared, kBase, as, Element::BF16, static_cast<int>(row_of(c, i))),
                       read_row(shared, kBase, bs, Element::BF16, static_cast<int>(column_of(c, i))), value);
      }
      ASSERT_EQ(result.registers[i], value);
    }
  }
}

TEST(Wgmma, MisuseIsExplained) {
  std::vector<uint8_t> shared(64 * 1024);
  const Case c{.n = 64};
  const OperandLayout a = dense_layout(Swizzle::B128, false, 2, 64, kBase),
                      b = dense_layout(Swizzle::B128, false, 2, 64, kBase + 16 * 1024);
  const std::vector<uint32_t> start = random_accumulators(c), nothing(512);
  const uint64_t da = wgmma_descriptor(a), db = wgmma_descriptor(b);
  Options latest;
  latest.schedule = Options::Schedule::Latest;
  const auto run = [&](const std::string& body, uint64_t desc_a, uint64_t desc_b, Options options = {}) {
    return run_warpgroup(c, body, shared, start, desc_a, desc_b, nothing, options).outcome;
  };
  const std::string mma = instruction(c);
  expect_success(run(mma + kFinish, da, db, latest));
  expect_fault(run(mma + " add.f32 %f1, d0, d0;" + kFinish, da, db, latest), faults::register_of_unfinished);
  expect_fault(run(mma + " wgmma.commit_group.sync.aligned; st.global.u32 [%rd3], d5; wgmma.wait_group.sync.aligned 0;",
                   da, db, latest),
               faults::register_of_unfinished);
  expect_fault(run(mma + " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;", da, db, latest),
               faults::register_of_unfinished);
  // Compiled with nvcc -G: ptxas waits before the next instruction that uses one.
  expect_success(
      run_warpgroup(c, mma + " add.f32 %f1, d0, d0;" + kFinish, shared, start, da, db, nothing, latest, "h200", true)
          .outcome);
  expect_success(run(mma + " mov.b32 %r50, d0;" + kFinish + " add.u32 %r51, %r50, 1;", da, db,
                     latest));  // a move of an accumulator may be there
  expect_fault(run(mma + kFinish, tcgen05_descriptor(a), db), faults::descriptor_of_tcgen05, {"A"});
  expect_fault(run(mma + kFinish, da, db | 1ull << 53), faults::wgmma_descriptor_reserved_bits, {"B"});
  expect_fault(run(mma + kFinish, da, (db & ~uint64_t{0x3FFF}) | 0x3FF0), faults::operand_outside_shared, {"B"});
  expect_fault(run("shr.u32 %r3, %r2, 5; setp.eq.u32 %p6, %r3, 2; @%p6 bra other; " + mma + kFinish +
                       " bra end; other: wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; end:",
                   da, db),
               faults::warpgroup_sequences_differ);
  expect_fault(run("setp.gt.u32 %p6, %r2, 63; @%p6 add.s64 %rd6, %rd6, 2; " + mma + kFinish, da, db),
               faults::warpgroup_operands_differ);
  expect_wait(run("setp.gt.u32 %p6, %r2, 95; @%p6 exit; " + mma + kFinish, da, db), Wait::WgmmaGroup);
  expect_fault(run_warpgroup(c, mma + kFinish, shared, start, da, db, nothing, {}, "b200").outcome, faults::no_wgmma);
}

TEST(Wgmma, ReadsItsOperandsWhenItRuns) {
  Options latest;
  latest.schedule = Options::Schedule::Latest;
  std::vector<uint8_t> shared(64 * 1024);
  fill_elements(shared, Element::BF16, 3);
  const Case c{.n = 64};
  const OperandLayout a = dense_layout(Swizzle::B128, false, 2, 64, kBase),
                      b = dense_layout(Swizzle::B128, false, 2, 64, kBase + 16 * 1024);
  const std::vector<uint32_t> start = random_accumulators(c);
  const Result good = run_warpgroup(c, instruction(c) + kFinish, shared, start, wgmma_descriptor(a),
                                    wgmma_descriptor(b), std::vector<uint32_t>(512), latest);
  const Result bad =
      run_warpgroup(c, instruction(c) + " mov.u32 %r50, 0; st.shared.v4.u32 [%r8], {%r50, %r50, %r50, %r50};" + kFinish,
                    shared, start, wgmma_descriptor(a), wgmma_descriptor(b), std::vector<uint32_t>(512), latest);
  expect_success(good.outcome);
  expect_success(bad.outcome);
  EXPECT_NE(good.registers, bad.registers);
}

}  // namespace
}  // namespace sim::test
