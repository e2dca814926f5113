#include "exec/core/call_graph.h"

#include <algorithm>
#include <set>

namespace sim {
namespace {

using ptx::Operand;

template <class F>
void visit(const Operand& operand, F f) {
  f(operand);
  for (const Operand& element : operand.elements) visit(element, f);
}

bool is_through_pointer(const ptx::Instruction& instruction) {
  if (instruction.opcode != "call") return false;
  const Operand* const target = CallOperands(instruction).target;
  return target != nullptr && target->kind == Operand::Kind::Register;
}

}  // namespace

CallOperands::CallOperands(const ptx::Instruction& call) {
  size_t at = 0;
  const auto is_list = [&] { return at < call.operands.size() && call.operands[at].kind == Operand::Kind::Vector; };
  if (is_list()) results = call.operands[at++].elements;
  if (at < call.operands.size()) target = &call.operands[at++];
  if (is_list()) arguments = call.operands[at].elements;
}

const ptx::Function* find_body(const ptx::Module& module, std::string_view name) {
  const ptx::Function* const found = module.find(name);
  if (found != nullptr && found->has_body) return found;
  for (const auto& [alias, aliased] : module.aliases) {
    if (alias == name) return module.find(aliased);
  }
  return nullptr;
}

const ptx::Function* CallGraph::callee(const ptx::Instruction& call) const {
  const Operand* const target = CallOperands(call).target;
  return target != nullptr && target->kind == Operand::Kind::Function ? find_body(module_, target->text) : nullptr;
}

std::vector<const ptx::Function*> CallGraph::callees(const ptx::Function& function) const {
  std::vector<const ptx::Function*> result;
  for (const ptx::Instruction& instruction : function.instructions) {
    if (instruction.opcode != "call") continue;
    if (const ptx::Function* const called = callee(instruction)) result.push_back(called);
  }
  return result;
}

bool CallGraph::calls_itself(const ptx::Function& function) {
  const auto [known, is_new] = calls_itself_.try_emplace(&function, false);
  if (!is_new) return known->second;
  std::set<const ptx::Function*> seen;
  std::vector<const ptx::Function*> open = callees(function);
  while (!open.empty() && !known->second) {
    const ptx::Function* const next = open.back();
    open.pop_back();
    known->second = next == &function;
    if (!seen.insert(next).second) continue;
    for (const ptx::Function* called : callees(*next)) open.push_back(called);
  }
  return known->second;
}

const std::vector<const ptx::Function*>& CallGraph::address_taken() {
  if (knows_taken_) return taken_;
  knows_taken_ = true;
  std::set<const ptx::Function*> seen;
  const auto take = [&](std::string_view name) {
    const ptx::Function* const function = find_body(module_, name);
    if (function != nullptr && !function->is_entry && seen.insert(function).second) taken_.push_back(function);
  };
  for (const auto& variable : module_.variables) {
    for (const ptx::Variable::Relocation& relocation : variable->relocations) take(relocation.symbol);
  }
  for (const auto& function : module_.functions) {
    for (const ptx::Instruction& instruction : function->instructions) {
      if (instruction.opcode == "call") continue;
      for (const Operand& operand : instruction.operands) {
        visit(operand, [&](const Operand& leaf) {
          if (leaf.kind == Operand::Kind::Function) take(leaf.text);
        });
      }
    }
  }
  return taken_;
}

std::vector<const ptx::Function*> CallGraph::reachable(const ptx::Function& from) {
  std::vector<const ptx::Function*> result{&from};
  std::set<const ptx::Function*> seen{&from};
  const auto add = [&](const ptx::Function* function) {
    if (seen.insert(function).second) result.push_back(function);
  };
  for (size_t i = 0; i < result.size(); ++i) {
    const ptx::Function& function = *result[i];
    for (const ptx::Function* called : callees(function)) add(called);
    if (std::any_of(function.instructions.begin(), function.instructions.end(), is_through_pointer)) {
      for (const ptx::Function* taken : address_taken()) add(taken);
    }
  }
  return result;
}

}  // namespace sim
