// build/sim/libsim_loader.so: makes the dynamic loader bind a program to the simulated device where no search path can.
//
// Two kinds of programs do not find our libcudart.so.13 by themselves. Some request NVIDIA's by a path of their own (an
// RPATH, an absolute name). Others are linked with libcudart_static.a, which is nvcc's default. The loader notifies
// auditing libraries (rtld-audit(7), glibc) of every object that it looks for and maps, before any code of it runs. So
// this library replaces names during the search. It finds a static runtime's functions in the object's symbol table,
// and overwrites their start with a jump to ours. scripts/sim.sh names this library in LD_AUDIT, and preloads
// libcudart.so.13.
//
// It is loaded into a namespace of its own, where it can access only the program's mapped memory and files.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))

using std::literals::operator""sv;

namespace {

constexpr std::string_view kRuntime = "libcudart.so.13", kDriver = "libcuda.so.1";
constexpr std::string_view kRegistration = "__cudaRegisterFatBinary";  // called for each translation unit with kernels
constexpr std::string_view kRemovedInCuda13 = "cudaGetDeviceProperties_v2";

const std::string kAdvice = "link it with nvcc -cudart shared (CMake: CUDA_RUNTIME_LIBRARY Shared).";

struct LoaderFunction {
  std::string_view name;
  uint64_t offset;  // from the start of the mapped object
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

[[noreturn]] void give_up(std::string_view object, const std::string& reason) {
  std::fprintf(stderr, "sim: %.*s is linked with the static CUDA runtime, %s\n", static_cast<int>(object.size()),
               object.data(), reason.c_str());
  std::_Exit(2);
}

/// An ELF file of this machine, mapped for reading, or nothing. It stays mapped: names refer to it.
std::span<const std::byte> map_file(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat status {};
  void* data = MAP_FAILED;
  std::size_t size = 0;
  if (fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    size = static_cast<std::size_t>(status.st_size);
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (data == MAP_FAILED) return {};
  return {static_cast<const std::byte*>(data), size};
}

/// A table of `count` entries at `offset` of a file; empty if it would extend beyond the file.
template <typename Entry>
std::span<const Entry> table(std::span<const std::byte> file, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(Entry)) return {};
  return {reinterpret_cast<const Entry*>(file.data() + offset), static_cast<std::size_t>(count)};
}

/// The functions of the CUDA runtime in the symbol tables of an ELF file.
struct Symbols {
  std::vector<LoaderFunction> all,
      exported;                  // the runtime's functions that the file defines; `all` is empty if it is stripped
  bool imports_runtime = false;  // from a libcudart.so
  bool has_kernels = false;
};

Symbols symbols_of(std::span<const std::byte> file) {
  Symbols found;
  const auto headers = table<Elf64_Ehdr>(file, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return found;
  const auto sections = table<Elf64_Shdr>(file, headers[0].e_shoff, headers[0].e_shnum);
  const auto text_of = [&](uint32_t index) {  // a section of strings
    if (index >= sections.size()) return std::span<const char>{};
    const auto text = table<char>(file, sections[index].sh_offset, sections[index].sh_size);
    return text.empty() || text.back() != '\0' ? std::span<const char>{} : text;
  };
  const auto section_names = text_of(headers[0].e_shstrndx);
  for (const Elf64_Shdr& section : sections) {
    found.has_kernels |=
        section.sh_name < section_names.size() && section_names.data() + section.sh_name == ".nv_fatbin"sv;
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    const auto names = text_of(section.sh_link);
    for (const Elf64_Sym& symbol : table<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_name >= names.size()) continue;
      const std::string_view name = names.data() + symbol.st_name;
      if (!name.starts_with("cuda") && !name.starts_with("__cuda")) continue;
      if (symbol.st_shndx == SHN_UNDEF) {
        found.imports_runtime |= name == kRegistration;
      } else if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) {
        (section.sh_type == SHT_SYMTAB ? found.all : found.exported).push_back({name, symbol.st_value});
      }
    }
  }
  return found;
}

/// nvcc also generates functions named __cuda... in each program; this one is only in the runtime.
bool has_static_runtime(const std::vector<LoaderFunction>& functions) {
  return std::ranges::find(functions, kRegistration, &LoaderFunction::name) != functions.end();
}

// jmp *0(%rip), followed by the address. The runtime's functions are aligned to 16 bytes, however short they are.
constexpr std::array<unsigned char, 6> kJump = {0xFF, 0x25, 0, 0, 0, 0};
constexpr std::size_t kAlignment = 16;
static_assert(kJump.size() + sizeof(uint64_t) <= kAlignment);

void write_jump(std::string_view object, uint64_t from, uint64_t to) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), start = from / page * page;
  void* const code = reinterpret_cast<void*>(start);  // 16 bytes at a multiple of 16 are in one page
  if (mprotect(code, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    give_up(object, "whose code this system does not allow to be changed: " + kAdvice);
  }
  std::memcpy(reinterpret_cast<void*>(from), kJump.data(), kJump.size());
  std::memcpy(reinterpret_cast<void*>(from + kJump.size()), &to, sizeof to);
  mprotect(code, page, PROT_READ | PROT_EXEC);
}

struct Object {
  std::string path;
  uint64_t base;
  std::vector<LoaderFunction> functions;
};

struct Loader {
  std::string folder;                // of the simulated device's libraries
  std::vector<LoaderFunction> ours;  // sorted
  uint64_t runtime_base = 0;         // of our libcudart.so.13, once it is mapped
  std::vector<Object> replaced;      // objects found but not yet redirected
  std::string unreachable;           // libraries whose static runtime cannot be found, not reported yet
  bool has_warned = false;
};

Loader& loader() {
  static Loader& instance = *new Loader;
  return instance;
}

void redirect(const Object& object) {
  for (const LoaderFunction& function : object.functions) {
    const auto found = std::ranges::lower_bound(loader().ours, function.name, {}, &LoaderFunction::name);
    if (found == loader().ours.end() || found->name != function.name) {
      if (function.name == kRemovedInCuda13) give_up(object.path, "of CUDA 12 or older. Build it with CUDA 13.");
      continue;  // a helper that nvcc generates in each program, or the program's own function
    }
    const uint64_t address = object.base + function.offset;
    if (address % kAlignment != 0) { give_up(object.path, "in an unknown form: " + kAdvice); }
    write_jump(object.path, address, loader().runtime_base + found->offset);
  }
}

}  // namespace

SIM_EXPORT unsigned int la_version(unsigned int) {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&la_version), &self) == 0) return 0;  // 0: leaves the program alone
  const std::string_view path = self.dli_fname;
  loader().folder = path.substr(0, path.size() - base_name(path).size());
  return LAV_CURRENT;
}

/// Replaces a request for the runtime or the driver's library, by whatever path, with those of this folder.
SIM_EXPORT char* la_objsearch(const char* name, uintptr_t*, unsigned int) {
  static std::string path;  // the loader copies the result while it holds its lock
  const std::string_view wanted = base_name(name);
  if (wanted == kRuntime || wanted == kDriver) return (path = loader().folder + std::string(wanted)).data();
  return const_cast<char*>(name);
}

SIM_EXPORT unsigned int la_objopen(link_map* map, Lmid_t space, uintptr_t*) {
  if (space != LM_ID_BASE) return 0;
  const bool is_program = map->l_name[0] == '\0';
  const std::string path = is_program ? "/proc/self/exe" : map->l_name;
  const std::span<const std::byte> file = map_file(path.c_str());
  Symbols symbols = symbols_of(file);
  if (path == loader().folder + std::string(kRuntime)) {
    loader().runtime_base = map->l_addr;
    loader().ours = std::move(symbols.exported);
    std::ranges::sort(loader().ours, {}, &LoaderFunction::name);
    return 0;
  }
  const std::string name = is_program ? "the program" : path;
  if (has_static_runtime(symbols.all)) {
    loader().replaced.push_back({name, map->l_addr, std::move(symbols.all)});
    return 0;
  }
  if (symbols.has_kernels && symbols.all.empty() && !symbols.imports_runtime) {
    if (is_program)
      give_up(name, "and stripped, so that the runtime cannot be located in it. Do not strip it, or " + kAdvice);
    loader().unreachable += (loader().unreachable.empty() ? "" : ", ") + std::string(base_name(name));
  }
  if (!file.empty()) munmap(const_cast<std::byte*>(file.data()), file.size());
  return 0;
}

/// The loader has mapped the requested objects: their addresses are known, and none of their code has run.
SIM_EXPORT void la_activity(uintptr_t*, unsigned int activity) {
  if (activity != LA_ACT_CONSISTENT || loader().runtime_base == 0) return;
  for (const Object& object : std::exchange(loader().replaced, {})) redirect(object);
  // Many programs link such libraries, cuBLAS above all, and never call them, so this does not end the program. If one
  // does call the device, cuGetExportTable reports it.
  if (!loader().unreachable.empty() && !std::exchange(loader().has_warned, true)) {
    std::fprintf(stderr,
                 "sim: warning: %s: linked with the static CUDA runtime and stripped, so the simulated device cannot "
                 "replace the runtime in it. Its own calls of the device will fail; everything else runs.\n",
                 loader().unreachable.c_str());
  }
  loader().unreachable.clear();
}
