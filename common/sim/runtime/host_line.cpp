#include "runtime/host_line.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"

namespace sim::runtime {
namespace {

/// What addr2line needs to know of a program or library.
struct DebugInfo {
  bool has_lines = false;     ///< it has debug information
  bool is_relocated = false;  ///< its addresses count from where it is loaded
};

DebugInfo look_at(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header{};
  const auto read = [&](std::uint64_t at, void* to, std::size_t bytes) {
    return static_cast<bool>(stream.seekg(static_cast<std::streamoff>(at))
                                 .read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  };
  if (!read(0, &header, sizeof header) || header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)) ||
      header.e_shstrndx >= sections.size())
    return {};
  std::string names(sections[header.e_shstrndx].sh_size, '\0');
  if (!read(sections[header.e_shstrndx].sh_offset, names.data(), names.size())) return {};
  DebugInfo binary{.is_relocated = header.e_type == ET_DYN};
  for (const Elf64_Shdr& section : sections)
    binary.has_lines |= section.sh_name < names.size() && std::strcmp(&names[section.sh_name], ".debug_line") == 0;
  return binary;
}

/// The function and the line of an address, as addr2line prints them in two lines.
std::string ask(const char* file, std::uint64_t address) {
  std::string quoted;
  for (const char* letter = file; *letter != '\0'; ++letter)
    quoted += *letter == '\'' ? "'\\''" : std::string(1, *letter);
  const std::string command =
      base::format("env -u LD_PRELOAD -u LD_AUDIT -u LD_LIBRARY_PATH addr2line -f -e '%s' 0x%llx 2>/dev/null",
                   quoted.c_str(), static_cast<unsigned long long>(address));
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, count);
  pclose(pipe);
  return text;
}

std::optional<SourceLine> frame_of(std::string_view answer) {
  const std::size_t end = answer.find('\n');
  if (end == answer.npos) return std::nullopt;
  const std::string_view function = answer.substr(0, end);
  std::string_view place = answer.substr(end + 1);
  const std::size_t colon = place.rfind(':');
  // nvcc's: a stub for each kernel, and templates around cudaLaunchKernel.
  if (colon == place.npos || function.find("__device_stub__") != function.npos ||
      function.find("cudaLaunchKernel") != function.npos)
    return std::nullopt;
  SourceLine frame;
  std::from_chars(place.data() + colon + 1, place.data() + place.size(), frame.line);
  if (frame.line == 0) return std::nullopt;
  place = place.substr(0, colon);
  std::size_t cut = place.rfind('/');
  if (cut != place.npos && cut > 0) cut = place.rfind('/', cut - 1);
  frame.file = place.substr(cut == place.npos ? 0 : cut + 1);
  return frame;
}

}  // namespace

HostCalls host_calls() {
  HostCalls calls{};
  backtrace(calls.data(), static_cast<int>(calls.size()));
  return calls;
}

std::optional<SourceLine> host_line(const HostCalls& calls) {
  Dl_info own{}, info{};
  dladdr(reinterpret_cast<void*>(&host_line), &own);
  for (void* const call : calls) {
    if (call == nullptr) break;
    if (dladdr(call, &info) == 0 || info.dli_fname == nullptr || info.dli_fbase == own.dli_fbase) continue;
    const DebugInfo binary = look_at(info.dli_fname);
    if (!binary.has_lines) continue;
    const auto base = binary.is_relocated ? reinterpret_cast<std::uint64_t>(info.dli_fbase) : 0;
    // The call is before the address to which it returns.
    if (auto frame = frame_of(ask(info.dli_fname, reinterpret_cast<std::uint64_t>(call) - 1 - base))) return frame;
  }
  return std::nullopt;
}

}  // namespace sim::runtime
