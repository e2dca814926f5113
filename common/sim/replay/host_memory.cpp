#include "replay/host_memory.h"

#include <sys/mman.h>

#include "machine/pages.h"

namespace sim::recording {

void* host_memory(uint64_t address, uint64_t bytes) {
  const uint64_t first = address / pages::kPage * pages::kPage;
  void* const wanted = reinterpret_cast<void*>(first);
  void* const found = mmap(wanted, address + bytes - first, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return found == wanted ? reinterpret_cast<void*>(address) : nullptr;
}

}  // namespace sim::recording
