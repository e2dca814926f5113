// Every instruction form that five code bases of this field compile to (data/ptx_forms.txt, with operands of the right
// kinds) is known. Forms that make sense alone are executed elsewhere.
#include <algorithm>
#include <fstream>

#include "exec/core/program.h"
#include "ptx/module.h"
#include "report/text.h"
#include "support.h"

namespace sim::test {
namespace {

std::vector<std::string> forms() {
  std::ifstream file(SIM_PTX_FORMS);
  std::vector<std::string> list;
  for (std::string line; std::getline(file, line);) list.push_back(line);
  return list;
}

/// What the decoder does not know of a kernel with this instruction.
std::vector<std::string> unknown_of(const std::string& instruction) {
  Source source;
  source.prologue = ".func (.param .b32 r) callee(.param .b32 a) { ret; }\n";
  source.parameters = ".param .align 64 .b8 packet[64]";
  if (instruction.starts_with("wgmma")) source.target = "sm_90a";
  source.body =
      ".reg .b32 a<128>; .param .b32 result, word; .param .align 8 .b8 argument[8];\n" + instruction + "\nend:";
  try {
    const auto module = ptx::parse(source.text(), instruction);
    const auto program = decode(*module, *module->find("k"), Placement{});
    std::vector<std::string> found;
    for (const Fault& fault : program->unknown) found.push_back(report::sentence(*fault.what, fault.details));
    return found;
  } catch (const ptx::SyntaxError& error) { return {error.message}; }
}

TEST(Forms, EveryFormOfTheFieldIsKnown) {
  const std::vector<std::string> all = forms();
  EXPECT_FALSE(all.empty());
  for (const std::string& form : all) EXPECT_EQ(unknown_of(form), std::vector<std::string>{}) << form;
}

TEST(Forms, UnknownModifiersAreNotGuessed) {
  // The same forms with a modifier that does not exist, behind the first that does.
  for (std::string form : forms()) {
    const size_t end = form.find_first_of(" ;"), first = form.find('.');
    form.insert(std::min(end, first == std::string::npos ? end : form.find('.', first + 1)), ".wobble");
    EXPECT_NE(unknown_of(form), std::vector<std::string>{}) << form;
  }
}

}  // namespace
}  // namespace sim::test
