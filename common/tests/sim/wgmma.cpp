// Hopper's wgmma, and mma.sync.
#include <algorithm>
#include <cmath>

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
  Element a = Element::BF16, b = Element::BF16;
  Swizzle a_swizzle = Swizzle::B128, b_swizzle = Swizzle::B128;
  bool a_mn = false, b_mn = false, a_in_registers = false, accumulate = true, fast = false;
  int scale_a = 1, scale_b = 1;
  int result = 1;  ///< 0 F16, 1 F32, 2 S32
  uint32_t start_offset = 0, base_offset = 0;
};

const char* type_name(Element element) {
  switch (element) {
    case Element::BF16: return "bf16";
    case Element::F16: return "f16";
    case Element::TF32: return "tf32";
    case Element::E4M3: return "e4m3";
    case Element::E5M2: return "e5m2";
    case Element::S8: return "s8";
    default: return "u8";
  }
}
bool is_integer(const Case& c) { return c.result == 2; }

std::string instruction(const Case& c) {
  const int k = 32 / bytes_of(c.a), registers = c.result == 0 ? c.n / 4 : c.n / 2;
  std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(c.n) + "k" + std::to_string(k) +
                     (c.result == 0   ? ".f16."
                      : c.result == 1 ? ".f32."
                                      : ".s32.") +
                     type_name(c.a) + "." + type_name(c.b) + " " + list_of("d", registers) + ", " +
                     (c.a_in_registers ? "{%r40, %r41, %r42, %r43}" : "%rd6") + ", %rd7, %p5";
  if (!is_integer(c)) text += ", " + std::to_string(c.scale_a) + ", " + std::to_string(c.scale_b);
  if (bytes_of(c.a) == 2)
    text += std::string(c.a_in_registers ? "" : c.a_mn ? ", 1" : ", 0") + (c.b_mn ? ", 1" : ", 0");
  return text + ";";
}

/// One warpgroup: fills shared memory, loads accumulators (and A's registers), runs `body`, writes the accumulators
/// back.
Source warpgroup_kernel(const Case& c, const std::string& body, uint32_t shared_bytes) {
  const int registers = c.result == 0 ? c.n / 4 : c.n / 2;
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
  LaunchConfig config;
  config.block = {128, 1, 1}, config.dynamic_smem = shared.size();
  Result result;
  Source kernel = warpgroup_kernel(c, body, static_cast<uint32_t>(shared.size()));
  if (for_debugging) kernel.target += ", debug";
  result.outcome =
      bench.launch(kernel, config, from, accumulators, out, a, b, static_cast<uint32_t>(c.accumulate), fragments);
  result.registers.assign(out, out + start.size());
  return result;
}

uint32_t output(const Case& c, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t start) {
  if (c.result == 2) return integer_output(c.a, c.b, a, b, start, c.accumulate);
  if (c.fast) return fast_output(c.a, c.b, a, b, c.scale_a < 0, c.scale_b < 0, start, c.accumulate);
  const int fraction_bits = bytes_of(c.a) == 1 ? 13 : 25;  // FP8 on Hopper
  return exact_output(c.a, c.b, a, b, c.scale_a < 0, c.scale_b < 0, start, c.accumulate, fraction_bits, c.result == 0);
}

std::vector<uint32_t> random_accumulators(const Case& c) {
  Dice dice(31);
  std::vector<uint32_t> start(static_cast<size_t>(128 * (c.result == 0 ? c.n / 4 : c.n / 2)));
  for (uint32_t& each : start) each = c.result == 0 ? dice.word() & 0x87FF'87FF : bits_of(dice.real(-3, 3));
  return start;
}

void check_wgmma(const Case& c, Options options = {}) {
  const int size = bytes_of(c.a);
  OperandLayout a = dense_layout(c.a_swizzle, c.a_mn, size, 64, kBase + c.start_offset),
                b = dense_layout(c.b_swizzle, c.b_mn, size, c.n, kBase + 20 * 1024 + c.start_offset);
  a.base_offset = b.base_offset = c.base_offset;
  std::vector<uint8_t> shared(20 * 1024), high(44 * 1024);
  fill_elements(shared, c.a, 3), fill_elements(high, c.b, 4);
  shared.insert(shared.end(), high.begin(), high.end());
  std::vector<uint8_t> fragment_bytes(128 * 16);
  fill_elements(fragment_bytes, c.a, 6);
  std::vector<uint32_t> fragments(512);
  std::memcpy(fragments.data(), fragment_bytes.data(), fragment_bytes.size());
  const std::vector<uint32_t> start = random_accumulators(c);
  const Result result = run_warpgroup(c, instruction(c) + kFinish, shared, start, wgmma_descriptor(a),
                                      wgmma_descriptor(b), fragments, options);
  ASSERT_EQ(result.outcome.status, Status::Success) << result.outcome.report;
  int wrong = 0;
  const size_t per_thread = start.size() / 128;
  std::vector<std::vector<uint32_t>> rows;
  for (int n = 0; n < c.n; ++n) rows.push_back(read_row(shared, kBase, b, c.b, n));
  for (size_t t = 0; t < 128; ++t) {
    const size_t w = t / 32, l = t % 32;
    for (size_t i = 0; i < static_cast<size_t>(c.n) / 2 && wrong < 3; ++i) {
      const size_t row = 16 * w + l / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (l % 4) + i % 2;
      std::vector<uint32_t> a_row;
      if (c.a_in_registers) {
        // Register j: row l/4 + 8 (j % 2), bytes of K from 16 (j / 2) + 4 (l % 4).
        std::vector<uint8_t> bytes(32);
        for (size_t j = 0; j < 4; ++j) {
          for (size_t q = 0; q < 4; ++q) {
            if (j % 2 == row % 16 / 8)
              std::memcpy(&bytes[16 * (j / 2) + 4 * q], &fragments[4 * (32 * w + 4 * (row % 8) + q) + j], 4);
          }
        }
        for (size_t k = 0; k < 32 / static_cast<size_t>(size); ++k) {
          uint32_t bits = 0;
          std::memcpy(&bits, &bytes[k * static_cast<size_t>(size)], static_cast<size_t>(size));
          a_row.push_back(bits);
        }
      } else {
        a_row = read_row(shared, kBase, a, c.a, static_cast<int>(row));
      }
      const auto field = [&](const std::vector<uint32_t>& registers) {
        if (c.result != 0) return registers[t * per_thread + i];
        return registers[t * per_thread + i / 2] >> (16 * (i % 2)) & 0xFFFF;
      };
      const uint32_t expected = output(c, a_row, rows[column], field(start));
      if (field(result.registers) == expected) continue;
      ++wrong;
      ADD_FAILURE() << instruction(c).substr(0, 60) << " thread " << t << " register " << i << std::hex << ": "
                    << field(result.registers) << ", not " << expected;
    }
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

TEST(Wgmma, EveryType) {
  const auto each = [](Element a, Element b, int result) {
    for (const bool registers : {false, true}) {
      Case c{.n = 96, .a = a, .b = b};
      c.result = result, c.a_in_registers = registers;
      check_wgmma(c);
    }
  };
  each(Element::BF16, Element::BF16, 1);
  each(Element::F16, Element::F16, 1);
  each(Element::F16, Element::F16, 0);
  each(Element::TF32, Element::TF32, 1);
  each(Element::E4M3, Element::E5M2, 1);
  each(Element::E5M2, Element::E4M3, 0);
  each(Element::S8, Element::S8, 2);
  each(Element::U8, Element::S8, 2);
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
  std::vector<uint32_t> first;
  for (const Options& options : all_schedules()) {
    const Result result = run_warpgroup(c, body, shared, start, wgmma_descriptor(a), wgmma_descriptor(b),
                                        std::vector<uint32_t>(512), options);
    ASSERT_EQ(result.outcome.status, Status::Success) << result.outcome.report;
    for (size_t t = 0; t < 128; t += 5) {
      for (size_t i = 0; i < 32; i += 3) {
        const size_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
        uint32_t value = start[t * 32 + i];
        for (uint32_t step = 0; step < 4; ++step) {
          OperandLayout as = a, bs = b;
          as.start += 32 * step, bs.start += 32 * step;
          value = exact_output(
              Element::BF16, Element::BF16, read_row(shared, kBase, as, Element::BF16, static_cast<int>(row)),
              read_row(shared, kBase, bs, Element::BF16, static_cast<int>(column)), false, false, value, true);
        }
        ASSERT_EQ(result.registers[t * 32 + i], value);
      }
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
  expect_failure(run(mma + " add.f32 %f1, d0, d0;" + kFinish, da, db, latest), Status::LaunchFailure,
                 {"a register is used", "wgmma.wait_group"});
  expect_failure(
      run(mma + " wgmma.commit_group.sync.aligned; st.global.u32 [%rd3], d5; wgmma.wait_group.sync.aligned 0;", da, db,
          latest),
      Status::LaunchFailure, {"a register is used"});
  expect_failure(run(mma + " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;", da, db, latest),
                 Status::LaunchFailure, {"a register is used"});
  // Compiled with nvcc -G: ptxas waits before the next instruction that uses one.
  expect_success(
      run_warpgroup(c, mma + " add.f32 %f1, d0, d0;" + kFinish, shared, start, da, db, nothing, latest, "h200", true)
          .outcome);
  expect_success(run(mma + " mov.b32 %r50, d0;" + kFinish + " add.u32 %r51, %r50, 1;", da, db,
                     latest));  // a move of an accumulator may be there
  expect_failure(run(mma + kFinish, tcgen05_descriptor(a), db), Status::IllegalInstruction,
                 {"descriptor of A", "reserved bits", "bit 46 belongs to tcgen05"});
  expect_failure(run(mma + kFinish, da, db | 1ull << 53), Status::IllegalInstruction,
                 {"descriptor of B", "reserved bits"});
  expect_failure(run(mma + kFinish, da, (db & ~uint64_t{0x3FFF}) | 0x3FF0), Status::IllegalAddress,
                 {"operand B of the MMA reaches shared offset"});
  expect_failure(run("shr.u32 %r3, %r2, 5; setp.eq.u32 %p6, %r3, 2; @%p6 bra other; " + mma + kFinish +
                         " bra end; other: wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; end:",
                     da, db),
                 Status::LaunchFailure, {"different sequences"});
  expect_failure(run("setp.gt.u32 %p6, %r2, 63; @%p6 add.s64 %rd6, %rd6, 2; " + mma + kFinish, da, db),
                 Status::LaunchFailure, {"different descriptors"});
  expect_failure(run("setp.gt.u32 %p6, %r2, 95; @%p6 exit; " + mma + kFinish, da, db), Status::LaunchTimeout,
                 {"deadlock", "has not issued its part"});
  expect_failure(run_warpgroup(c, mma + kFinish, shared, start, da, db, nothing, {}, "b200").outcome,
                 Status::IllegalInstruction, {"has no wgmma"});
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

// ---- mma.sync

/// D = A * B + D by one mma.sync of this form. Each lane finds its registers, of A, of B and of C, side by side in
/// `in`, and leaves those of D in `out`; `type` is theirs, of `bytes` bytes.
Source product_of_fragments(const std::string& form, const std::string& type, size_t bytes, size_t a_count,
                            size_t b_count, size_t c_count) {
  Source source;
  source.parameters = ".param .u64 in, .param .u64 out";
  const auto declare = [&](const char* name) { return ".reg ." + type + " " + name + "<8>; "; };
  const auto step = [&](size_t count) { return std::to_string(bytes * count); };
  source.body = declare("a") + declare("b") + declare("c") +
                "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, " +
                step(a_count + b_count + c_count) + "; add.s64 %rd1, %rd1, %rd3; mul.wide.u32 %rd3, %r1, " +
                step(c_count) + "; add.s64 %rd2, %rd2, %rd3;\n";
  size_t at = 0;
  for (const auto& [name, count] : {std::pair<std::string, size_t>{"a", a_count}, {"b", b_count}, {"c", c_count}}) {
    for (size_t i = 0; i < count; ++i)
      source.body += "ld.global." + type + " " + name + std::to_string(i) + ", [%rd1+" + step(at++) + "]; ";
  }
  const auto list = [](const char* name, size_t count) { return list_of(name, static_cast<int>(count)); };
  source.body += "mma.sync.aligned." + form + " " + list("c", c_count) + ", " + list("a", a_count) + ", " +
                 list("b", b_count) + ", " + list("c", c_count) + ";\n";
  for (size_t i = 0; i < c_count; ++i)
    source.body += "st.global." + type + " [%rd2+" + step(i) + "], c" + std::to_string(i) + "; ";
  return source;
}

/// FP8 in mma.sync: as F16, the lower halves of the registers, then the upper ones; then C (SASS of ptxas 13.0, and an
/// H200).
uint32_t fp8_output(Element a_element, Element b_element, const std::vector<uint32_t>& a,
                    const std::vector<uint32_t>& b, uint32_t c) {
  const auto as_half = [](Element element, uint32_t code) -> uint32_t {
    return element == Element::E5M2
               ? code << 8
               : std::bit_cast<uint16_t>(static_cast<_Float16>(element_value(Element::E4M3, code)));
  };
  uint32_t sum = 0;
  for (size_t part = 0; part < 2; ++part) {
    std::vector<uint32_t> x, y;
    for (size_t k = 0; k < a.size(); ++k) {
      if (k / 2 % 2 == part) x.push_back(as_half(a_element, a[k])), y.push_back(as_half(b_element, b[k]));
    }
    sum = exact_output(Element::F16, Element::F16, x, y, false, false, sum, part == 1);
  }
  const float total = float_of(c) + float_of(sum);
  return std::isnan(total) ? 0x7FFF'FFFF : bits_of(total);
}

TEST(MmaSync, ShapesAndTypes) {
  struct Form {
    int k;
    Element a, b;
    int result;
  };
  const Form forms[] = {{16, Element::BF16, Element::BF16, 1}, {8, Element::BF16, Element::BF16, 1},
                        {16, Element::F16, Element::F16, 1},   {8, Element::F16, Element::F16, 1},
                        {16, Element::F16, Element::F16, 0},   {8, Element::TF32, Element::TF32, 1},
                        {4, Element::TF32, Element::TF32, 1},  {32, Element::E4M3, Element::E4M3, 1},
                        {32, Element::E5M2, Element::E4M3, 1}, {32, Element::S8, Element::S8, 2},
                        {32, Element::U8, Element::S8, 2},     {16, Element::S8, Element::U8, 2}};
  for (const Form& f : forms) {
    const size_t size = static_cast<size_t>(bytes_of(f.a)), k = static_cast<size_t>(f.k), a_count = k * size / 8,
                 b_count = k * size / 16, c_count = f.result == 0 ? 2 : 4;
    Bench bench;
    std::vector<uint8_t> a_bytes(32 * a_count * 4), b_bytes(32 * b_count * 4);
    fill_elements(a_bytes, f.a, 5), fill_elements(b_bytes, f.b, 6);
    std::vector<uint32_t> in;  // per lane: a, b, c
    Dice dice(4);
    for (size_t lane = 0; lane < 32; ++lane) {
      const auto put = [&](const std::vector<uint8_t>& bytes, size_t count) {
        for (size_t i = 0; i < count; ++i) {
          uint32_t word;
          std::memcpy(&word, &bytes[(lane * count + i) * 4], 4);
          in.push_back(word);
        }
      };
      put(a_bytes, a_count), put(b_bytes, b_count);
      for (size_t i = 0; i < c_count; ++i)
        in.push_back(f.result == 0 ? dice.word() & 0x87FF'87FF : bits_of(dice.real(-2, 2)));
    }
    const auto* from = bench.upload(in);
    auto* out = bench.allocate<uint32_t>(32 * c_count);
    const size_t each = a_count + b_count + c_count;
    const std::string type = f.result == 0 ? "f16" : f.result == 1 ? "f32" : "s32";
    const Source source = product_of_fragments(
        "m16n8k" + std::to_string(f.k) + ".row.col." + type + "." + type_name(f.a) + "." + type_name(f.b) + "." + type,
        "b32", 4, a_count, b_count, c_count);
    LaunchConfig config;
    config.block = {32, 1, 1};
    const Outcome outcome = bench.launch(source, config, from, out);
    ASSERT_EQ(outcome.status, Status::Success) << outcome.report;
    // The fragments of the ISA: A row = l/4 + 8 (i % 2), bytes of K from 16 (i / 2) + 4 (l % 4); B column = l/4, bytes
    // from 16 i + 4 (l % 4); C row = l/4 + 8 (i / 2), column = 2 (l % 4) + i % 2.
    std::vector<std::vector<uint8_t>> a_rows(16, std::vector<uint8_t>(64)), b_columns(8, std::vector<uint8_t>(64));
    for (size_t lane = 0; lane < 32; ++lane) {
      for (size_t i = 0; i < a_count; ++i)
        std::memcpy(&a_rows[lane / 4 + 8 * (i % 2)][16 * (i / 2) + 4 * (lane % 4)], &in[lane * each + i], 4);
      for (size_t i = 0; i < b_count; ++i)
        std::memcpy(&b_columns[lane / 4][16 * i + 4 * (lane % 4)], &in[lane * each + a_count + i], 4);
    }
    const auto elements = [&](const std::vector<uint8_t>& bytes) {
      std::vector<uint32_t> values(k);
      for (size_t i = 0; i < k; ++i) std::memcpy(&values[i], &bytes[i * size], size);
      return values;
    };
    for (size_t lane = 0; lane < 32; ++lane) {
      for (size_t i = 0; i < 4; ++i) {
        const std::vector<uint32_t> a = elements(a_rows[lane / 4 + 8 * (i / 2)]),
                                    b = elements(b_columns[2 * (lane % 4) + i % 2]);
        const auto field = [&](const uint32_t* registers) {
          return f.result == 0 ? registers[i / 2] >> (16 * (i % 2)) & 0xFFFF : registers[i];
        };
        const uint32_t start = field(&in[lane * each + a_count + b_count]);
        const bool is_fp8 = f.a == Element::E4M3 || f.a == Element::E5M2;
        const uint32_t expected = f.result == 2 ? integer_output(f.a, f.b, a, b, start, true)
                                  : is_fp8      ? fp8_output(f.a, f.b, a, b, start)
                                           : exact_output(f.a, f.b, a, b, false, false, start, true, 25, f.result == 0);
        EXPECT_EQ(field(out + lane * c_count), expected)
            << "k" << f.k << " " << type_name(f.a) << " lane " << lane << " register " << i;
      }
    }
  }
}

/// mma.sp by the ISA's tables: which lane's metadata are those of a row and of a chunk of K, and what they select.
struct SparseForm {
  const char* text;
  int element_bits, k, selector;
  bool selects_pairs, selects_one;  ///< pairs of eight elements, one of two; else two of four
  /// Lane of the group of four, and bit, with the metadata of `row` and of chunk `i` of K.
  int (*lane)(int row, int i);
  int (*bit)(int row, int i);
};
TEST(MmaSp, MetadataByTheTablesOfTheIsa) {
  const auto halves = [](int row, int i) { return 4 * (i % 4) + (row >= 8 ? 16 : 0); };
  const auto whole = [](int, int i) { return 4 * (i % 8); };
  const SparseForm forms[] = {
      {"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 2, false, false, [](int, int) { return 2; }, halves},
      {"m16n8k32.row.col.f32.f16.f16.f32", 16, 32, 1, false, false, [](int, int i) { return 2 + i / 4; }, halves},
      {"m16n8k8.row.col.f32.tf32.tf32.f32", 32, 8, 3, false, true, [](int, int) { return 3; }, halves},
      {"m16n8k16.row.col.f32.tf32.tf32.f32", 32, 16, 0, false, true, [](int, int i) { return i / 4; }, halves},
      {"m16n8k32.row.col.s32.s8.s8.s32", 8, 32, 1, false, false, [](int row, int) { return 2 + row / 8; }, whole},
      {"m16n8k64.row.col.s32.s8.s8.s32", 8, 64, 0, false, false, [](int row, int i) { return i / 8 * 2 + row / 8; },
       whole},
      {"m16n8k64.row.col.s32.s4.s4.s32", 4, 64, 0, true, false, [](int row, int) { return row / 8; }, whole},
      {"m16n8k128.row.col.s32.s4.s4.s32", 4, 128, 0, true, false, [](int row, int i) { return i / 8 * 2 + row / 8; },
       whole},
  };
  for (const SparseForm& f : forms) {
    // Patterns of small numbers: sums are exact.
    const int per_word = 32 / f.element_bits, chunk = f.selects_one ? 2 : f.selects_pairs ? 8 : 4;
    const int b_count = f.k / per_word / 4, a_count = b_count;  // half of K, twice the rows
    const auto code_of = [&](int number) -> uint32_t {
      if (f.element_bits == 16) return std::bit_cast<uint16_t>(static_cast<_Float16>(number));
      if (f.element_bits == 32) return bits_of(static_cast<float>(number));
      return static_cast<uint32_t>(number) & ((1u << f.element_bits) - 1);
    };
    Dice dice(11);
    int a[16][64], b[8][128], nibbles[16][16];
    uint32_t metadata[32];
    for (uint32_t& word : metadata) word = f.selects_one ? 0x4E4E'E4E4 : 0x94E8'D4C9;  // of lanes without a request
    for (int row = 0; row < 16; ++row) {
      for (int i = 0; i < f.k / 2; ++i) a[row][i] = dice.between(-3, 3);
      for (int i = 0; i < f.k / chunk; ++i) {
        const int two[6] = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
        nibbles[row][i] = f.selects_one ? two[dice.between(0, 1) * 5] : two[dice.between(0, 5)];
        uint32_t& word = metadata[row % 8 * 4 + f.lane(row, i)];
        const int at = f.bit(row, i);
        word = (word & ~(15u << at)) | static_cast<uint32_t>(nibbles[row][i]) << at;
      }
    }
    for (auto& column : b) {
      for (int i = 0; i < f.k; ++i) column[i] = dice.between(-3, 3);
    }
    std::vector<uint32_t> in;
    for (int lane = 0; lane < 32; ++lane) {
      const auto word_of = [&](const int* numbers, int first) {
        uint32_t word = 0;
        for (int e = 0; e < per_word; ++e) word |= code_of(numbers[first + e]) << (e * f.element_bits);
        return word;
      };
      for (int i = 0; i < a_count; ++i)
        in.push_back(word_of(a[lane / 4 + 8 * (i % 2)], (4 * (i / 2) + lane % 4) * per_word));
      for (int i = 0; i < b_count; ++i) in.push_back(word_of(b[lane / 4], (4 * i + lane % 4) * per_word));
      in.push_back(metadata[lane]);
    }
    Bench bench;
    const auto* from = bench.upload(in);
    auto* out = bench.allocate<uint32_t>(32 * 4);
    const int each = a_count + b_count + 1;
    Source source;
    source.parameters = ".param .u64 in, .param .u64 out";
    source.body =
        ".reg .b32 a<8>, b<8>, e, c; .reg .b32 d<4>; mov.b32 c, 0; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; "
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, " +
        std::to_string(4 * each) +
        "; add.u64 %rd1, %rd1, %rd3; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd2, %rd2, %rd3;\n";
    for (int i = 0; i < each; ++i) {
      const std::string name = i < a_count             ? "a" + std::to_string(i)
                               : i < a_count + b_count ? "b" + std::to_string(i - a_count)
                                                       : "e";
      source.body += "ld.global.b32 " + name + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    }
    source.body += std::string("mma.sp::ordered_metadata.sync.aligned.") + f.text + " {d0, d1, d2, d3}, " +
                   list_of("a", a_count) + ", " + list_of("b", b_count) + ", {c, c, c, c}, e, " +
                   std::to_string(f.selector) + "; st.global.v4.b32 [%rd2], {d0, d1, d2, d3};";
    LaunchConfig config;
    config.block = {32, 1, 1};
    const Outcome outcome = bench.launch(source, config, from, out);
    ASSERT_EQ(outcome.status, Status::Success) << f.text << outcome.report;
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        int sum = 0;
        for (int i = 0; i < f.k / 2; ++i) {
          const int here = i / (chunk / 2), within = i % (chunk / 2), nibble = nibbles[row][here];
          const int place = f.selects_one     ? nibble >> 3
                            : f.selects_pairs ? 2 * (nibble >> 2 * (within / 2) & 3) + within % 2
                                              : nibble >> 2 * within & 3;
          sum += a[row][i] * b[column][chunk * here + place];
        }
        const uint32_t got = out[(row % 8 * 4 + column / 2) * 4 + row / 8 * 2 + column % 2];
        EXPECT_EQ(f.element_bits > 8 ? static_cast<int>(float_of(got)) : static_cast<int>(got), sum)
            << f.text << " row " << row << " column " << column;
      }
    }
  }
}

TEST(Mma, Doubles) {
  // The fragments of the ISA for .f64, by its formulas; whole numbers, whose sums are exact, and one that rounds.
  for (const auto& [rows, depth] : {std::pair<size_t, size_t>{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
    const size_t a_count = rows * depth / 32, b_count = depth / 4, c_count = rows / 4;
    const auto row_of_a = [&, rows = rows](size_t lane, size_t i) { return lane / 4 + (rows == 16 && i % 2 ? 8 : 0); };
    const auto k_of_a = [&, rows = rows](size_t lane, size_t i) { return lane % 4 + 4 * (rows == 16 ? i / 2 : i); };
    Bench bench;
    std::vector<double> in;
    Dice dice(7);
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t i = 0; i < a_count + b_count + c_count; ++i) in.push_back(dice.between(-50, 50));
    in[a_count + b_count] = 0x1p-50;  // lane 0, c0: a sum that is rounded
    const auto* from = bench.upload(in);
    auto* out = bench.allocate<double>(32 * c_count);
    const size_t each = a_count + b_count + c_count;
    for (const std::string rounding : {"", ".rn", ".rp"}) {
      Source source = product_of_fragments(
          "m" + std::to_string(rows) + "n8k" + std::to_string(depth) + ".row.col" + rounding + ".f64.f64.f64.f64",
          "f64", 8, a_count, b_count, c_count);
      source.target = "sm_90a";
      LaunchConfig config;
      config.block = {32, 1, 1};
      const Outcome outcome = bench.launch(source, config, from, out);
      ASSERT_EQ(outcome.status, Status::Success) << outcome.report;
      std::vector<std::vector<double>> a(16, std::vector<double>(16)), b = a;
      for (size_t lane = 0; lane < 32; ++lane) {
        for (size_t i = 0; i < a_count; ++i) a[row_of_a(lane, i)][k_of_a(lane, i)] = in[lane * each + i];
        for (size_t i = 0; i < b_count; ++i) b[lane / 4][4 * i + lane % 4] = in[lane * each + a_count + i];
      }
      for (size_t lane = 0; lane < 32; ++lane) {
        for (size_t i = 0; i < c_count; ++i) {
          const size_t row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
          const double start = in[lane * each + a_count + b_count + i];
          double sum = start;
          for (size_t k = 0; k < depth; ++k) sum = std::fma(a[row][k], b[column][k], sum);
          const std::string place = std::to_string(rows) + " x " + std::to_string(depth) + rounding + " lane " +
                                    std::to_string(lane) + " register " + std::to_string(i);
          // Sums of whole numbers are exact in every mode; lane 0's first is not.
          if (rounding == ".rp" && lane == 0 && i == 0) {
            EXPECT_GT(out[lane * c_count + i], std::floor(sum)) << place;
            EXPECT_GE(out[lane * c_count + i], sum) << place;
          } else {
            EXPECT_EQ(out[lane * c_count + i], sum) << place;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sim::test
