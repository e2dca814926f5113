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

  /// The function that a call names, aliases followed; nullptr if it names none with a body, or is through a pointer.
  const ptx::Function* callee(const ptx::Instruction& call) const;
  /// Does a chain of direct calls lead from it to itself?
  bool calls_itself(const ptx::Function& function);
  /// Those whose addresses a text takes anywhere, in initial values or instructions: any of them may be behind a
  /// pointer.
  const std::vector<const ptx::Function*>& address_taken();
  /// The function and all that it may call, through pointers, too.
  std::vector<const ptx::Function*> reachable(const ptx::Function& from);

 private:
  std::vector<const ptx::Function*> callees(const ptx::Function& function) const;

  const ptx::Module& module_;
  std::map<const ptx::Function*, bool> calls_itself_;
  bool knows_taken_ = false;
  std::vector<const ptx::Function*> taken_;
};

/// Where a call's operands are: `call (results), target, (arguments), prototype`.
struct CallOperands {
  explicit CallOperands(const ptx::Instruction& call);
  const ptx::Operand* target = nullptr;
  std::span<const ptx::Operand> results, arguments;
};

/// The function of this name that has a body, behind an alias if need be; nullptr if there is none.
const ptx::Function* find_body(const ptx::Module& module, std::string_view name);

}  // namespace sim
