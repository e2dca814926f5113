#include "machine/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/align.h"

namespace sim::pages {
namespace {

// Larger allocations share pages of poison until they are written, so that a program may allocate most of the GPU's
// memory on a host that has far less. Smaller ones get memory of their own, in huge pages, which is faster.
constexpr uint64_t kSharedPoisonAbove = uint64_t{256} << 20;
constexpr uint64_t kPoisonFileBytes = uint64_t{64} << 20;

// The same addresses in every run, where the host allows it: kernels may print pointers or sort by them.
constexpr uint64_t kPreferredBase = 0x2000'0000'0000;

uint64_t map(uint64_t at, uint64_t bytes, int extra_flags) {
  void* const memory = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra_flags, -1, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(memory);
}

/// A file of poison in memory, or -1.
int make_poison_file() {
  const int file = memfd_create("poison", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, kPoisonFileBytes) == 0) {
    void* const pages = mmap(nullptr, kPoisonFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages != MAP_FAILED) {
      std::memset(pages, kPoison, kPoisonFileBytes);
      munmap(pages, kPoisonFileBytes);
      return file;
    }
  }
  close(file);
  return -1;
}

/// Pages of poison, mapped copy-on-write; false if there are none.
bool share_poison(uint64_t begin, uint64_t bytes) {
  static const int file = make_poison_file();
  for (uint64_t done = 0; file >= 0 && done < bytes; done += kPoisonFileBytes) {
    void* const piece = mmap(reinterpret_cast<void*>(begin + done), std::min(kPoisonFileBytes, bytes - done),
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0);
    if (piece == MAP_FAILED) return false;
  }
  return file >= 0;
}

}  // namespace

AddressRange reserve(uint64_t wanted) {
  // A host that limits address space provides less.
  for (uint64_t bytes = base::round_up(wanted, kHugePage); bytes >= kHugePage; bytes /= 2) {
    uint64_t begin = map(kPreferredBase, bytes, MAP_FIXED_NOREPLACE);
    if (begin == 0) begin = map(0, bytes, 0);
    if (begin != 0) return {begin, bytes};
  }
  return {};
}

void release(AddressRange range) {
  if (range.begin != 0) munmap(reinterpret_cast<void*>(range.begin), range.bytes);
}

bool commit(uint64_t begin, uint64_t bytes, bool zeroed) {
  void* const memory = reinterpret_cast<void*>(begin);
  // Reserved pages that were never in use read as zeros once they are accessible.
  if (zeroed) return mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
  if (bytes > kSharedPoisonAbove && share_poison(begin, bytes)) return true;
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, kPoison, bytes);
  return true;
}

void discard(uint64_t begin, uint64_t bytes) { map(begin, bytes, MAP_FIXED); }

}  // namespace sim::pages
