// Names of instructions and memory locations of a launch in the order checker's reports.
#pragma once

#include "check/order/race_detector.h"
#include "machine/cluster.h"

namespace sim {

class KernelNames final : public order::ProgramNames {
 public:
  explicit KernelNames(const Launch& launch);
  std::string kernel() const override;
  std::string cta(const order::CtaKnowledge& cta) const override;
  Location locate(uint32_t pc) const override;
  uint32_t first_of_line(uint32_t pc) const override { return first_of_line_[pc]; }
  std::string shared(uint64_t offset) const override;
  std::string global(uint64_t address) const override;
  const uint8_t* bytes(const order::CtaKnowledge* cta, uint64_t address) const override;

 private:
  const Launch& launch_;
  const Program& program_;
  const GlobalMemory& memory_;
  const std::array<uint32_t, 3> grid_;
  const uint32_t cluster_size_;
  std::vector<uint32_t> first_of_line_;
};

}  // namespace sim
