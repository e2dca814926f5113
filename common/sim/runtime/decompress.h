// The two compressions that nvcc uses for PTX in a fat binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace sim::runtime {

/// Describes what is wrong with a fat binary, as a sentence.
struct FatbinError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Decompresses an LZ4 block without a frame. Throws FatbinError if it is corrupt or does not hold exactly `size`
/// bytes.
std::string decompress_lz4(std::span<const uint8_t> block, std::size_t size);

/// Decompresses a Zstandard frame with libzstd.so.1, which is opened at first use. Throws FatbinError if the library is
/// missing, the frame is corrupt, or it does not hold exactly `size` bytes.
std::string decompress_zstd(std::span<const uint8_t> frame, std::size_t size);

}  // namespace sim::runtime
