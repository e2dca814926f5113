#include "exec/core/program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/text.h"

namespace sim {
Location Program::locate(uint32_t pc) const {
  if (pc >= ops.size()) return {"?"};
  const ptx::Instruction& instruction = *instructions[ops[pc].source];
  if (instruction.line == 0) return {"the end of the kernel"};
  Location at{instruction.form(), instruction.line, module->frames(instruction.location)};
  const size_t depth = at.frames.size();
  if (depth > 0) at.body = depth - 1 - (pc < kernel_end ? std::min(entry_calls, depth - 1) : 0);
  return at;
}

std::string Program::source_line(uint32_t pc) const { return report::line(locate(pc)); }

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
