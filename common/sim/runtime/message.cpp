#include "runtime/message.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <unordered_set>

namespace sim::runtime {

std::string extents(const std::array<uint32_t, 3>& dim) {
  return grouped(dim[0]) + " x " + grouped(dim[1]) + " x " + grouped(dim[2]);
}

void say(std::string_view sentence) {
  static std::mutex mutex;
  static auto& said = *new std::unordered_set<std::string>;  // never destroyed: static destructors may still call say()
  if (sentence.starts_with("sim: ")) sentence.remove_prefix(5);  // reports of the device already have the prefix
  std::lock_guard lock(mutex);
  if (!said.emplace(sentence).second) return;
  std::fprintf(stderr, "sim: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::fflush(stderr);
}

void stop(int exit_code) {
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace sim::runtime
