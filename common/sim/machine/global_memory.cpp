#include "machine/global_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/align.h"
#include "common/base/text.h"

namespace sim {
namespace {

constexpr std::size_t PAGE = 4096, HUGE_PAGE = std::size_t{2} << 20;
constexpr std::size_t GAP = PAGE;  // never mapped: what runs past an allocation does not reach the next
constexpr unsigned char POISON = 0xFF;

// Larger allocations share pages of poison until they are written, so that a program may ask for most of the GPU's
// memory on a machine that has far less. Smaller ones get memory of their own, in huge pages, which is faster.
constexpr std::size_t SHARED_POISON_ABOVE = std::size_t{256} << 20;
constexpr std::size_t POISON_FILE_BYTES = std::size_t{64} << 20;

constexpr std::size_t REMEMBERED = 4096;  // freed allocations that reports can name

// The same addresses in every run, where the machine allows it: kernels may print pointers or order by them.
constexpr uintptr_t PREFERRED_BASE = 0x2000'0000'0000;

using base::grouped;
using base::hex;
using base::in_bytes;
using base::round_up;

/// What an allocation takes of the address space, without the gap. Even an empty one has an address of its own.
std::size_t page_bytes(std::size_t bytes) { return round_up(std::max<std::size_t>(bytes, 1), PAGE); }

/// "13 bytes past the end of cudaMalloc #3 (1,024 bytes at 0x200000000000)", or wherever `address` is.
std::string relation(uintptr_t address, const GlobalMemory::Allocation& to) {
  std::string where = "at byte " + grouped(address - to.begin) + " of ";
  if (address < to.begin) where = in_bytes(to.begin - address) + " before ";
  if (address >= to.end) where = in_bytes(address - to.end) + " past the end of ";
  return where + to.label + " (" + in_bytes(to.end - to.begin) + " at " + base::hex(to.begin) + ")";
}

uintptr_t reserve(uintptr_t at, std::size_t bytes, int extra_flags) {
  void* const memory = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra_flags, -1, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(memory);
}

/// A file of poison in memory, or -1.
int make_poison_file() {
  const int file = memfd_create("poison", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, POISON_FILE_BYTES) == 0) {
    void* const pages = mmap(nullptr, POISON_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages != MAP_FAILED) {
      std::memset(pages, POISON, POISON_FILE_BYTES);
      munmap(pages, POISON_FILE_BYTES);
      return file;
    }
  }
  close(file);
  return -1;
}

/// The last entry that starts at or before `address`, or the end.
template <typename Map>
auto last_before(Map& map, uintptr_t address) {
  const auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

GlobalMemory::GlobalMemory(std::size_t capacity, bool blank) : blank_(blank), capacity_(capacity) {
  // Addresses are not reused while there are fresh ones, so that stale pointers are recognised. Several times the
  // capacity is a wish: a system with a limit on address space gives less.
  for (reserved_ = 16 * round_up(capacity, HUGE_PAGE); reserved_ >= HUGE_PAGE; reserved_ /= 2) {
    base_ = reserve(PREFERRED_BASE, reserved_, MAP_FIXED_NOREPLACE);
    if (base_ == 0) base_ = reserve(0, reserved_, 0);
    if (base_ != 0) break;
  }
  cursor_ = base_;
}

GlobalMemory::~GlobalMemory() {
  if (base_ != 0) munmap(reinterpret_cast<void*>(base_), reserved_);
  if (poison_file_ >= 0) close(poison_file_);
}

uintptr_t GlobalMemory::place(std::size_t bytes, std::size_t alignment) {
  const uintptr_t end = base_ + reserved_;
  // From the cursor to the end; then once more from the start, in the holes that frees have left.
  for (uintptr_t at : {cursor_, base_}) {
    for (;;) {
      at = round_up(at, alignment);
      if (at > end || bytes > end - at) break;
      const auto before = last_before(live_, at + bytes - 1);
      const bool in_range = before != live_.end() && before->first >= base_;
      const uintptr_t taken_to = in_range ? before->first + page_bytes(before->second.end - before->first) + GAP : 0;
      if (taken_to <= at) return at;
      at = taken_to;
    }
  }
  return 0;
}

bool GlobalMemory::map(uintptr_t begin, std::size_t bytes, bool zeroed) {
  // What is reserved and not yet in use reads as zeros once it may be read.
  if (zeroed || blank_) return mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) == 0;
  if (bytes > SHARED_POISON_ABOVE) {
    if (poison_file_ < 0) poison_file_ = make_poison_file();
    for (std::size_t done = 0; poison_file_ >= 0 && done < bytes; done += POISON_FILE_BYTES) {
      void* const piece = mmap(reinterpret_cast<void*>(begin + done), std::min(POISON_FILE_BYTES, bytes - done),
                               PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, poison_file_, 0);
      if (piece == MAP_FAILED) return false;
    }
    if (poison_file_ >= 0) return true;
  }
  void* const memory = reinterpret_cast<void*>(begin);
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  if (bytes >= HUGE_PAGE) madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, POISON, bytes);
  return true;
}

void* GlobalMemory::allocate(std::size_t bytes, std::string label, bool constant, Kind kind) {
  return allocate(bytes, std::move(label), constant, kind, false);
}

void* GlobalMemory::allocate_zeroed(std::size_t bytes, std::string label, bool constant) {
  return allocate(bytes, std::move(label), constant, Kind::Device, true);
}

void* GlobalMemory::allocate(std::size_t bytes, std::string label, bool constant, Kind kind, bool zeroed) {
  std::unique_lock lock(mutex_);
  const bool counts = kind != Kind::Host;
  if (base_ == 0 || bytes > reserved_ || (counts && bytes > capacity_ - used_)) return nullptr;
  const std::size_t mapped = page_bytes(bytes);
  const uintptr_t begin = place(mapped + GAP, mapped >= HUGE_PAGE ? HUGE_PAGE : PAGE);
  if (begin == 0) return nullptr;
  if (!map(begin, mapped, zeroed)) {
    reserve(begin, mapped, MAP_FIXED);  // takes back what was mapped before the system had enough
    return nullptr;
  }
  cursor_ = begin + mapped + GAP;
  if (counts) used_ += bytes;
  const auto reused = std::pair{freed_.lower_bound(begin), freed_.lower_bound(cursor_)};
  freed_.erase(reused.first, reused.second);
  live_[begin] = {begin, begin + bytes, std::move(label), constant, kind};
  return reinterpret_cast<void*>(begin);
}

bool GlobalMemory::adopt(void* pointer, std::size_t bytes, std::string label) {
  std::unique_lock lock(mutex_);
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  const auto before = last_before(live_, begin + bytes - 1);
  if (before != live_.end() && before->second.end > begin) return false;
  live_[begin] = {begin, begin + bytes, std::move(label), false, Kind::Adopted};
  return true;
}

bool GlobalMemory::release(void* pointer) {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == live_.end()) return false;
  const Allocation& allocation = found->second;
  const std::size_t bytes = allocation.end - allocation.begin;
  if (allocation.kind != Kind::Adopted) reserve(allocation.begin, page_bytes(bytes), MAP_FIXED);
  if (allocation.kind != Kind::Adopted && allocation.kind != Kind::Host) used_ -= bytes;
  freed_[found->first] = allocation;
  live_.erase(found);
  if (freed_.size() > REMEMBERED) freed_.erase(freed_.begin());  // the lowest address is about the oldest
  return true;
}

const GlobalMemory::Allocation* GlobalMemory::find(uintptr_t address, std::size_t bytes) const {
  std::shared_lock lock(mutex_);
  const auto found = last_before(live_, address);
  if (found == live_.end()) return nullptr;
  const Allocation& allocation = found->second;
  return address <= allocation.end && bytes <= allocation.end - address ? &allocation : nullptr;
}

std::string GlobalMemory::describe(uintptr_t address) const {
  std::shared_lock lock(mutex_);
  constexpr uintptr_t kNullPage = 65'536;
  if (address < kNullPage) {
    return std::string("a null pointer") + (address == 0 ? "" : " plus " + std::to_string(address)) +
           "; did its allocation succeed, and was it handed to the kernel?";
  }
  const auto holds = [&](const auto& map, const auto& entry) {
    return entry != map.end() && address < entry->second.end;
  };
  const auto live = last_before(live_, address), freed = last_before(freed_, address);
  if (holds(live_, live)) return relation(address, live->second);
  if (holds(freed_, freed)) return relation(address, freed->second) + ", which has been freed";
  if (!in_range(address)) {
    return base::hex(address) +
           ", which is not device memory; the host's own has to be copied to the device, or registered";
  }

  // Between allocations: the nearer neighbour is the likely culprit.
  const auto next = live_.upper_bound(address);
  const bool has_previous = live != live_.end() && live->first >= base_;
  const bool has_next = next != live_.end() && next->first < base_ + reserved_;
  if (has_previous && (!has_next || address - live->second.end <= next->first - address)) {
    return relation(address, live->second);
  }
  if (has_next) return relation(address, next->second);
  return base::hex(address) + ", where nothing is allocated";
}

}  // namespace sim
