// What ptxas has made of a program's kernels, as far as the machine code in its fat binary tells. It is not executed
// here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace sim::runtime {

struct KernelResources {
  int registers = 0;    ///< per thread
  int local_bytes = 0;  ///< per thread: its variables, and what was spilled
};

/// By mangled name, of every kernel and function in an ELF file of machine code (a cubin); none if it is damaged.
std::unordered_map<std::string, KernelResources> resources_in(std::span<const uint8_t> elf);

}  // namespace sim::runtime
