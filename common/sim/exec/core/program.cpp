#include "exec/core/program.h"

#include <algorithm>
#include <map>
#include <utility>

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
  const std::vector<const ptx::SourceLocation*> calls = calls_of(pc);
  if (calls.empty()) return "PTX line " + std::to_string(instructions[ops[pc].source]->line);
  return file_and_line(*module, *calls[pc < kernel_end ? std::min(entry_calls, calls.size() - 1) : 0]);
}

std::string Program::innermost_line(uint32_t pc) const {
  const std::vector<const ptx::SourceLocation*> calls = calls_of(pc);
  return calls.empty() ? source_line(pc) : file_and_line(*module, *calls.back());
}

std::vector<const ptx::SourceLocation*> Program::calls_of(uint32_t pc) const {
  std::vector<const ptx::SourceLocation*> calls;
  for (int32_t location = instructions[ops[pc].source]->location; location >= 0;) {
    calls.push_back(&module->locations[static_cast<size_t>(location)]);
    location = calls.back()->inlined_at;
  }
  std::reverse(calls.begin(), calls.end());
  return calls;
}

void Program::find_body() {
  std::vector<std::vector<const ptx::SourceLocation*>> all;
  for (uint32_t pc = 0; pc < kernel_end; ++pc) {
    if (auto calls = calls_of(pc); !calls.empty()) all.push_back(std::move(calls));
  }
  const size_t most = all.size() - all.size() / 10;
  for (entry_calls = 0;; ++entry_calls) {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::vector<const ptx::SourceLocation*>>> by_line;
    for (auto& calls : all) {
      if (calls.size() <= entry_calls + 1) continue;  // its own body
      const ptx::SourceLocation& at = *calls[entry_calls];
      by_line[{static_cast<uint32_t>(at.file), static_cast<uint32_t>(at.line)}].push_back(std::move(calls));
    }
    const auto widest = std::max_element(
        by_line.begin(), by_line.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (widest == by_line.end() || widest->second.size() < most) return;
    all = std::move(widest->second);
  }
}

}  // namespace sim
