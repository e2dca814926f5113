// Host memory at a given address: what a program has registered with cudaHostRegister.
#pragma once

#include <cstdint>

namespace sim::recording {

/// Null if it cannot be had there. It stays until the process ends.
void* host_memory(uint64_t address, uint64_t bytes);

}  // namespace sim::recording
