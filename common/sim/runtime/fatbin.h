// Fat binaries as nvcc embeds them: which images there are, which one a GPU runs, and the PTX text in it.
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
  /// None: runs on this and every newer architecture. A (sm_100a): on exactly this one. F (sm_100f): on this one and
  /// the newer ones of its family.
  enum class Variant { None, A, F };
  Kind kind = Kind::Other;
  int arch = 0;  ///< 100 for sm_100
  Variant variant = Variant::None;
  uint64_t flags = 0;
  std::size_t uncompressed_bytes = 0;
  std::span<const uint8_t> payload;

  std::string target() const;          ///< "sm_100a"
  bool runs_on(const Gpu& gpu) const;  ///< as PTX
  bool is_for(const Gpu& gpu) const;   ///< machine code that it would run
  std::string text() const;            ///< of a PTX image; throws FatbinError
  std::string bytes() const;           ///< of any image, decompressed; throws FatbinError
};

/// The images of one container. `bytes` is everything that may be read from its first byte on; what follows the
/// container is ignored. Throws FatbinError if it is not a container or contradicts itself.
std::vector<Image> read_container(std::span<const uint8_t> bytes);

/// The images of every container of a wrapper in this process's memory: one container, or, of a program compiled with
/// -rdc=true, one for each translation unit and one with what they were linked to. Throws FatbinError.
std::vector<std::vector<Image>> read_wrapper(const void* wrapper);

/// What lies at `pointer`: the start of a wrapper, a container, machine code (a cubin), or anything else.
enum class ImageFormat { Wrapper, Container, Machine, Other };
ImageFormat recognise(const void* pointer);

/// How many bytes may be read from `pointer` on, by the process's own table of mappings; 0 if none.
std::size_t readable_bytes(const void* pointer);

/// The most specific PTX image that `gpu` runs, or nullptr.
const Image* choose(const std::vector<Image>& images, const Gpu& gpu);

/// Why `choose` found nothing, and the compiler flags that help. `what` names the program or library.
std::string explain_no_choice(const std::vector<Image>& images, const Gpu& gpu, std::string_view what);

/// "sm_90a" -> 90 and A. Returns arch 0 for anything else. Used for the .target of bare PTX text.
Image parse_target(std::string_view target);

/// The target that a PTX text names in its .target directive ("sm_100a"), empty if there is none; and the names of the
/// kernels (.entry) that it defines.
std::string ptx_target(std::string_view text);
std::vector<std::string> ptx_kernels(std::string_view text);

}  // namespace sim::runtime
