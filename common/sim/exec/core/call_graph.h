// The calls within a module: which functions can be inlined into their callers, and which cannot.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace sim {

class CallGraph {
 public:
  explicit CallGraph(const ptx::Module& module) : module_(module) {}

  /// The function that a call names, with aliases resolved; nullptr if that has no body, or the call is through a
  /// pointer.
  const ptx::Function* callee(const ptx::Instruction& call) const;
  /// Whether a chain of direct calls leads from the function to itself.
  bool calls_itself(const ptx::Function& function);
  /// Functions whose addresses are taken anywhere, in initial values or instructions: a pointer may refer to any of
  /// them.
  const std::vector<const ptx::Function*>& address_taken();
  /// The function and all functions that it may call, including calls through pointers.
  std::vector<const ptx::Function*> reachable(const ptx::Function& from);

 private:
  std::vector<const ptx::Function*> callees(const ptx::Function& function) const;

  const ptx::Module& module_;
  std::map<const ptx::Function*, bool> calls_itself_;
  bool knows_taken_ = false;
  std::vector<const ptx::Function*> taken_;
};

/// The positions of a call's operands: `call (results), target, (arguments), prototype`.
struct CallOperands {
  explicit CallOperands(const ptx::Instruction& call);
  const ptx::Operand* target = nullptr;
  std::span<const ptx::Operand> results, arguments;
};

/// The function of this name that has a body, or that an alias of this name refers to; nullptr if there is none.
const ptx::Function* find_body(const ptx::Module& module, std::string_view name);

}  // namespace sim
