#include "check/order_names.h"

#include <map>
#include <utility>

#include "exec/core/op.h"
#include "exec/core/program.h"
#include "exec/core/report.h"

namespace sim {

KernelNames::KernelNames(const Launch& launch)
    : launch_(launch),
      program_(*launch.program),
      memory_(*launch.memory),
      grid_(launch.grid),
      cluster_size_(launch.cluster_size()) {
  // Instructions count as one if they come from the same source lines through all calls.
  std::map<std::vector<std::pair<int64_t, int64_t>>, uint32_t> first;
  for (uint32_t pc = 0; pc < program_.ops.size(); ++pc) {
    std::vector<std::pair<int64_t, int64_t>> lines;
    for (const ptx::SourceLocation* call : program_.calls_of(pc)) lines.emplace_back(call->file, call->line);
    first_of_line_.push_back(lines.empty() ? pc : first.try_emplace(std::move(lines), pc).first->second);
  }
}

std::string KernelNames::kernel() const { return readable_name(program_.kernel->name); }

std::string KernelNames::cta(const order::CtaKnowledge& cta) const {
  const uint32_t number = cta.place.cta;
  return name_of_cta({number % grid_[0], number / grid_[0] % grid_[1], number / grid_[0] / grid_[1]}, cta.rank,
                     cluster_size_);
}

Location KernelNames::locate(uint32_t pc) const { return program_.locate(pc); }

std::string KernelNames::shared(uint64_t offset) const {
  return name_of_shared(launch_, static_cast<uint32_t>(offset));
}

std::string KernelNames::global(uint64_t address) const {
  const GlobalMemory::Allocation* const found = memory_.find(address, 1);
  return found == nullptr ? base::hex(address) : found->label + " +" + base::hex(address - found->begin);
}

const uint8_t* KernelNames::bytes(const order::CtaKnowledge* cta, uint64_t address) const {
  if (cta != nullptr) return cta->memory == nullptr ? nullptr : cta->memory + address;
  return memory_.find(address, 1) == nullptr ? nullptr : host_pointer(address);
}

}  // namespace sim
