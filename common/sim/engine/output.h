// What kernels print.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sim {

/// What the kernel's printf writes, in the order of the clusters, as soon as all clusters before have ended.
class Output {
 public:
  void end(uint32_t cluster, std::string text);
  ~Output();

 private:
  std::map<uint32_t, std::string> waiting_;
  uint32_t turn_ = 0;
};

}  // namespace sim
