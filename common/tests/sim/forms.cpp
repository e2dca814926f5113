// Every instruction form that five code bases of this field compile to (data/ptx_forms.txt) is known. Each gets an
// instruction with operands of the right kinds; those that make sense alone are executed elsewhere.
#include <fstream>
#include <map>
#include <regex>

#include "exec/core/program.h"
#include "ptx/module.h"
#include "support.h"

namespace sim::test {
namespace {

std::vector<std::string> forms() {
  std::ifstream file(SIM_PTX_FORMS);
  std::vector<std::string> list;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) list.push_back(line);
  }
  return list;
}

std::vector<std::string> split(const std::string& form) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : form) {
    if (c == '.')
      parts.push_back(part), part.clear();
    else
      part += c;
  }
  parts.push_back(part);
  return parts;
}
bool has(const std::vector<std::string>& parts, const std::string& wanted) {
  return std::find(parts.begin(), parts.end(), wanted) != parts.end();
}

/// A register of a type, by number: %r3 for .u32, %rd3 for .b64, ...
std::string reg(const std::string& type, int i) {
  const std::string n = std::to_string(i);
  if (type == "pred") return "%p" + n;
  if (type == "f32") return "%f" + n;
  if (type == "f64") return "%fd" + n;
  if (type == "b128") return "%q" + std::to_string(i % 4);
  if (type.ends_with("64")) return "%rd" + n;
  if (type.ends_with("16") || type.ends_with("8")) return "%h" + n;
  return "%r" + n;
}
std::string list(const std::string& type, int count, int first = 1) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + reg(type, first + i % 40);
  return text + "}";
}

/// Operands for a form; "" if the generator does not know it.
std::string operands(const std::string& form) {
  const std::vector<std::string> parts = split(form);
  const std::string& op = parts[0];
  const std::string last = parts.back(), before = parts.size() > 1 ? parts[parts.size() - 2] : "";
  const int vector = has(parts, "v2") ? 2 : has(parts, "v4") ? 4 : has(parts, "v8") ? 8 : 1;
  const auto values = [&](int first) { return vector == 1 ? reg(last, first) : list(last, vector, first); };
  const auto n = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + reg(last, i + 1);
    return text;
  };
  static const std::map<std::string, int> arity{{"abs", 2}, {"neg", 2}, {"not", 2}, {"add", 3}, {"sub", 3},
                                                {"and", 3}, {"or", 3},  {"xor", 3}, {"min", 3}, {"max", 3},
                                                {"div", 3}, {"rem", 3}, {"fma", 4}, {"mov", 2}};
  if (op == "mul" || op == "mad") {
    if (!has(parts, "wide")) return n(op == "mul" ? 3 : 4);
    const std::string wide = last.ends_with("16") ? "u32" : "u64";
    return reg(wide, 1) + ", " + reg(last, 2) + ", " + reg(last, 3) + (op == "mad" ? ", " + reg(wide, 4) : "");
  }
  if (arity.count(op)) return n(arity.at(op));
  if (op == "shl" || op == "shr") return reg(last, 1) + ", " + reg(last, 2) + ", %r3";
  if (op == "bfi") return "%r1, %r2, %r3, 4, 8";
  if (op == "selp") return n(3) + ", %p4";
  if (op == "setp") return "%p1, " + reg(last, 2) + ", " + reg(last, 3);
  if (op == "cvt") return reg(before, 1) + ", " + reg(last, 2) + (has(parts, "bf16x2") ? ", " + reg(last, 3) : "");
  if (op == "cvta") return "%rd1, %rd2";
  if (op == "ld" && has(parts, "param")) return values(1) + ", [packet]";
  if (op == "st" && has(parts, "param")) return "[argument], " + values(1);
  if (op == "ld") return values(1) + ", [%rd41+32]";
  if (op == "st") return "[%rd41+32], " + values(1);
  if (op == "atom") return reg(last, 1) + ", [%rd41], " + reg(last, 2);
  if (op == "redux") return "%r1, %r2, -1";
  if (op == "ldmatrix") return list("b32", has(parts, "x4") ? 4 : 1) + ", [%r41]";
  if (op == "stmatrix") return "[%r41], " + list("b32", has(parts, "x4") ? 4 : 1);
  if (op == "shfl") return "%r1|%p1, %r2, %r3, 31, -1";
  if (op == "elect") return "_|%p1, -1";
  if (op == "bra") return "end";
  if (op == "call") return "(result), callee, (word)";
  if (op == "ret" || op == "trap") return " ";
  if (op == "bar" && before == "warp") return "-1";
  if (op == "bar") return "1, 128";
  if (op == "barrier" || op == "griddepcontrol" || op == "fence") return " ";
  if (op == "nanosleep") return "100";
  if (op == "setmaxnreg") return "40";
  if (op == "mapa") return "%r1, %r2, 1";
  if (op == "prefetch") return "[%rd1]";
  if (op == "clusterlaunchcontrol") {
    if (has(parts, "try_cancel")) return "[%r1], [%r2]";
    return has(parts, "is_canceled") ? "%p1, %q1" : "{%r1, %r2, %r3, %r4}, %q1";
  }
  if (op == "mbarrier") {
    const std::string& what = parts[1];
    if (what == "init") return "[%r1], 1";
    if (what == "arrive")
      return has(parts, "expect_tx") ? "_, [%r1], %r2" : has(parts, "shared::cluster") ? "_, [%r1]" : "%rd1, [%r1]";
    if (what == "expect_tx") return "[%r1], %r2";
    return "%p1, [%r1], " + std::string(has(parts, "parity") ? "%r2" : "%rd2");
  }
  if (op == "cp" && !has(parts, "bulk")) {
    if (has(parts, "commit_group") || has(parts, "wait_all")) return " ";
    if (has(parts, "wait_group")) return "1";
    return has(parts, "mbarrier") ? "[%r1]" : "[%r1], [%rd1], 16";
  }
  if (op == "cp") {
    if (has(parts, "commit_group")) return " ";
    if (has(parts, "wait_group")) return "1";
    if (!has(parts, "tensor")) return "[%r1], [%rd1], 1024, [%r2]";
    const int rank = has(parts, "2d") ? 2 : has(parts, "3d") ? 3 : 5;
    const std::string where = "[%rd1, " + list("b32", rank, 10) + "]";
    if (has(parts, "bulk_group")) return where + ", [%r1]";
    return "[%r1], " + where + ", [%r2]" + (has(parts, "multicast::cluster") ? ", %h1" : "") +
           (has(parts, "L2::cache_hint") ? ", %rd9" : "");
  }
  if (op == "tcgen05") {
    const std::string& what = parts[1];
    if (what == "alloc") return "[%r1], 128";
    if (what == "dealloc") return "%r1, 128";
    if (what == "commit") return std::string("[%r1]") + (has(parts, "multicast::cluster") ? ", %h1" : "");
    if (what == "ld") return list("b32", std::stoi(before.substr(1))) + ", [%r41]";
    if (what == "mma") return "[%r1], %rd1, %rd2, %r2, %p1";
    return " ";
  }
  if (op == "wgmma") {
    const std::string& what = parts[1];
    if (what != "mma_async") return what == "wait_group" ? "0" : " ";
    int count = 0, k = 0;
    for (const std::string& part : parts) std::sscanf(part.c_str(), "m64n%dk%d", &count, &k);
    const bool half = has(parts, "f16") && parts[parts.size() - 3] == "f16";
    std::string text = "{";
    for (int i = 0; i < (half ? count / 4 : count / 2); ++i) text += (i ? ", a" : "a") + std::to_string(i);
    return text + "}, %rd1, %rd2, %p1, 1, 1" + (k == 16 ? ", 0, 0" : "");
  }
  if (op == "mma") return "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}";
  return "";
}

TEST(Forms, EveryFormOfTheFieldIsKnown) {
  const std::vector<std::string> all = forms();
  EXPECT_EQ(all.size(), 293u);
  for (const std::string& form : all) {
    const std::string text = operands(form);
    ASSERT_NE(text, "") << form;
    Source source;
    source.prologue = ".func (.param .b32 r) callee(.param .b32 a) { ret; }\n";
    source.parameters = ".param .align 64 .b8 packet[64]";
    if (form.starts_with("wgmma")) source.target = "sm_90a";
    source.body = ".reg .b32 a<128>; .param .b32 result, word; .param .align 8 .b8 argument[8];\n" + form + " " + text +
                  ";\nend:";
    std::unique_ptr<ptx::Module> module;
    try {
      module = ptx::parse(source.text(), form);
    } catch (const ptx::SyntaxError& error) {
      ADD_FAILURE() << form << ": " << error.message;
      continue;
    }
    const std::unique_ptr<Program> program = decode(*module, *module->find("k"), Placement{});
    for (const std::string& message : program->unknown) ADD_FAILURE() << form << " " << text << "\n  " << message;
  }
}

TEST(Forms, UnknownModifiersAreNotGuessed) {
  // The same forms with a modifier that does not exist.
  for (const std::string& form : forms()) {
    const std::vector<std::string> parts = split(form);
    Source source;
    source.parameters = ".param .align 64 .b8 packet[64]";
    source.body = ".reg .b32 a<128>; .param .b32 result, word; .param .align 8 .b8 argument[8];\n" + parts[0];
    for (size_t i = 1; i < parts.size(); ++i) source.body += "." + parts[i] + (i == 1 ? ".wobble" : "");
    if (parts.size() == 1) source.body += ".wobble";
    source.body += " " + operands(form) + ";\nend:";
    const auto module = ptx::parse(source.text(), form);
    const std::unique_ptr<Program> program = decode(*module, *module->find("k"), Placement{});
    EXPECT_FALSE(program->unknown.empty()) << form;
  }
}

}  // namespace
}  // namespace sim::test
