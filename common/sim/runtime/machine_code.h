// Resources of a program's kernels as ptxas compiled them, from the machine code in its fat binary. The machine code is
// not executed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace sim::runtime {

struct KernelResources {
  int registers = 0;    ///< per thread
  int local_bytes = 0;  ///< per thread: variables and spills
};

/// The resources of every kernel and function in an ELF file of machine code (a cubin), by mangled name; empty if the
/// file is damaged.
std::unordered_map<std::string, KernelResources> resources_in(std::span<const uint8_t> elf);

}  // namespace sim::runtime
