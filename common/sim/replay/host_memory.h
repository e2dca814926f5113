// Host memory at a given address, for memory that a program has registered with cudaHostRegister.
#pragma once

#include <cstdint>

namespace sim::recording {

/// Null if the memory cannot be mapped there. It stays mapped until the process ends.
void* host_memory(uint64_t address, uint64_t bytes);

}  // namespace sim::recording
