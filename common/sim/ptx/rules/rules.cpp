#include "ptx/rules/rules.h"

#include <algorithm>
#include <charconv>

#include "ptx/rules/calls.h"
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

using OK = Operand::Kind;

Target target_of(const Module& module) {
  Target target;
  target.version = 10 * module.version_major + module.version_minor;
  const std::string& name = module.target;
  const size_t at = name.find('_') + 1;
  const char* const end_of_name = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + at, end_of_name, target.arch);
  if (error == std::errc() && end != end_of_name) target.variant = *end;
  return target;
}

/// The parameter of `function` that an instruction on .param space names; nullptr if it names none.
const Variable* named_parameter(const Instruction& instruction, size_t operand) {
  if (instruction.operands.size() <= operand || instruction.operands[operand].kind != OK::Address) return nullptr;
  const Operand& base = instruction.operands[operand].elements[0];
  return base.kind == OK::Variable && base.variable->space == Space::Param ? base.variable : nullptr;
}

bool holds(const std::vector<Variable*>& list, const Variable* variable) {
  return std::find(list.begin(), list.end(), variable) != list.end();
}

/// Parameters are read by the function, results written.
std::optional<std::string> check_parameters(const Function& function, const Instruction& instruction) {
  if (instruction.opcode == "st") {
    const Variable* const parameter = named_parameter(instruction, 0);
    if (parameter != nullptr && holds(function.parameters, parameter))
      return "the parameter '" + parameter->name + "' cannot be written";
  } else if (instruction.opcode == "ld") {
    const Variable* const parameter = named_parameter(instruction, 1);
    if (parameter != nullptr && holds(function.results, parameter))
      return "the result '" + parameter->name + "' cannot be read";
  } else if (instruction.opcode == "mov" && instruction.operands.size() == 2 &&
             instruction.operands[1].kind == OK::Variable) {
    const Variable* const variable = instruction.operands[1].variable;
    if (variable->space == Space::Param && !holds(function.parameters, variable))
      return "the address of '" + variable->name + "' cannot be taken: it is an argument or result of a call";
  }
  return std::nullopt;
}

/// A load or store moves at most 128 bits; 256 in global memory.
std::optional<std::string> check_width(const Instruction& instruction, const Target& target) {
  if (instruction.opcode != "ld" && instruction.opcode != "st" && instruction.opcode != "ldu") return std::nullopt;
  int count = 1, width = 0;
  bool elsewhere = false;
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier == "v2" || modifier == "v4" || modifier == "v8") count = modifier[1] - '0';
    if (const Type type = type_of(modifier); type != Type::None) width = bits(type);
    elsewhere |=
        modifier.starts_with("shared") || modifier == "local" || modifier == "const" || modifier.starts_with("param");
  }
  if (count * width <= 128) return std::nullopt;
  if (count * width == 256 && width < 128 && !elsewhere && target.arch >= 100 && target.version >= 88)
    return std::nullopt;
  return "'" + instruction.form() + "' moves " + std::to_string(count * width) +
         " bits; at most 128 can be moved at once, and 256 in global memory from sm_100 and PTX 8.8 on";
}

std::optional<std::string> check_instruction(const Module& module, const Function& function,
                                             const Instruction& instruction, const Target& target) {
  if (instruction.opcode == "call") return check_call(module, function, instruction);
  if (auto wrong = check_signature(module, function, instruction, target)) return wrong;
  if (auto wrong = check_parameters(function, instruction)) return wrong;
  return check_width(instruction, target);
}

}  // namespace

std::vector<RuleViolation> check(const Module& module, const Function& function) {
  const Target target = target_of(module);
  std::vector<RuleViolation> findings;
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    if (auto wrong = check_instruction(module, function, instruction, target))
      findings.push_back({instruction.line, std::move(*wrong), i, instruction.location});
  }
  return findings;
}

std::vector<RuleViolation> check(const Module& module) {
  std::vector<RuleViolation> findings;
  for (const auto& function : module.functions) {
    std::vector<RuleViolation> more = check(module, *function);
    findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return findings;
}

}  // namespace sim::ptx
