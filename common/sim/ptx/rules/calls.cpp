#include "ptx/rules/calls.h"

#include <algorithm>

#include "ptx/rules/types.h"

namespace sim::ptx {
namespace {

using OK = Operand::Kind;

struct Call {
  const Operand* results = nullptr;
  const Operand* target = nullptr;
  const Operand* arguments = nullptr;
  const Operand* prototype = nullptr;
};

std::optional<std::string> take_apart(const Instruction& instruction, Call& call) {
  const std::vector<Operand>& operands = instruction.operands;
  size_t at = 0;
  const auto is_list = [&](size_t i) { return i < operands.size() && operands[i].is_list; };
  if (is_list(at)) call.results = &operands[at++];
  if (at >= operands.size()) return "a call names a function";
  call.target = &operands[at++];
  if (is_list(at)) call.arguments = &operands[at++];
  if (at < operands.size()) call.prototype = &operands[at++];
  if (at < operands.size()) return "a call is `call (results), function, (arguments);` or ends in a prototype";
  return std::nullopt;
}

size_t size(const Operand* list) { return list == nullptr ? 0 : list->elements.size(); }

/// The mismatch between `operand` and `parameter`, if any.
std::optional<std::string> compare(const Function& caller, const Operand& operand, const Variable& parameter,
                                   bool is_result) {
  const std::string what = (is_result ? "the result '" : "the argument '") + parameter.name + "' ";
  switch (operand.kind) {
    case OK::Sink: return is_result ? std::nullopt : std::optional(what + "cannot be '_'");
    case OK::Variable: {
      const Variable& given = *operand.variable;
      if (given.space != Space::Param || operand.value != 0) return what + "must be a .param variable";
      if (given.is_array != parameter.is_array || given.bytes != parameter.bytes ||
          (given.is_array ? false : bits(given.type) != bits(parameter.type)))
        return what + "has " + std::to_string(parameter.bytes) + " bytes, and '" + given.name +
               "' is another type of " + std::to_string(given.bytes);
      if (given.align != parameter.align)
        return what + "is aligned to " + std::to_string(parameter.align) + " bytes, and '" + given.name + "' to " +
               std::to_string(given.align);
      return std::nullopt;
    }
    case OK::Register:
    case OK::Immediate: {
      const OperandType* const type = find_operand_type(name_of(parameter.type));
      const bool fitting = type != nullptr && !parameter.is_array &&
                           (operand.kind == OK::Register ? fits(*type, caller.registers[operand.reg].type, false)
                                                         : !is_result && fits_literal(*type, operand));
      if (!fitting)
        return what + "must be a .param variable or a value of type ." + std::string(name_of(parameter.type));
      return std::nullopt;
    }
    default: return what + "must be a .param variable";
  }
}

std::optional<std::string> compare(const Function& caller, const Call& call, const std::vector<Variable*>& results,
                                   const std::vector<Variable*>& parameters) {
  if (size(call.arguments) != parameters.size() || size(call.results) != results.size()) {
    return "the function takes " + std::to_string(parameters.size()) + " arguments and returns " +
           std::to_string(results.size()) + ", the call passes " + std::to_string(size(call.arguments)) +
           " and takes " + std::to_string(size(call.results));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (auto wrong = compare(caller, call.results->elements[i], *results[i], true)) return wrong;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (auto wrong = compare(caller, call.arguments->elements[i], *parameters[i], false)) return wrong;
  }
  return std::nullopt;
}

}  // namespace

bool is_system_function(std::string_view name) {
  for (const std::string_view known : {"vprintf", "__assertfail", "malloc", "free", "cudaGraphSetConditional"}) {
    if (name == known) return true;
  }
  return name.starts_with("__cudaCDP2");  // dynamic parallelism: calls are reported when executed
}

std::optional<std::string> check_call(const Module& module, const Function& caller, const Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier != "uni") return "'call' takes the modifier .uni alone, not ." + modifier;
  }
  Call call;
  if (auto wrong = take_apart(instruction, call)) return wrong;
  if (call.target->kind == OK::Function) {
    const Function* const callee = module.find(call.target->text);
    if (callee == nullptr) return "there is no function '" + call.target->text + "' declared before this call";
    if (callee->is_entry) return "'" + callee->name + "' is a kernel (.entry); functions (.func) can be called";
    if (!callee->has_body && !is_system_function(callee->name)) {
      const bool is_alias = std::any_of(module.aliases.begin(), module.aliases.end(),
                                        [&](const auto& alias) { return alias.first == callee->name; });
      if (!is_alias)
        return "the function '" + callee->name + "' has no body in this text, and the system has none either";
    }
    return compare(caller, call, callee->results, callee->parameters);
  }
  const bool is_pointer = call.target->kind == OK::Register && bits(caller.registers[call.target->reg].type) == 64 &&
                          !is_float(caller.registers[call.target->reg].type);
  if (!is_pointer) return "a call names a function, or a register of 64 bits with its address";
  if (call.prototype == nullptr) return "a call through a pointer needs a .callprototype or .calltargets behind it";
  for (const CallPrototype& prototype : caller.prototypes) {
    if (call.prototype->kind != OK::Function || prototype.name != call.prototype->text) continue;
    if (!prototype.is_target_list) return compare(caller, call, prototype.results, prototype.parameters);
    for (const std::string& target : prototype.targets) {
      const Function* const callee = module.find(target);
      if (auto wrong = compare(caller, call, callee->results, callee->parameters)) return wrong;
    }
    return std::nullopt;
  }
  return "what stands behind the arguments is no .callprototype or .calltargets of this function";
}

}  // namespace sim::ptx
