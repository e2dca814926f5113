// Includes the CUDA headers so that every function which they declare is exported from this library.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#define SIM_API extern "C" __attribute__((visibility("default")))

/// A program compiled with --default-stream per-thread calls name_ptsz or name_ptds instead of name. Streams execute at
/// once and in the order of the calls, so both mean the same here.
#define SIM_PER_THREAD(name, suffix) SIM_API __attribute__((alias(#name))) decltype(name) name##suffix;
