#include "exec/core/program.h"

namespace sim {
namespace {

std::string file_and_line(const ptx::Module& module, const ptx::SourceLocation& at) {
  const auto file = module.files.find(at.file);
  std::string path = file == module.files.end() ? "?" : file->second;
  path.erase(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  return path + ":" + std::to_string(at.line);
}

}  // namespace

std::string Program::describe(uint32_t pc) const {
  if (pc >= ops.size()) return "?";
  const ptx::Instruction& instruction = *instructions[ops[pc].source];
  if (instruction.line == 0) return "the end of the kernel";
  std::string text = instruction.form() + " (PTX line " + std::to_string(instruction.line);
  const std::string source = module->describe(instruction.location);
  if (!source.empty()) text += ", " + source;
  return text + ")";
}

std::string Program::source_line(uint32_t pc) const {
  if (pc >= ops.size()) return "?";
  int32_t location = instructions[ops[pc].source]->location;
  if (location < 0) return "PTX line " + std::to_string(instructions[ops[pc].source]->line);
  const ptx::SourceLocation* at = &module->locations[static_cast<size_t>(location)];
  while (at->inlined_at >= 0) at = &module->locations[static_cast<size_t>(at->inlined_at)];
  return file_and_line(*module, *at);
}

}  // namespace sim
