#include "runtime/fatbin.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/message.h"

namespace sim::runtime {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000, kFlagA = 0x100000, kFlagF = 0x200000;

struct Wrapper {
  uint32_t magic, version;
  const void* container;
  const void* const* prelinked;
};

/// A corrupt size may lead anywhere in readable memory, also between the program's variables, so a sanitizer must not
/// check these reads.
template <typename T>
__attribute__((no_sanitize_address)) T read(std::span<const uint8_t> bytes, std::size_t at) {
  const uint8_t* const from = bytes.data() + at;
  std::array<uint8_t, sizeof(T)> copy;
  for (std::size_t i = 0; i < sizeof(T); ++i) copy[i] = from[i];
  return std::bit_cast<T>(copy);
}

std::span<const uint8_t> everything_from(const void* pointer) {
  return {static_cast<const uint8_t*>(pointer), readable_bytes(pointer)};
}

Image read_entry(std::span<const uint8_t> entry, std::size_t header_bytes, std::size_t payload_bytes) {
  Image image;
  const auto kind = read<uint16_t>(entry, 0);
  image.kind = kind == 1 ? Image::Kind::Ptx : kind == 2 ? Image::Kind::Machine : Image::Kind::Other;
  image.arch = static_cast<int>(std::min<uint32_t>(read<uint32_t>(entry, 28), 9999));
  image.flags = read<uint64_t>(entry, 40);
  if (image.flags & kFlagA) image.variant = Image::Variant::A;
  if (image.flags & kFlagF) image.variant = Image::Variant::F;
  image.payload = entry.subspan(header_bytes, payload_bytes);
  if (image.flags & (kFlagLz4 | kFlagZstd)) {
    const std::size_t compressed_bytes = read<uint32_t>(entry, 16);
    if (compressed_bytes > payload_bytes)
      throw FatbinError("an entry's header gives a size of compressed data that exceeds the entry");
    image.payload = image.payload.first(compressed_bytes);
    image.uncompressed_bytes = read<uint64_t>(entry, 56);
  }
  return image;
}

}  // namespace

std::string Image::target() const {
  return format("sm_%d%s", arch, variant == Variant::A ? "a" : variant == Variant::F ? "f" : "");
}

bool Image::runs_on(const Gpu& gpu) const {
  const int gpu_arch = gpu.major * 10 + gpu.minor;
  if (kind != Kind::Ptx) return false;
  switch (variant) {
    case Variant::None: return arch <= gpu_arch;
    case Variant::A: return arch == gpu_arch;
    case Variant::F: return arch / 10 == gpu.major && arch <= gpu_arch;
  }
  return false;
}

bool Image::is_for(const Gpu& gpu) const {
  const bool exact = variant == Variant::A || variant == Variant::F;
  return kind == Kind::Machine && arch / 10 == gpu.major && (exact ? arch % 10 == gpu.minor : arch % 10 <= gpu.minor);
}

std::string Image::bytes() const {
  // A corrupt size must not lead to an allocation of terabytes. The largest PTX of real libraries is tens of megabytes.
  constexpr std::size_t kLargestText = std::size_t{1} << 30;
  if (uncompressed_bytes > kLargestText) throw FatbinError("an entry's header gives more than 1 GiB of PTX");
  if (flags & kFlagZstd) return decompress_zstd(payload, uncompressed_bytes);
  if (flags & kFlagLz4) return decompress_lz4(payload, uncompressed_bytes);
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

std::string Image::text() const {
  std::string text = bytes();
  text.resize(std::min(text.find('\0'), text.size()));  // uncompressed text is padded with zeros
  if (text.empty()) throw FatbinError("an entry holds no text");
  return text;
}

std::vector<Image> read_container(std::span<const uint8_t> bytes) {
  constexpr std::size_t kHeaderBytes = 16,
                        kEntryHeaderBytes = 64;  // the parts that are read; both headers may be longer
  if (bytes.size() < kHeaderBytes || read<uint32_t>(bytes, 0) != kContainerMagic) {
    throw FatbinError("its container does not start with the magic number of one");
  }
  const auto version = read<uint16_t>(bytes, 4);
  const std::size_t header_bytes = read<uint16_t>(bytes, 6);
  const std::size_t entries_bytes = read<uint64_t>(bytes, 8);
  if (version != 1) throw FatbinError(format("its container has the unknown version %u", version));
  if (header_bytes < kHeaderBytes || header_bytes > bytes.size() || entries_bytes > bytes.size() - header_bytes) {
    throw FatbinError("its container is longer than the memory that holds it");
  }

  std::vector<Image> images;
  auto rest = bytes.subspan(header_bytes, entries_bytes);
  while (!rest.empty()) {
    if (rest.size() < kEntryHeaderBytes) throw FatbinError("its container ends in the middle of an entry's header");
    const std::size_t entry_header_bytes = read<uint32_t>(rest, 4);
    const std::size_t payload_bytes = read<uint64_t>(rest, 8);
    if (entry_header_bytes < kEntryHeaderBytes || entry_header_bytes > rest.size() ||
        payload_bytes > rest.size() - entry_header_bytes) {
      throw FatbinError("an entry of its container is longer than the container");
    }
    images.push_back(read_entry(rest, entry_header_bytes, payload_bytes));
    rest = rest.subspan(entry_header_bytes + payload_bytes);
  }
  return images;
}

std::vector<std::vector<Image>> read_wrapper(const void* pointer) {
  const auto bytes = everything_from(pointer);
  if (bytes.size() < sizeof(Wrapper)) throw FatbinError("its wrapper is not in readable memory");
  const auto wrapper = read<Wrapper>(bytes, 0);
  if (wrapper.magic != kWrapperMagic) throw FatbinError("its wrapper does not start with the magic number of one");
  if (wrapper.version == 1) return {read_container(everything_from(wrapper.container))};
  if (wrapper.version != 2) throw FatbinError(format("its wrapper has the unknown version %u", wrapper.version));

  std::vector<std::vector<Image>> containers;
  auto array = everything_from(wrapper.prelinked);
  for (; array.size() >= sizeof(void*); array = array.subspan(sizeof(void*))) {
    const auto* container = read<const void*>(array, 0);
    if (container == nullptr) {
      if (wrapper.container != nullptr) containers.push_back(read_container(everything_from(wrapper.container)));
      return containers;
    }
    containers.push_back(read_container(everything_from(container)));
  }
  throw FatbinError("the array of its containers has no end");
}

ImageFormat recognise(const void* pointer) {
  const auto bytes = everything_from(pointer);
  if (bytes.size() < sizeof(uint32_t)) return ImageFormat::Other;
  const auto magic = read<uint32_t>(bytes, 0);
  if (magic == kWrapperMagic) return ImageFormat::Wrapper;
  if (magic == kContainerMagic) return ImageFormat::Container;
  return std::memcmp(bytes.data(), "\177ELF", 4) == 0 ? ImageFormat::Machine : ImageFormat::Other;
}

std::size_t readable_bytes(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
  if (!maps) return 0;
  uintptr_t end_of_run = 0;  // end of the consecutive readable mappings from `address` on
  char line[4096];
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uintptr_t begin = 0, end = 0;
    char readable = '-';
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c", &begin, &end, &readable) != 3) continue;
    if (end_of_run == 0 && address >= end) continue;
    if (end_of_run == 0 ? begin > address : begin != end_of_run) break;
    if (readable != 'r') break;
    end_of_run = end;
  }
  return end_of_run == 0 ? 0 : end_of_run - address;
}

const Image* choose(const std::vector<Image>& images, const Gpu& gpu) {
  // Preference: exactly this architecture, then its family, then PTX for every newer GPU; among equals the newest.
  const auto rank = [](const Image& image) {
    return (image.variant == Image::Variant::A ? 20'000 : image.variant == Image::Variant::F ? 10'000 : 0) + image.arch;
  };
  const Image* best = nullptr;
  for (const Image& image : images) {
    if (image.runs_on(gpu) && (best == nullptr || rank(image) > rank(*best))) best = &image;
  }
  return best;
}

std::string explain_no_choice(const std::vector<Image>& images, const Gpu& gpu, std::string_view what) {
  std::string ptx, machine;
  for (const Image& image : images) {
    std::string& list = image.kind == Image::Kind::Ptx ? ptx : machine;
    if (image.kind == Image::Kind::Other || list.find(image.target()) != std::string::npos) continue;
    list += (list.empty() ? "" : ", ") + image.target();
  }
  const int arch = gpu.major * 10 + gpu.minor;
  const std::string remedy =
      format("Compile it with nvcc -gencode arch=compute_%da,code=[sm_%da,compute_%da]", arch, arch, arch);
  std::string found = "no code for any GPU";
  if (!machine.empty())
    found = "machine code for " + machine + " but no PTX, and PTX is what the simulated device runs";
  if (ptx.empty()) return std::string(what) + " holds " + found + ". " + remedy + ".";

  std::string others;
  for (const std::string& key : gpu_keys()) {
    if (choose(images, *find_gpu(key)) != nullptr) others += (others.empty() ? "--gpu " : " or --gpu ") + key;
  }
  return std::string(what) + " holds PTX for " + ptx + ", which the " + gpu.name + " does not run. " + remedy +
         (others.empty() ? "." : ", or run it with scripts/sim.sh " + others + ".");
}

Image parse_target(std::string_view target) {
  Image image;
  image.kind = Image::Kind::Ptx;
  if (!target.starts_with("sm_")) return image;
  target.remove_prefix(3);
  while (!target.empty() && std::isdigit(static_cast<unsigned char>(target.front())) && image.arch < 1000) {
    image.arch = image.arch * 10 + (target.front() - '0');
    target.remove_prefix(1);
  }
  if (target == "a") image.variant = Image::Variant::A;
  if (target == "f") image.variant = Image::Variant::F;
  return image;
}

namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

/// The names after the first `most` occurrences of `directive` (".entry") in a PTX text, outside comments.
std::vector<std::string> names_after(std::string_view text, std::string_view directive,
                                     std::size_t most = std::string_view::npos) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size() && names.size() < most; ++at) {
    if (text[at] != '/' && text[at] != directive[0]) continue;  // a fast test, for long texts
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) {
      at += std::min(rest.find('\n'), rest.size() - 1);
    } else if (rest.starts_with("/*")) {
      at += std::min(rest.find("*/", 2), rest.size() - 2) + 1;
    } else if (rest.starts_with(directive) && rest.size() > directive.size() &&
               std::isspace(static_cast<unsigned char>(rest[directive.size()]))) {
      std::size_t begin = at + directive.size();
      while (begin < text.size() && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
      std::size_t end = begin;
      while (end < text.size() && is_name(text[end])) ++end;
      if (end > begin) names.emplace_back(text.substr(begin, end - begin));
      at = end - 1;
    }
  }
  return names;
}

}  // namespace

std::string ptx_target(std::string_view text) {
  const auto names = names_after(text, ".target", 1);
  return names.empty() ? "" : names.front();
}

std::vector<std::string> ptx_kernels(std::string_view text) { return names_after(text, ".entry"); }

}  // namespace sim::runtime
