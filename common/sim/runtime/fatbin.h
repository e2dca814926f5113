// Fat binaries as nvcc embeds them: the images in one, the image that a GPU runs, and its PTX text.
//
//   wrapper    u32 0x466243B1, u32 version, pointer to a container, pointer. Version 1 has its images in the container;
//              version 2 (-rdc=true) has them in the containers of a null-terminated array at the second pointer.
//   container  u32 0xBA55ED50, u16 version 1, u16 header bytes, u64 bytes of the entries that follow the header.
//   entry      u16 kind at 0, u32 header bytes at 4, u64 padded payload bytes at 8, u32 compressed bytes at 16,
//              u32 architecture at 28, u64 flags at 40, u64 uncompressed bytes at 56; then the payload.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/gpu.h"
#include "runtime/decompress.h"

namespace sim::runtime {

struct Image {
  enum class Kind { Ptx, Machine, Other };
  /// None: runs on this and every newer architecture. A (sm_100a): only on this one. F (sm_100f): on this one and newer
  /// ones of its family.
  enum class Variant { None, A, F };
  Kind kind = Kind::Other;
  int arch = 0;  ///< 100 for sm_100
  Variant variant = Variant::None;
  uint64_t flags = 0;
  std::size_t uncompressed_bytes = 0;
  std::span<const uint8_t> payload;

  std::string target() const;          ///< "sm_100a"
  bool runs_on(const Gpu& gpu) const;  ///< whether it runs as PTX
  bool is_for(const Gpu& gpu) const;   ///< whether it is machine code for this GPU
  std::string text() const;            ///< the text of a PTX image; throws FatbinError
  std::string bytes() const;           ///< the content of any image, decompressed; throws FatbinError
};

/// The images of one container. `bytes` is the readable memory from its first byte on; bytes after the container are
/// ignored. Throws FatbinError if it is not a container, or is inconsistent.
std::vector<Image> read_container(std::span<const uint8_t> bytes);

/// The images of all containers of a wrapper in this process's memory: one container, or, for a program compiled with
/// -rdc=true, one for each translation unit and one for the result of linking them. Throws FatbinError.
std::vector<std::vector<Image>> read_wrapper(const void* wrapper);

/// The kind of data at `pointer`: the start of a wrapper, a container, machine code (a cubin), or anything else.
enum class ImageFormat { Wrapper, Container, Machine, Other };
ImageFormat recognise(const void* pointer);

/// The number of readable bytes from `pointer` on, from the process's table of mappings.
std::size_t readable_bytes(const void* pointer);

/// The most specific PTX image that `gpu` runs, or nullptr.
const Image* choose(const std::vector<Image>& images, const Gpu& gpu);

/// Explains why `choose` found nothing, with the compiler flags that help. `what` names the program or library.
std::string explain_no_choice(const std::vector<Image>& images, const Gpu& gpu, std::string_view what);

/// "sm_90a" -> 90 and A. Returns arch 0 for anything else. Used for the .target of bare PTX text.
Image parse_target(std::string_view target);

/// The target in the .target directive of a PTX text ("sm_100a"), empty if there is none; and the names of the kernels
/// (.entry) that the text defines.
std::string ptx_target(std::string_view text);
std::vector<std::string> ptx_kernels(std::string_view text);

}  // namespace sim::runtime
