// The output of kernels.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sim {

/// Writes the output of the kernel's printf in the order of the clusters, as soon as all earlier clusters have ended.
class Output {
 public:
  void end(uint32_t cluster, std::string text);
  ~Output();

 private:
  std::map<uint32_t, std::string> waiting_;
  uint32_t next_ = 0;  ///< the cluster whose output is written next
};

}  // namespace sim
