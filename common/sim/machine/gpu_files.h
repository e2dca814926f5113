// The files of machine/gpus, one for each GPU: its description and the timing model's constants, a fact in each line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/gpu.h"

namespace sim {

struct GpuFact {
  std::string name, value, unit;
  std::string kind;  ///< measured, reported, fitted, assumed
  std::string source;
};

struct GpuFile {
  std::string_view key, text;
};

/// All files, by key, as of the library's build: CMake generates their list.
const std::vector<GpuFile>& gpu_files();

/// Facts whose names begin so describe the GPU; all others are constants.
inline constexpr std::string_view kDescribes = "gpu_";

/// Parses a file. Throws std::runtime_error if a line is not a fact.
std::vector<GpuFact> read_gpu_file(std::string_view csv);
/// The description in a GPU's file. Throws std::runtime_error if a fact is missing or is no number.
Gpu describe(std::string_view key, const std::vector<GpuFact>& facts);

}  // namespace sim
