// Fat binaries made by hand, in memory: what nvcc embeds, byte by byte, so that every field can be wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sim::runtime::test {

inline constexpr uint64_t LZ4 = 0x2000, ZSTD = 0x8000, VARIANT_A = 0x100000, VARIANT_F = 0x200000;

template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value, '\0');
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct EntryFields {
  uint16_t kind = 1;  // PTX
  uint32_t arch = 100;
  uint64_t flags = VARIANT_A;
  std::string payload;
  uint32_t compressed_bytes = 0;
  uint64_t uncompressed_bytes = 0;
};

inline std::string entry(const EntryFields& fields) {
  std::string bytes(0x50, '\0');
  const std::size_t padded = (fields.payload.size() + 7) / 8 * 8;
  put<uint16_t>(bytes, 0, fields.kind);
  put<uint32_t>(bytes, 4, 0x50);
  put<uint64_t>(bytes, 8, padded);
  put<uint32_t>(bytes, 16, fields.compressed_bytes);
  put<uint32_t>(bytes, 28, fields.arch);
  put<uint64_t>(bytes, 40, fields.flags);
  put<uint64_t>(bytes, 56, fields.uncompressed_bytes);
  bytes += fields.payload;
  bytes.resize(0x50 + padded, '\0');
  return bytes;
}

inline std::string container(std::initializer_list<std::string> entries) {
  std::string bytes;
  put<uint32_t>(bytes, 0, 0xBA55ED50);
  put<uint16_t>(bytes, 4, 1);
  put<uint16_t>(bytes, 6, 16);
  put<uint64_t>(bytes, 8, 0);
  for (const std::string& one : entries) bytes += one;
  put<uint64_t>(bytes, 8, bytes.size() - 16);
  return bytes;
}

struct Wrapper {
  uint32_t magic = 0x466243B1, version = 1;
  const void* data = nullptr;
  const void* prelinked = nullptr;
};

/// PTX for sm_100a with one kernel of each kind that the tests launch.
inline std::string ptx(std::string_view target = "sm_100a") {
  return ".version 9.0\n.target " + std::string(target) + "\n.address_size 64\n" + R"(
.global .align 4 .b8 counters[16];
.const .align 4 .f32 scale;
.shared .align 4 .b8 fat_static[32768];
// .entry not_a_kernel() in a comment
.visible .entry plain(.param .u64 .ptr .align 1 plain_param_0, .param .u32 plain_param_1) { ret; }
.visible .entry none() { ret; }
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry paired() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry greedy() .maxnreg 128 { ret; }
.visible .entry fat_static_kernel() { ret; }
.visible .entry faults() { ret; }
.visible .entry unfit() { ret; }
)";
}

}  // namespace sim::runtime::test
