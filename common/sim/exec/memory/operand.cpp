#include "exec/memory/operand.h"

namespace sim {

using ptx::Space;

Space space_of(const Decoder& d, bool* cluster) {
  *cluster = d.has("shared::cluster");
  if (d.has("global")) return Space::Global;
  if (d.has("shared") || d.has("shared::cta") || *cluster) return Space::Shared;
  if (d.has("local")) return Space::Local;
  if (d.has("const")) return Space::Const;
  if (d.has("param") || d.has("param::entry") || d.has("param::func")) return Space::Param;
  return Space::Generic;
}

MemoryOperand decode_memory_operand(Decoder& d, const ptx::Operand& operand) {
  MemoryOperand memory;
  memory.space = space_of(d, &memory.cluster);
  memory.address = d.address(operand);
  // Without a space in the instruction, the named variable determines it. An argument of a call is in local memory.
  const ptx::Variable* const variable = d.variable_of(operand);
  if (variable == nullptr) return memory;
  if (memory.space == Space::Generic) memory.space = variable->space;
  if (memory.space == Space::Param && !d.is_kernel_parameter(variable)) memory.space = Space::Local;
  return memory;
}

}  // namespace sim
