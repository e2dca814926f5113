#include "runtime/decompress.h"

#include <dlfcn.h>

namespace sim::runtime {
namespace {

/// A cursor over the block, with bounds checks.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool at_end() const { return at_ == bytes_.size(); }
  uint8_t byte() {
    if (at_end()) throw FatbinError("its LZ4 data ends in the middle of a sequence");
    return bytes_[at_++];
  }
  std::span<const uint8_t> take(std::size_t count) {
    if (count > bytes_.size() - at_) throw FatbinError("its LZ4 data ends in the middle of a run of literals");
    const auto run = bytes_.subspan(at_, count);
    at_ += count;
    return run;
  }
  /// A length whose first four bits are `start`: 15 means that further bytes are added, up to the first below 255.
  std::size_t length(std::size_t start) {
    if (start < 15) return start;
    for (uint8_t more = 255; more == 255;) start += more = byte();
    return start;
  }

 private:
  std::span<const uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string decompress_lz4(std::span<const uint8_t> block, std::size_t size) {
  constexpr std::size_t kMinMatch = 4;
  Reader reader(block);
  std::string text;
  const auto make_room = [&](std::size_t count) {
    if (count > size - text.size()) throw FatbinError("its LZ4 data holds more than the header says");
  };
  while (!reader.at_end()) {
    const uint8_t token = reader.byte();
    const auto literals = reader.take(reader.length(token >> 4));
    make_room(literals.size());
    text.append(reinterpret_cast<const char*>(literals.data()), literals.size());
    if (reader.at_end()) break;  // the last sequence has no match

    const std::size_t low = reader.byte();
    const std::size_t distance = low | std::size_t{reader.byte()} << 8;
    const std::size_t count = reader.length(token & 15) + kMinMatch;
    if (distance == 0 || distance > text.size()) throw FatbinError("its LZ4 data refers to text before its start");
    make_room(count);
    // A match may overlap what it produces, so it is copied byte by byte.
    for (std::size_t i = 0; i < count; ++i) text.push_back(text[text.size() - distance]);
  }
  if (text.size() != size) throw FatbinError("its LZ4 data holds less than the header says");
  return text;
}

std::string decompress_zstd(std::span<const uint8_t> frame, std::size_t size) {
  using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  using IsError = unsigned (*)(std::size_t);
  static void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  static const auto decompress =
      library == nullptr ? nullptr : reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress"));
  static const auto is_error = library == nullptr ? nullptr : reinterpret_cast<IsError>(dlsym(library, "ZSTD_isError"));
  if (decompress == nullptr || is_error == nullptr) {
    throw FatbinError(
        "its PTX is compressed with Zstandard, but libzstd.so.1 is not installed: install it (Debian and Ubuntu: "
        "apt install libzstd1), or compile the program with nvcc --no-compress");
  }
  std::string text(size, '\0');
  const std::size_t written = decompress(text.data(), text.size(), frame.data(), frame.size());
  if (is_error(written) != 0) throw FatbinError("its Zstandard data is corrupt");
  if (written != size) throw FatbinError("its Zstandard data holds less than the header says");
  return text;
}

}  // namespace sim::runtime
