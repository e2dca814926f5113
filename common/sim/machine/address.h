// The address spaces of a kernel. A generic address has 64 bits; its top byte selects the window.
#pragma once

#include <cstdint>

namespace sim {

/// Shared memory, 32-bit form: bits 31..24 the CTA's rank in its cluster, bits 23..0 the offset in that CTA.
inline constexpr uint32_t kSharedOffsetMask = 0x00FF'FFFF;
inline constexpr int kSharedRankShift = 24;

/// Windows in the generic space. Global addresses are host addresses, whose top byte is 0.
inline constexpr uint64_t kSharedWindow = 0x0100'0000'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x0200'0000'0000'0000;
inline constexpr uint64_t kParamWindow = 0x0300'0000'0000'0000;
inline constexpr uint64_t kCodeWindow = 0x0400'0000'0000'0000;  ///< addresses of functions; never loaded or stored
inline constexpr uint64_t kWindowMask = 0xFF00'0000'0000'0000;

inline constexpr bool in_shared_window(uint64_t address) { return (address & kWindowMask) == kSharedWindow; }
inline constexpr bool in_local_window(uint64_t address) { return (address & kWindowMask) == kLocalWindow; }
inline constexpr bool in_param_window(uint64_t address) { return (address & kWindowMask) == kParamWindow; }

}  // namespace sim
