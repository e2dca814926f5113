// Calls that cannot be inlined: recursion and calls through pointers, their stack, and what is said when it ends.
#include "support.h"

namespace sim::test {
namespace {

/// Launches one warp, or `threads`, whose kernel has `out` in %rd1 and the thread's index in %r60.
struct Result {
  Outcome outcome;
  std::vector<uint32_t> out;
};
Result run(const std::string& prologue, const std::string& body, Options options = {}, uint32_t threads = 32,
           size_t stack = 1024) {
  Bench bench(options);
  Source source;
  source.parameters = ".param .u64 out";
  source.prologue = prologue;
  source.body = "ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r60, 4; add.s64 %rd1, %rd1, %rd2;\n" + body;
  auto* out = bench.upload(std::vector<uint32_t>(threads, 0xDEAD));
  Result result;
  result.outcome = bench.launch(source, {.block = {threads, 1, 1}, .stack_bytes = stack}, out);
  result.out.assign(out, out + threads);
  return result;
}

const std::string kFibonacci = R"(
  .func (.param .b32 result) fib(.param .b32 n) {
    .reg .pred %p; .reg .b32 %n, %a, %b; .param .b32 to; .param .b32 from;
    ld.param.u32 %n, [n]; setp.lt.u32 %p, %n, 2; st.param.b32 [result], %n; @%p ret;
    sub.u32 %a, %n, 1; st.param.b32 [to], %a; call (from), fib, (to); ld.param.b32 %a, [from];
    sub.u32 %b, %n, 2; st.param.b32 [to], %b; call (from), fib, (to); ld.param.b32 %b, [from];
    add.u32 %a, %a, %b; st.param.b32 [result], %a; ret; })";
const std::string kCallFibonacci = R"(
  { .param .b32 to; .param .b32 from; rem.u32 %r1, %r60, 11; st.param.b32 [to], %r1; call (from), fib, (to);
    ld.param.b32 %r2, [from]; st.global.u32 [%rd1], %r2; })";

TEST(Calls, Recursion) {
  const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  for (const Options& options : all_schedules()) {
    const Result done = run(kFibonacci, kCallFibonacci, options, 96);
    expect_success(done.outcome);
    for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(done.out[i], fib[i % 11]) << i;
  }
}

TEST(Calls, FunctionsThatCallOneAnother) {
  const std::string parity = R"(
    .func (.param .b32 r) odd(.param .b32 n);
    .func (.param .b32 r) even(.param .b32 n) {
      .reg .pred %p; .reg .b32 %n; .param .b32 to;
      ld.param.u32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra zero; sub.u32 %n, %n, 1; st.param.b32 [to], %n;
      call (to), odd, (to); ld.param.b32 %n, [to]; st.param.b32 [r], %n; ret;
      zero: st.param.b32 [r], 1; }
    .func (.param .b32 r) odd(.param .b32 n) {
      .reg .pred %p; .reg .b32 %n; .param .b32 to;
      ld.param.u32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra zero; sub.u32 %n, %n, 1; st.param.b32 [to], %n;
      call (to), even, (to); ld.param.b32 %n, [to]; st.param.b32 [r], %n; ret;
      zero: st.param.b32 [r], 0; ret; })";
  const Result done = run(parity,
                          "{ .param .b32 n; st.param.b32 [n], %r60; call (n), even, (n); ld.param.b32 %r1, [n]; "
                          "st.global.u32 [%rd1], %r1; }",
                          {}, 32, 4096);
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], 1 - i % 2);
}

TEST(Calls, EveryCallHasItsOwnRegistersAndVariables) {
  // Each call fills an array, hands its address down, and looks at it and at registers of all kinds when it is back.
  const std::string down = R"(
    .func (.param .b32 r) down(.param .b32 n, .param .b64 above) {
      .reg .pred %p, %q; .reg .b16 %h; .reg .b32 %n, %a, %s; .reg .b64 %w, %at, %above; .reg .f64 %d; .reg .b128 %x;
      .local .align 16 .b32 mine[4]; .param .b32 n1; .param .b64 a1; .param .b32 r1;
      ld.param.u32 %n, [n]; ld.param.u64 %above, [above]; setp.eq.u32 %p, %n, 0; setp.ne.u32 %q, %n, 3;
      cvt.u16.u32 %h, %n; cvt.u64.u32 %w, %n; shl.b64 %w, %w, 40; cvt.rn.f64.u32 %d, %n; mov.b128 %x, {%w, %w};
      mov.u64 %at, mine; st.local.v2.u32 [%at+8], {%n, %n}; cvta.local.u64 %at, %at; mov.u32 %s, 0; @%p bra back;
      sub.u32 %a, %n, 1; st.param.b32 [n1], %a; st.param.b64 [a1], %at; call (r1), down, (n1, a1);
      ld.param.b32 %s, [r1];
      back: st.u32 [%above], %n;
      { .reg .b32 %v; .reg .b64 %l, %m; .reg .pred %e;
        cvt.u32.u16 %v, %h; add.u32 %s, %s, %v; shr.u64 %l, %w, 40; cvt.u32.u64 %v, %l; add.u32 %s, %s, %v;
        cvt.rzi.u32.f64 %v, %d; add.u32 %s, %s, %v; mov.b128 {%l, %m}, %x; shr.u64 %m, %m, 40; cvt.u32.u64 %v, %m;
        add.u32 %s, %s, %v; ld.local.u32 %v, [mine+8]; add.u32 %s, %s, %v;
        setp.ne.u32 %e, %n, 3; xor.pred %e, %e, %q; @%e add.u32 %s, %s, 1000;
        ld.local.u32 %v, [mine]; add.u32 %v, %v, 1; setp.ne.u32 %e, %v, %n; setp.ne.and.u32 %e, %n, 0, %e;
        @%e add.u32 %s, %s, 100000; }
      st.param.b32 [r], %s; })";
  const std::string body = R"({ .local .b32 first; .param .b32 n; .param .b64 a; .param .b32 r;
    mov.u64 %rd3, first; cvta.local.u64 %rd3, %rd3; and.b32 %r1, %r60, 7; st.param.b32 [n], %r1; st.param.b64 [a], %rd3;
    call (r), down, (n, a); ld.param.b32 %r2, [r]; ld.local.u32 %r3, [first]; shl.b32 %r3, %r3, 16;
    or.b32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2; })";
  for (const Options& options : all_schedules()) {
    const Result done = run(down, body, options, 64, 4096);
    expect_success(done.outcome);
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t n = i % 8;
      EXPECT_EQ(done.out[i], n << 16 | 5 * n * (n + 1) / 2) << i;
    }
  }
}

TEST(Calls, WhatIsInlinedAtOneCallLeavesItsVariablesToTheNext) {
  // `late` is first named behind the calls, and lives from one iteration of the loop to the next. `fill` sums up what
  // it has filled its array with, after a function with an array of its own.
  const std::string functions = R"(
    .func (.param .b32 r) other(.param .b32 n) {
      .reg .b32 %n; .local .align 16 .b32 mine[8];
      ld.param.u32 %n, [n]; st.local.v4.u32 [mine], {%n, %n, %n, %n}; st.local.v4.u32 [mine+16], {%n, %n, %n, %n};
      ld.local.u32 %n, [mine+28]; st.param.b32 [r], %n; ret; }
    .func (.param .b32 r) fill(.param .b32 n) {
      .reg .b32 %n, %a, %s; .local .align 16 .b32 mine[4]; .param .b32 to; .param .b32 from;
      ld.param.u32 %n, [n]; st.local.v4.u32 [mine], {%n, %n, %n, %n}; st.param.b32 [to], 5000;
      call (from), other, (to); ld.param.b32 %s, [from];
      ld.local.u32 %a, [mine]; add.u32 %s, %s, %a; ld.local.u32 %a, [mine+12]; add.u32 %s, %s, %a;
      st.param.b32 [r], %s; ret; }
    .func big() { .reg .b32 %a; .local .b32 mine[4096]; st.local.u32 [mine+16380], 1; ld.local.u32 %a, [mine+16380]; ret; }
    )";
  std::string body = R"({ .local .b32 late; .param .b32 n; .param .b32 r; mov.u32 %r3, 0;
    turn: st.param.b32 [n], %r3; call (r), fill, (n); ld.param.b32 %r4, [r];
    st.param.b32 [n], %r60; call (r), fill, (n); ld.param.b32 %r5, [r]; add.u32 %r4, %r4, %r5;
    setp.eq.u32 %p1, %r3, 0; @%p1 st.local.u32 [late], 7;
    ld.local.u32 %r5, [late]; add.u32 %r5, %r5, %r4; st.local.u32 [late], %r5;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 4; @%p1 bra turn;
    ld.local.u32 %r5, [late]; st.global.u32 [%rd1], %r5; })";
  for (int i = 0; i < 40; ++i) body += " call big;";  // 16 KB each, and a thread can have 512
  const Result done = run(functions, body);
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], 7 + 8 * 5000 + 2 * (0 + 1 + 2 + 3) + 4 * 2 * i) << i;
}

const std::string kOperations = R"(
  .func (.param .b32 r) plus(.param .b32 a, .param .b32 b) {
    .reg .b32 %a, %b; ld.param.u32 %a, [a]; ld.param.u32 %b, [b]; add.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }
  .func (.param .b32 r) times(.param .b32 a, .param .b32 b) {
    .reg .b32 %a, %b; ld.param.u32 %a, [a]; ld.param.u32 %b, [b]; mul.lo.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }
  .func (.param .b32 r) sink(.param .b32 a, .param .b32 b) { .reg .b32 %a; ld.param.u32 %a, [a]; exit; }
  .func narrow(.param .b16 a) { ret; }
  .global .align 8 .u64 table[4] = {plus, times, sink, narrow};
  .global .align 8 .u64 one = times;
  )";
// %rd9 is called with %r60 and 3.
const std::string kCallPointer = R"(
  { .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r60; st.param.b32 [b], 3;
    p: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
    call (r), %rd9, (a, b), p; ld.param.b32 %r1, [r]; activemask.b32 %r2; st.global.u32 [%rd1], %r1; })";

TEST(Calls, ThroughPointers) {
  for (const Options& options : all_schedules()) {
    // One function for all lanes, from an instruction; another per lane, from a table.
    Result done = run(kOperations, "mov.u64 %rd9, plus;" + kCallPointer, options, 64);
    expect_success(done.outcome);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(done.out[i], i + 3);
    done = run(kOperations,
               R"(and.b32 %r3, %r60, 1; mul.wide.u32 %rd3, %r3, 8; mov.u64 %rd4, table;
      add.s64 %rd3, %rd3, %rd4; ld.global.u64 %rd9, [%rd3];)" +
                   kCallPointer +
                   "not.b32 %r2, %r2; shl.b32 %r2, %r2, 16; or.b32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;",
               options, 64);
    expect_success(done.outcome);
    // They meet again behind the call.
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(done.out[i], i % 2 != 0 ? 3 * i : i + 3);
  }
}

TEST(Calls, TargetsThatAreListed) {
  const Result done = run(kOperations, R"({ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r60;
    st.param.b32 [b], 7; t: .calltargets plus, times; ld.global.u64 %rd9, [one]; call (r), %rd9, (a, b), t;
    ld.param.b32 %r1, [r]; st.global.u32 [%rd1], %r1; })");
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], 7 * i);
}

TEST(Calls, OfSomeLanes) {
  // A guarded call, a function that half of the lanes leave early, and one in which lanes exit.
  const std::string early = R"(
    .func (.param .b32 r) twice(.param .b32 n) {
      .reg .pred %p; .reg .b32 %n; ld.param.u32 %n, [n]; add.u32 %n, %n, %n; st.param.b32 [r], %n;
      setp.lt.u32 %p, %n, 40; @%p ret; add.u32 %n, %n, 1; st.param.b32 [r], %n; ret; }
    .global .align 8 .u64 pointer = twice;)";
  Result done =
      run(early, R"({ .param .b32 n; st.param.b32 [n], %r60; p: .callprototype (.param .b32 _) _ (.param .b32 _);
    ld.global.u64 %rd9, [pointer]; setp.ge.u32 %p1, %r60, 8; @%p1 call (n), %rd9, (n), p; ld.param.b32 %r1, [n];
    bar.warp.sync -1; st.global.u32 [%rd1], %r1; })");
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], i < 8 ? i : i < 20 ? 2 * i : 2 * i + 1) << i;
  done = run(kOperations,
             "setp.lt.u32 %p1, %r60, 4; mov.u64 %rd9, times; mov.u64 %rd8, sink; selp.b64 %rd9, %rd8, %rd9, "
             "%p1;" +
                 kCallPointer + "bar.sync 0;");
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], i < 4 ? 0xDEAD : 3 * i) << i;
}

TEST(Calls, ValuesInRegisters) {
  const std::string body = R"({ .reg .f32 %f; .reg .b32 %z;
    call (%r1), plus, (%r60, 5); mov.u64 %rd9, times; p: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
    call (%r2), %rd9, (%r1, 2), p; call (_), %rd9, (%r1, 2), p; st.global.u32 [%rd1], %r2; })";
  const Result done = run(kOperations, body);
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], 2 * (i + 5));
}

TEST(Calls, Aliases) {
  const std::string alias =
      ".func (.param .b32 r) sum(.param .b32 a, .param .b32 b);\n" + kOperations + ".alias sum, plus;\n";
  const Result done = run(alias,
                          "call (%r1), sum, (%r60, 5); mov.u64 %rd3, sum; mov.u64 %rd4, plus; setp.eq.u64 %p1, %rd3, "
                          "%rd4; selp.b32 %r1, %r1, 0, %p1; st.global.u32 [%rd1], %r1;");
  expect_success(done.outcome);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(done.out[i], i + 5);
}

TEST(Calls, BarriersInside) {
  const std::string exchange = R"(
    .shared .align 4 .b8 words[256];
    .func (.param .b32 r) exchange(.param .b32 n) {
      .reg .b32 %n, %a; ld.param.u32 %n, [n]; mov.u32 %a, words; shl.b32 %n, %n, 2; add.u32 %a, %a, %n; shr.u32 %n, %n, 2;
      st.shared.u32 [%a], %n; bar.sync 0; xor.b32 %a, %a, 252; ld.shared.u32 %n, [%a];
      shfl.sync.bfly.b32 %n, %n, 1, 31, -1; st.param.b32 [r], %n; ret; }
    .global .align 8 .u64 pointer = exchange;)";
  for (Options options : all_schedules()) {
    options.check = Options::Check::On;
    const Result done =
        run(exchange, R"({ p: .callprototype (.param .b32 _) _ (.param .b32 _); ld.global.u64 %rd9, [pointer];
      call (%r1), %rd9, (%r60), p; st.global.u32 [%rd1], %r1; })",
            options, 64);
    expect_success(done.outcome);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(done.out[i], (63 - i) ^ 1u);
  }
}

TEST(Calls, MoreThanCanBeInlined) {
  // Eighteen levels of two calls each would be 2^18 copies of the last function.
  std::string levels = ".global .u32 count;\n.func f0() { red.global.add.u32 [count], 1; ret; }\n";
  for (int i = 1; i <= 18; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    levels += ".func f" + std::to_string(i) + "() { call " + below + "; call " + below + "; ret; }\n";
  }
  const Result done = run(levels, "call f18; ld.global.u32 %r1, [count]; st.global.u32 [%rd1], %r1;", {}, 1);
  expect_success(done.outcome);
  EXPECT_EQ(done.out[0], 1u << 18);
}

TEST(Calls, TheStackEnds) {
  const std::string deep = R"(
    .func down(.param .b32 n) {
      .reg .pred %p; .reg .b32 %n; .param .b32 n1; ld.param.u32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p ret;
      sub.u32 %n, %n, 1; st.param.b32 [n1], %n; call down, (n1); ret; })";
  const std::string body = "call down, (100); st.global.u32 [%rd1], %r60;";
  const Outcome outcome = run(deep, body).outcome;
  expect_fault(outcome, faults::stack_overflow, {"down", 33, 32, 1024, 0});
  EXPECT_GT(outcome.findings[0].calls_left_out, 0u);
  expect_success(run(deep, body, {}, 32, 4096).outcome);
}

TEST(Calls, PointersThatAreNone) {
  expect_fault(run(kOperations, "mov.u64 %rd9, 0;" + kCallPointer).outcome, faults::call_of_null);
  expect_fault(run(kOperations, "mov.u64 %rd9, table;" + kCallPointer).outcome, faults::call_of_no_function);
  expect_fault(run(kOperations, "ld.global.u64 %rd9, [table+24];" + kCallPointer).outcome,
               faults::call_with_other_prototype, {"narrow"});
  expect_fault(run(kOperations, "mov.u64 %rd9, plus; ld.u32 %r1, [%rd9];").outcome, faults::access_outside);
}

TEST(Calls, ReportsNameTheCalls) {
  const std::string bad = R"(
    .func inner(.param .b32 n) {
      .reg .pred %p; .reg .b32 %n; .reg .b64 %a; .param .b32 n1; ld.param.u32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra zero;
      sub.u32 %n, %n, 1; st.param.b32 [n1], %n; call inner, (n1); ret; zero: mov.u64 %a, 64; ld.global.u32 %n, [%a]; ret; })";
  const Outcome outcome = run(bad, "call inner, (2);").outcome;
  expect_fault(outcome, faults::access_outside);
  const Finding& finding = outcome.findings[0];
  EXPECT_EQ(finding.first.at.instruction, "ld.global.u32");
  EXPECT_EQ(finding.calls[0].function, "inner");
  EXPECT_GT(finding.calls[0].at.ptx_line, 0u);
}

}  // namespace
}  // namespace sim::test
