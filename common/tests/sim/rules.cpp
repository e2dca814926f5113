// What ptxas refuses is refused, in a sentence that says what is required; what it accepts is accepted. Thousands more
// texts, compared with ptxas itself, are the business of scripts/maintain/fuzz.py.
#include "ptx/rules/rules.h"
#include "support.h"

namespace sim::test {
namespace {

/// What is said of a kernel with this body, at most one sentence; empty if nothing.
std::string judge(const std::string& body, const std::string& prologue = "", const std::string& target = "sm_100a") {
  Source source;
  source.body = body;
  source.prologue = prologue;
  source.target = target;
  source.parameters = ".param .u64 pointer, .param .align 64 .b8 map[128]";
  try {
    const auto module = ptx::parse(source.text(), "test");
    const std::vector<ptx::RuleViolation> findings = ptx::check(*module);
    return findings.empty() ? "" : findings[0].message;
  } catch (const ptx::SyntaxError& error) { return error.message; }
}

void expect_refused(const std::vector<std::pair<const char*, const char*>>& cases, const std::string& prologue = "") {
  for (const auto& [body, message] : cases) {
    const std::string said = judge(body, prologue);
    EXPECT_NE(said.find(message), std::string::npos) << body << "\n  says: " << said;
  }
}
void expect_accepted(const std::vector<const char*>& bodies, const std::string& prologue = "") {
  for (const char* const body : bodies) EXPECT_EQ(judge(body, prologue), "") << body;
}

TEST(Rules, ClassesOfRegisters) {
  expect_refused({{"add.s32 %p2, %r1, %r1;", "operand 1 must be an integer register of 32 bits"},
                  {"add.s32 %r2, %p1, 5;", "operand 2 must be an integer register of 32 bits"},
                  {"setp.eq.s32 %r2, %r1, 5;", "operand 1 must be a predicate"},
                  {"@%r2 add.s32 %r1, %r1, %r2;", "'%r2' behind '@' is not a predicate register"},
                  {"mov.b32 %p1, %r1;", "operand 1 must be a register of 32 bits that is no predicate"},
                  {"ld.global.u32 %p1, [%rd1];", "operand 1"},
                  {"st.global.u32 [%rd1], %p1;", "operand 2"},
                  {"add.s32 %f1, %r1, %r2;", "here is %f1, a .f32 register"},
                  {"mov.u64 %rd1, %tid.x;", "here is the special register %tid.x"},
                  {"mov.u32 %r1, %bogus;", "'%bogus', which is not declared"},
                  {"cvt.f32.s32 %f1, %r1;", "cvt"},
                  {"selp.b32 %r1, %r2, %r3, %r4;", "operand 4 must be a predicate"},
                  {"ld.global.u32 %r1, [%r2];", "an address of 64 bits"},
                  {"ld.global.u32 %r1, [%f2];", "an address in a register of integers or bits"}});
  expect_accepted({"ld.global.b32 {%r1}, [%rd1];", "st.shared.b64 [%r1], {%rd2};", "@%p1 ldu.global.u32 {%r1}, [%rd1];",
                   "st.global.b32 [%rd1], {5};", "mov.b32 {%r1}, %r2;", "mov.b64 %rd1, {%rd2};"});
  expect_refused({{"mov.u32 {%r1}, %r2;", "operand 1"},
                  {"mov.b32 {%r1}, {%r2};", "operand"},
                  {"mov.f32 %f1, {%f2};", "operand 2"}});
  expect_refused({{"add.s32 {%r1}, %r1, %r2;", "operand 1"}, {"atom.global.add.u32 %r1, [%rd1], {%r2};", "operand 3"}});
  expect_accepted({"add.f32 %r1, %f1, %r2;", "and.b32 %f1, %r1, %f2;", "ld.global.u8 %rd1, [%rd2];",
                   "st.global.b8 [%rd1], %f1;", "mov.b64 {%r1, %f1}, %rd1;", "cvt.u16.u32 %r1, %rd1;",
                   "@!%p1 mov.pred %p2, !%p3;", "mov.b32 %f1, %laneid;", "selp.f32 %f1, 1.0, %f2, !%p1;"});
}

TEST(Rules, Operands) {
  expect_refused({{"add.s32 %r1, %r2;", "3 operands are required, not 2"},
                  {"add.s32 %r1, %r2, %r3, %r4;", "3 operands are required, not 4"},
                  {"add.u32 %r1, %r2, 1.0;", "operand 3"},
                  {"add.f32 %f1, %f2, 1;", "or a floating-point number, but here is an integer"},
                  {"add.s32 5, %r1, %r2;", "operand 1"},
                  {"mov.b32 %r2, {};", "is required, but here is '}'"},
                  {"mov.b32 {}, %r2;", "is required, but here is '}'"},
                  {"ld.global.u32 {}, [%rd1];", "is required, but here is '}'"},
                  {"atom.global.add.v2.f32 {}, [%rd1], {%f1, %f2};", "is required, but here is '}'"},
                  {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "a vector of 2"},
                  {"ld.global.v2.u32 {%r1, %p1}, [%rd1];", "all elements of one size"},
                  {"ld.global.v4.u64 {%rd1, %rd2}, [%rd3];", "a vector of 4"},
                  {"ld.shared.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%r3];", "at most 128 can be moved at once"},
                  {"setmaxnreg.inc.sync.aligned.u32 -8;", "a number from 24 to 256 that is a multiple of 8, not -8"},
                  {"bar.sync 16;", "a number from 0 to 15, not 16"},
                  {"bar.sync 0, 100;", "a multiple of 32, not 100"},
                  {"cp.async.ca.shared.global [%r1], [%rd1], 5;", "4, 8 or 16, not 5"},
                  {"ld.global.u32 %r1, [%rd1-4];", "an offset is added"},
                  {"st.param.b64 [pointer], %rd1;", "the parameter 'pointer' cannot be written"},
                  {"ld.shared.u32 %r1, [pointer];", "the variable 'pointer' is in .param"}});
  expect_accepted({"mov.u32 %r1, (1 + 2) * 3 << 1 | ~0 ? 5 : -WARP_SZ;", "ld.global.v2.u32 {%r1, _}, [%rd1+-4];",
                   "bar.sync %r1, %r2;", "setp.eq.s32 %p1|%p2, %r1, 5;", "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;"});
}

TEST(Rules, Modifiers) {
  expect_refused({{"add.foo.s32 %r1, %r2, %r3;", "the modifier .foo does not belong there"},
                  {"add.sat.u32 %r1, %r2, %r3;", "the type .s32 is required where .u32 stands"},
                  {"add.rn.rn.f32 %f1, %f2, %f3;", "the modifier .rn does not belong there"},
                  {"add.rn.rz.f32 %f1, %f2, %f3;", "the modifier .rz does not belong there"},
                  {"ld.global.global.u32 %r1, [%rd1];", "the modifier .global does not belong there"},
                  {"fma.f32 %f1, %f2, %f3, %f4;", "the modifier .rn, .rz, .rm or .rp is missing"},
                  {"add.u8 %r1, %r2, %r3;", "where .u8 stands"},
                  {"foo.s32 %r1;", "there is no instruction 'foo.s32'"},
                  {"ld.relaxed.u32 %r1, [%rd1];", "is missing"},
                  {"ld.global.L2::cache_hint.u32 %r1, [%rd1];", "operands are required"},
                  {"shfl.idx.b32 %r1, %r2, 0, 31;", ".sync is missing"}});
  // As in ptxas: in any order, some of them twice; types keep theirs.
  expect_accepted({"add.s32.sat %r1, %r2, %r3;", "add.sat.sat.s32 %r1, %r2, %r3;",
                   "ld.u32.volatile.global %r1, [%rd1];", "add .f32.ftz.rn %f1, %f2, %f3;"});
  // More of them than a word has bits.
  std::string many = "add";
  for (int i = 0; i < 70; ++i) many += ".sat";
  EXPECT_EQ(judge(many + ".s32 %r1, %r2, %r3;"), "");
  EXPECT_NE(judge(many + ".wobble.s32 %r1, %r2, %r3;"), "");
}

TEST(Rules, OrdersAndScopes) {
  struct Case {
    std::string form;  // with a ? for what is right and what is wrong
    std::vector<std::string> right, wrong;
  };
  const std::vector<Case> cases{
      {"mbarrier.arrive.?.shared::cta.b64 _, [%r1];",
       {"release.cta", "release.cluster", "relaxed.cluster"},
       {"release.gpu", "relaxed.sys", "acquire.cta"}},
      {"mbarrier.try_wait.parity.?.shared::cta.b64 %p1, [%r1], 0;",
       {"acquire.cta", "acquire.cluster", "relaxed.cta"},
       {"acquire.gpu", "release.cta"}},
      {"barrier.cluster.arrive.?;", {"release", "relaxed", "release.aligned"}, {"acquire", "release.cluster"}},
      {"barrier.cluster.wait.?;", {"acquire", "acquire.aligned"}, {"release", "relaxed"}},
      {"fence.?;",
       {"acq_rel.cta", "sc.sys", "proxy.async.shared::cta", "mbarrier_init.release.cluster"},
       {"acq_rel.warp", "relaxed.gpu", "proxy.async.cta", "mbarrier_init.release.gpu"}},
      {"ld.?.global.u32 %r1, [%rd1];", {"acquire.gpu", "relaxed.cluster"}, {"release.gpu", "acquire"}},
      {"st.?.global.u32 [%rd1], %r1;", {"release.gpu", "relaxed.cluster"}, {"acquire.gpu", "acq_rel.gpu"}},
      {"cp.async.bulk.wait_group? 0;", {"", ".read"}, {".write"}}};
  for (const Case& each : cases) {
    const auto judged = [&](const std::string& words) {
      std::string body = each.form;
      return judge(body.replace(body.find('?'), 1, words));
    };
    for (const std::string& words : each.right) EXPECT_EQ(judged(words), "") << each.form << " " << words;
    for (const std::string& words : each.wrong) EXPECT_NE(judged(words), "") << each.form << " " << words;
  }
}

TEST(Rules, TargetsAndVersions) {
  EXPECT_NE(judge("wgmma.fence.sync.aligned;").find("runs on sm_90a, and .target says sm_100a"), std::string::npos);
  EXPECT_EQ(judge("wgmma.fence.sync.aligned;", "", "sm_90a"), "");
  EXPECT_NE(judge("tcgen05.fence::before_thread_sync;", "", "sm_90a").find("runs on sm_100f"), std::string::npos);
  EXPECT_EQ(judge("tcgen05.fence::before_thread_sync;", "", "sm_103f"), "");
  EXPECT_NE(judge("tcgen05.fence::before_thread_sync;", "", "sm_100"), "");
  EXPECT_NE(judge("redux.sync.add.u32 %r1, %r2, -1;", "", "sm_75").find("runs on sm_80 and newer ones"),
            std::string::npos);
}

TEST(Rules, Calls) {
  const std::string functions =
      ".func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16]) { ret; }\n"
      ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n.extern .func other();\n"
      ".entry kernel() { ret; }\n";
  const std::string declare = ".param .b32 r, a; .param .b64 wide, wide2; .param .align 8 .b8 s[16], t[8]; ";
  for (const auto& [call, message] : std::vector<std::pair<std::string, std::string>>{
           {"call vprintf, ();", "takes 2 arguments and returns 1, the call passes 0 and takes 0"},
           {"call (r), f, (a);", "takes 2 arguments"},
           {"call (r), f, (wide, s);", "the argument 'a' has 4 bytes"},
           {"call (r), f, (a, t);", "the argument 's' has 16 bytes"},
           {"call (r, r), f, (a, s);", "takes 2 arguments and returns 1"},
           {"call other;", "has no body in this text"},
           {"call kernel;", "is a kernel"},
           {"call nobody;", "there is no function 'nobody'"},
           {"call.foo (r), f, (a, s);", ".uni alone"},
           {"call %rd1;", "needs a .callprototype"},
           {"call %r1, (a), f;", "a register of 64 bits"}}) {
    const std::string said = judge(declare + call, functions);
    EXPECT_NE(said.find(message), std::string::npos) << call << "\n  says: " << said;
  }
  for (const char* const call :
       {"call (r), f, (a, s);", "call.uni (_), f, (5, s);", "call (r), vprintf, (wide, wide2);",
        "p: .callprototype _ (.param .b32 _); call %rd1, (a), p;", "t1: .calltargets f; call (r), %rd1, (a, s), t1;"})
    EXPECT_EQ(judge(declare + call, functions), "") << call;
}

TEST(Rules, Declarations) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {".global .align 3 .b32 g;", "a power of two"},
           {".global .b8 c[-2];", "the length of an array is required"},
           {".global .b32 g; .global .b32 g;", "declared already, on line 4"},
           {".global .b32 g[2] = {1, 2, 3};", "more initial values than its length"},
           {".shared .b32 s = 1;", "only .global and .const variables"},
           {".local .b32 l;", "inside functions"},
           {".const .b8 c[65537];", "holds at most 65536"},
           {".shared .b32 s[4611686018427387904];", "holds at most"},
           {".global .b64 h; .global .b8 g[8] = {0xff(h), 0x1ff(h)};", "selects one byte"},
           {".global .b64 h; .global .u16 g = h;", "the initial value of a .u32 or .u64"},
           {".entry e() { ret; } .entry e() { ret; }", "and has a body there"},
           {".entry e() .maxntid 0 { ret; }", ".maxntid must be 1 or more"},
           {".entry e() { .reg .b32 a, a; ret; }", "declared already in this scope"},
           {".entry e() { .reg .b32 %r<30000000>; ret; }", "at most 16777216 are supported"},
           {".entry e() { .local .b8 l[100000000]; ret; }", "holds at most 524288"},
           {".pragma \"unterminated;", "never closed"},
           {".pragma \"nounroll\"", "';' behind a pragma is required"},
           {".alias a, b", "';' behind an alias"},
           {".global .attribute(.managed .b32 g;", "')' behind the attributes"},
           {".entry e() { p: .callprototype _ ( }", "is required"},
           {".global .b32 g = " + std::string(10'000, '-') + "1;", "nested too deeply"},
           {".global .b32 g = " + std::string(10'000, '(') + "1;", "nested too deeply"},
           {".entry e() { mov.b32 a, " + std::string(10'000, '{') + "1;", "a vector within a vector"},
           {".entry e() { mov.b32 a, [" + std::string(10'000, '[') + "1;", "is required"}}) {
    const std::string whole = text.find(".alias") == 0 ? ".func b() { ret; } .func a(); " + text : text;
    const std::string said = judge("", whole);
    EXPECT_NE(said.find(message), std::string::npos) << text.substr(0, 80) << "\n  says: " << said;
  }
}

TEST(Rules, JudgedWholeOrWhenExecuted) {
  Bench bench;
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  .reg .b32 %r<2>;\n  .reg .pred "
      "%p<2>;\n"
      "  setp.ne.u32 %p1, 0, 0;\n  @%p1 add.s32 %p1, %r1, %r1;\n  ret;\n}\n";
  Outcome outcome;
  EXPECT_EQ(bench.device().load(text, "mine.ptx", &outcome, Device::PtxValidation::Whole), nullptr);
  expect_failure(outcome, Status::InvalidPtx, {"mine.ptx:9: 'add.s32': operand 1 must be an integer register"});
  expect_success(bench.launch(text, {}));
}

TEST(Rules, WhatATextAsksFor) {
  Bench bench;
  Source source;
  source.prologue = ".global .b8 large[34359738368];\n";  // 32 GiB, untouched
  expect_success(bench.launch(source, {}));
  source.prologue = ".global .b8 large[1099511627776];\n";
  expect_failure(bench.launch(source, {}), Status::MemoryAllocation,
                 {"1,099,511,627,776 bytes of the variable 'large'"});
  source.prologue = "";
  source.body = ".local .b8 l1[500000]; .local .b8 l2[500000]; st.local.b8 [l1], 0; st.local.b8 [l2], 0;";
  expect_failure(bench.launch(source, {}), Status::LaunchOutOfResources,
                 {"1,000,000 bytes of local memory per thread"});
  source.body = ".shared .b8 s1[16000000], s2[16000000]; st.shared.b8 [s1], 0; st.shared.b8 [s2], 0;";
  expect_failure(bench.launch(source, {}), Status::InvalidValue, {"32,000,000 bytes of shared memory"});
}

}  // namespace
}  // namespace sim::test
