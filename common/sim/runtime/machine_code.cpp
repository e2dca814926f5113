#include "runtime/machine_code.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace sim::runtime {
namespace {

/// Reads a T at this offset; empty if the file is too short.
template <class T>
std::optional<T> read(std::span<const uint8_t> file, uint64_t at) {
  if (at > file.size() || file.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

std::span<const uint8_t> contents(std::span<const uint8_t> file, const Elf64_Shdr& section) {
  if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset) return {};
  return file.subspan(section.sh_offset, section.sh_size);
}

std::string_view text_at(std::span<const uint8_t> strings, uint64_t at) {
  if (at >= strings.size()) return "";
  const auto* const from = reinterpret_cast<const char*>(strings.data()) + at;
  return {from, strnlen(from, strings.size() - at)};
}

std::vector<Elf64_Shdr> sections_of(std::span<const uint8_t> file) {
  std::vector<Elf64_Shdr> sections;
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return {};
    sections.push_back(*section);
  }
  return sections;
}

}  // namespace

std::unordered_map<std::string, KernelResources> resources_in(std::span<const uint8_t> elf) {
  // The section .nv.info is a list of attributes: u8 format, u8 attribute, u16 value; with kWithBytes the value is the
  // number of bytes that follow. The two attributes that are read have two words: the index of the kernel's symbol, and
  // the value.
  constexpr uint8_t kWithBytes = 4, kFrameSize = 0x11, kRegisterCount = 0x2F;
  constexpr uint64_t kHead = 4;
  constexpr uint32_t kMost = 512 * 1024;  // bytes of local memory per thread
  std::unordered_map<std::string, KernelResources> found;
  const std::vector<Elf64_Shdr> sections = sections_of(elf);
  const auto header = read<Elf64_Ehdr>(elf, 0);
  if (sections.empty() || header->e_shstrndx >= sections.size()) return found;
  const auto section_names = contents(elf, sections[header->e_shstrndx]);
  for (const Elf64_Shdr& section : sections) {
    if (text_at(section_names, section.sh_name) != ".nv.info" || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& symbols = sections[section.sh_link];
    if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= sections.size()) continue;
    const auto symbol_table = contents(elf, symbols), names = contents(elf, sections[symbols.sh_link]);
    const auto list = contents(elf, section);
    for (uint64_t at = 0; at + kHead <= list.size();) {
      const uint8_t format = list[at], attribute = list[at + 1];
      const uint64_t bytes = format == kWithBytes ? *read<uint16_t>(list, at + 2) : 0;
      const auto index = read<uint32_t>(list, at + kHead), figure = read<uint32_t>(list, at + kHead + 4);
      at += kHead + bytes;
      if (bytes < 8 || !index || !figure || *figure > kMost || (attribute != kRegisterCount && attribute != kFrameSize))
        continue;
      const auto symbol = read<Elf64_Sym>(symbol_table, *index * sizeof(Elf64_Sym));
      if (!symbol) continue;
      KernelResources& kernel = found[std::string(text_at(names, symbol->st_name))];
      (attribute == kRegisterCount ? kernel.registers : kernel.local_bytes) = static_cast<int>(*figure);
    }
  }
  return found;
}

}  // namespace sim::runtime
