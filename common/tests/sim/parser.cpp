// PTX text: tokens, scopes, declarations, and what is said about text that is not PTX.
#include <bit>

#include "ptx/lexer.h"
#include "ptx/module.h"
#include "report/text.h"
#include "support.h"

namespace sim::test {
namespace {

using ptx::Token;

// ---- tokens

/// The last one is the end.
std::vector<Token> tokens_of(std::string_view text) {
  ptx::Lexer lexer(text);
  std::vector<Token> found{lexer.next()};
  while (found.back().kind != Token::Kind::End) found.push_back(lexer.next());
  return found;
}
std::vector<uint64_t> values(std::string_view text) {
  std::vector<uint64_t> found;
  for (const Token& token : tokens_of(text)) {
    if (token.kind == Token::Kind::Integer || token.kind == Token::Kind::Float) found.push_back(token.value);
  }
  return found;
}
std::vector<std::string> texts(std::string_view text) {
  std::vector<std::string> found;
  for (const Token& token : tokens_of(text)) found.emplace_back(token.text);
  found.pop_back();
  return found;
}

TEST(Lexer, Literals) {
  EXPECT_EQ(values("0 7 007 0x1F 0X1f 0b101 42U 0xFFFFFFFFFFFFFFFF 0xAbU 017 18446744073709551615"),
            (std::vector<uint64_t>{0, 7, 7, 31, 31, 5, 42, ~uint64_t{0}, 0xAB, 15, ~uint64_t{0}}));
  EXPECT_EQ(values("0f3F800000 0F7FC00000 0d3FF0000000000000 0D4000000000000000"),
            (std::vector<uint64_t>{0x3F80'0000, 0x7FC0'0000, 0x3FF0'0000'0000'0000, 0x4000'0000'0000'0000}));
  for (const auto& [text, value] : std::vector<std::pair<std::string, double>>{
           {"1.5", 1.5}, {"2.0e3", 2000}, {"1e-3", 0.001}, {"3.25E2", 325}, {"0.5", 0.5}}) {
    EXPECT_EQ(values(text), std::vector<uint64_t>{std::bit_cast<uint64_t>(value)}) << text;
  }
  EXPECT_THROW(tokens_of("99999999999999999999"), ptx::SyntaxError);
}

TEST(Lexer, WordsModifiersAndPunctuation) {
  EXPECT_EQ(texts("tcgen05.ld.sync.aligned.32x32b.x1.b32{%r1},[%r2+4];"),
            (std::vector<std::string>{"tcgen05", ".ld", ".sync", ".aligned", ".32x32b", ".x1", ".b32", "{", "%r1", "}",
                                      ",", "[", "%r2", "+", "4", "]", ";"}));
  EXPECT_EQ(texts("$L__BB0_2:mov.b32 %r1,-1;"),
            (std::vector<std::string>{"$L__BB0_2", ":", "mov", ".b32", "%r1", ",", "-", "1", ";"}));
  EXPECT_EQ(texts("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"),
            (std::vector<std::string>{"cp", ".async", ".bulk", ".tensor", ".2d", ".shared::cluster", ".global",
                                      ".mbarrier::complete_tx::bytes"}));
  EXPECT_EQ(texts("_|%p1 a|b !%p2 %tid.x ld.global.L2::128B.u32"),
            (std::vector<std::string>{"_", "|", "%p1", "a", "|", "b", "!", "%p2", "%tid", ".x", "ld", ".global",
                                      ".L2::128B", ".u32"}));
  EXPECT_EQ(texts(".5 .1d .x2"), (std::vector<std::string>{".5", ".1d", ".x2"}));
  EXPECT_EQ(texts("a // one\nb /* two\n three */ c"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(texts(".file 1 \"a b.cu\""), (std::vector<std::string>{".file", "1", "a b.cu"}));
}

TEST(Lexer, EndsAsOftenAsItIsAsked) {
  ptx::Lexer lexer("a ");
  EXPECT_EQ(lexer.next().text, "a");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lexer.next().kind, Token::Kind::End);
}

TEST(Lexer, CountsLines) {
  const auto tokens = tokens_of("a\nb\n/* x\ny */ c // z\n\nd");
  std::vector<uint32_t> lines;
  for (const Token& token : tokens) lines.push_back(token.line);
  EXPECT_EQ(lines, (std::vector<uint32_t>{1, 2, 4, 6, 6}));
}

// ---- modules

std::unique_ptr<ptx::Module> parse(const std::string& text) {
  return ptx::parse(".version 9.0\n.target sm_100a\n.address_size 64\n" + text, "test");
}

TEST(Parser, HeaderDirectivesAndFiles) {
  const auto module = ptx::parse(
      ".version 8.7\n.target sm_90a, debug\n.address_size 64\n.file 1 \"/home/somebody/kernel.cuh\"\n.file 2 "
      "\"main.cu\", 1234, 5678\n.pragma \"nounroll\";\n.section .debug_str { $L__info_string0: .b8 1, 2 }\n",
      "test");
  EXPECT_EQ(module->version_major, 8);
  EXPECT_EQ(module->version_minor, 7);
  EXPECT_EQ(module->target, "sm_90a");
  EXPECT_EQ(module->files.at(1), "/home/somebody/kernel.cuh");
  EXPECT_EQ(module->files.at(2), "main.cu");
}

TEST(Parser, KernelDirectives) {
  const auto module = parse(
      ".visible .entry k(.param .u64 .ptr .global .align 16 p0, .param .align 64 .b8 p1[128], .param .u8 p2, .param "
      ".u32 p3)\n.maxntid 192, 2, 1\n.minnctapersm 1\n.maxnreg 128\n.explicitcluster\n.reqnctapercluster 2, 1, "
      "1\n.pragma \"x\";\n{ ret; }\n"
      ".entry r() .reqntid 64 { ret; }\n.weak .func (.param .b32 x) f(.param .b64 y) ;\n");
  const ptx::Function& k = *module->find("k");
  EXPECT_TRUE(k.is_entry && k.has_body && k.explicit_cluster);
  EXPECT_EQ(k.max_threads[0], 192u);
  EXPECT_EQ(k.max_threads[1], 2u);
  EXPECT_EQ(k.min_ctas, 1u);
  EXPECT_EQ(k.max_registers, 128u);
  EXPECT_EQ(k.cluster[0], 2u);
  std::vector<uint64_t> offsets;
  for (const ptx::Variable* parameter : k.parameters) offsets.push_back(parameter->offset);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 64, 192, 196}));
  EXPECT_TRUE(module->find("r")->exact_threads);
  EXPECT_FALSE(module->find("f")->has_body);
  EXPECT_EQ(module->find("nobody"), nullptr);
}

TEST(Parser, NestedScopesShadowNamesAndLabels) {
  // Inline assembly: the same register and label names three times, each its own.
  EXPECT_EQ(evaluate(R"(
      mov.b32 d, 0;
      { .reg .b32 t; .reg .pred p; mov.b32 t, 3; L: add.u32 d, d, 1; sub.u32 t, t, 1; setp.ne.u32 p, t, 0; @p bra L;
        { .reg .b32 t; .reg .pred p; mov.b32 t, 2; L: add.u32 d, d, 100; sub.u32 t, t, 1; setp.ne.u32 p, t, 0; @p bra L; bra done_inner; trap; done_inner: }
        add.u32 d, d, t; }
      { .reg .pred p; .reg .b32 t; mov.b32 t, 4; L: add.u32 d, d, 10000; sub.u32 t, t, 1; setp.ne.u32 p, t, 0; @p bra L; }
      { .reg .b32 d; mov.b32 d, 77; })",
                     "b32 a", "b32 d", {{0}}),
            (Rows{{40'203}}));
}

TEST(Parser, BranchesIntoOuterScopes) {
  EXPECT_EQ(evaluate("mov.b32 d, 1; { .reg .pred q; setp.eq.u32 q, a, 5; @q bra OUT; mov.b32 d, 2; } mov.b32 d, 3; "
                     "OUT: add.u32 d, d, 10;",
                     "b32 a", "b32 d", {{5}, {6}}),
            (Rows{{11}, {13}}));
}

TEST(Parser, BracesWithoutSpacesAndOperandsOverLines) {
  EXPECT_EQ(evaluate("{.reg .b32 x;mov.b32 x,\n  a\n;{mov.b32 d,x;}}mov.b64 "
                     "{e,f},\nb;st.shared.v2.u32[box],{e,f};ld.shared.u32 f,[box];",
                     "b32 a, b64 b", "b32 d, b32 e, b32 f", {{8, 0x2'0000'0001}}, ".shared .align 8 .b8 box[8];"),
            (Rows{{8, 1, 1}}));
}

TEST(Parser, RegistersOfEveryTypeAndRange) {
  EXPECT_EQ(evaluate(".reg .b8 tiny; .reg .u16 h1, h2; .reg .s64 w<3>; .reg .pred q<2>; .reg .f16x2 pair; .reg .b128 "
                     "wide; mov.u16 h1, 7; mov.b64 w2, 9; mov.b128 wide, {w2, w2}; mov.b128 {w0, w1}, wide; "
                     "cvt.u32.u64 d, w1; cvt.u32.u16 e, h1;",
                     "b32 a", "b32 d, b32 e", {{0}}),
            (Rows{{9, 7}}));
}

TEST(Parser, LocationsFollowInlining) {
  const std::string text = R"(
.file 1 "/src/level/kernel.cuh"
.file 2 "/src/common/ptx/mbarrier.cuh"
.file 3 "main.cu"
.visible .entry k()
{
  .reg .b32 %r<3>;
  .loc 1 10 3
  mov.u32 %r1, 1;
  .loc 2 55 7, function_name $L__info_string0, inlined_at 1 12 5
  mov.u32 %r1, 2;
  .loc 2 77 1, function_name $L__info_string1+14, inlined_at 2 55 7
  mov.u32 %r1, 3;
  .loc 1 0 0
  mov.u32 %r1, 4;
  .loc 3 99 1
  trap;
})";
  const auto module = parse(text);
  const ptx::Function& k = *module->find("k");
  const auto where = [&](size_t i) { return report::places(module->frames(k.instructions[i].location)); };
  EXPECT_EQ(where(0), "level/kernel.cuh:10");
  EXPECT_EQ(where(1), "ptx/mbarrier.cuh:55, called at level/kernel.cuh:12");
  EXPECT_EQ(where(2), "ptx/mbarrier.cuh:77, called at ptx/mbarrier.cuh:55, called at level/kernel.cuh:12");
  EXPECT_EQ(where(3), where(2));  // line 0: the compiler does not say
  EXPECT_EQ(where(4), "main.cu:99");
  Bench bench;
  expect_fault(bench.launch(".version 9.0\n.target sm_100a\n.address_size 64\n" + text, {}), faults::trap);
}

TEST(Parser, TablesOfBranchesAndPrototypes) {
  const auto module = parse(
      ".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, 1; table: .branchtargets $A, $B; proto: .callprototype "
      "(.param .b32 _) _ (.param .b32 _); brx.idx %r1, table; $A: ret; $B: trap; }");
  const ptx::Function& k = *module->find("k");
  ASSERT_EQ(k.branch_targets.size(), 1u);
  EXPECT_EQ(k.branch_targets[0].targets, (std::vector<uint32_t>{2, 3}));
}

TEST(Parser, VariablesAndInitialisers) {
  const auto module = parse(
      ".global .align 4 .u32 a[2][3] = {{1, 2}, {3}};\n.const .f32 c = 1.5;\n.extern .shared .align 1024 .b8 "
      "dynamic[];\n.shared .v4 .b32 quad;\n.global .b8 text[] = {104, 105, 0};\n.global .u64 p[2] = {a, "
      "generic(text)+1};\n.global .s32 n = -7;\n.visible .global .align 8 .f64 d = 0d3FF0000000000000, e;\n");
  const auto variable = [&](const std::string& name) -> const ptx::Variable& { return *module->globals.at(name); };
  EXPECT_EQ(variable("a").bytes, 24u);
  EXPECT_EQ(variable("a").initial.size(), 16u);  // zeros at the end go without saying
  EXPECT_EQ(variable("c").initial, (std::vector<uint8_t>{0, 0, 0xC0, 0x3F}));
  EXPECT_TRUE(variable("dynamic").external);
  EXPECT_EQ(variable("dynamic").align, 1024u);
  EXPECT_EQ(variable("quad").bytes, 16u);
  EXPECT_EQ(variable("quad").align, 16u);
  EXPECT_EQ(variable("text").bytes, 3u);
  ASSERT_EQ(variable("p").relocations.size(), 2u);
  EXPECT_EQ(variable("p").relocations[1].addend, 1);
  EXPECT_EQ(variable("n").initial, (std::vector<uint8_t>{0xF9, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(variable("e").bytes, 8u);
}

// ---- errors

TEST(Parser, ErrorsNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {".visible .entry k()\n{\n  mov.u32 %r1 %r2;\n}", "',' or ';' behind an operand is required"},
      {".visible .entry k()\n{\n  .reg .b32 %r<2>;\n  @%p1 mov.u32 %r1, 1;\n}", "'%p1' behind '@' is not a predicate"},
      {".visible .entry k()\n{\n  bra nowhere;\n}", "no label 'nowhere'"},
      {".visible .entry k()\n{\n  .rag .b32 %r<2>;\n}", "the directive '.rag' does not belong"},
      {".visible .entry k()\n.maxthreads 3\n{ }", "'.maxthreads' is not a directive of a kernel"},
      {".visible .entry k()\n{\n  mov.u32 %r1, 1;\n", "is never"},
      {".banana 3", "the directive '.banana' does not belong"},
      {".global .u32 x[2] = {1, @};", "a number is required"},
      {".visible .entry k()\n{\n  .reg .b40 %r;\n}", "'.b40' is not a type"},
      {".visible .entry k()\n{\n  ld.global.u32 %r1, [%rd1+];\n}", "a number is required"}};
  for (const auto& [text, message] : cases) {
    try {
      parse(text);
      ADD_FAILURE() << "parsed: " << text;
    } catch (const ptx::SyntaxError& error) {
      EXPECT_NE(error.message.find(message), std::string::npos) << error.message;
      EXPECT_GE(error.line, 4u);
    }
  }
  Bench bench;
  Outcome outcome;
  EXPECT_EQ(
      bench.device().load(".version 9.0\n.target sm_100a\n.visible .entry k()\n{\n  mov.u32 %r1, 1;\n  mov.u32 = 3;\n}",
                          "broken.ptx", &outcome),
      nullptr);
  expect_failure(outcome, Status::InvalidPtx, {"broken.ptx:6: ", "'='"});
}

TEST(Parser, AnyPrefixOfAKernelEndsInAnErrorOrAModule) {
  Source source;
  source.prologue = ".global .align 4 .u32 n[2] = {1, 2};\n.file 1 \"a.cu\"\n";
  source.parameters = ".param .u64 p";
  source.body =
      ".loc 1 5 6, function_name $L+4, inlined_at 1 7 8\n{ .reg .b32 x; L: setp.eq.u32 %p1|%p2, %r1, 0f3F800000; @!%p1 "
      "bra L; } /* c */ mov.b64 {%r1, _}, %rd1; ld.global.v2.u32 {%r1, %r2}, [%rd1+-8]; t: .branchtargets L2; L2: call "
      "(x), f, (y, 3);";
  const std::string text = source.text();
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      ptx::parse(std::string_view(text).substr(0, length), "prefix");
    } catch (const ptx::SyntaxError&) {}
  }
}

TEST(Decoding, UnknownInstructionsCountWhenExecuted) {
  Bench bench;
  auto* out = bench.allocate<uint32_t>(1);
  Source source;
  source.parameters = ".param .u64 out, .param .u32 go";
  source.body =
      "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [go]; setp.ne.u32 %p1, %r1, 0; @%p1 frobnicate.sync.b32 %r2, %r1; "
      "@%p1 add.wobble.u32 %r2, %r1, %r1; mov.u32 %r3, 5; st.global.u32 [%rd1], %r3;";
  expect_success(bench.launch(source, {}, out, 0u));
  EXPECT_EQ(*out, 5u);
  expect_fault(bench.launch(source, {}, out, 1u), faults::not_ptx, {"frobnicate.sync.b32"});
  source.body = "add.wobble.u32 %r2, %r1, %r1;";
  expect_fault(bench.launch(source, {}, out, 1u), faults::not_ptx, {"add.wobble.u32"});
  // What PTX does not have, and what it has and the simulated device has not.
  for (const char* const text :
       {"mul.lo.sat.u32 %r2, %r1, %r1;", "add.f32 %f1, %f2;", "ld.global.u32.cached %r2, [%rd1];",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, %p1, 1, 1, 0, 0;",
        "mov.u64 %rd1, %r1;", "add.u32 %r1, %rd1, %r1;", "mov.u32 %rd1, %r1;", "selp.u32 %r1, %r1, %r1, %r2;",
        "shfl.idx.b32 %r1, %r2, 0, 31;", "setp.between.u32 %p1, %r1, %r2;", "atom.global.fetch.u32 %r1, [%rd1], 1;"}) {
    source.body = text;
    expect_fault(bench.launch(source, {}, out, 1u), faults::not_ptx);
  }
  for (const char* const text : {"tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5}];",
                                 "multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;", "stacksave.u64 %rd1;"}) {
    source.body = text;
    expect_failure(bench.launch(source, {}, out, 1u), Status::IllegalInstruction, {"does not know the instruction"});
  }
}

}  // namespace
}  // namespace sim::test
