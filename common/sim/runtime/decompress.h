// The two compressions that nvcc uses for PTX in a fat binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace sim::runtime {

/// What is wrong with a fat binary, as a sentence.
struct FatbinError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One LZ4 block (no frame around it). Throws FatbinError if it is corrupt or does not hold exactly `size` bytes.
std::string decompress_lz4(std::span<const uint8_t> block, std::size_t size);

/// One Zstandard frame, through libzstd.so.1, which is opened when it is needed. Throws FatbinError if the library is
/// not there, the frame is corrupt, or it does not hold exactly `size` bytes.
std::string decompress_zstd(std::span<const uint8_t> frame, std::size_t size);

}  // namespace sim::runtime
