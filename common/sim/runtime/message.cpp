#include "runtime/message.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <unordered_set>

namespace sim::runtime {

std::string extents(const std::array<uint32_t, 3>& dim) {
  return grouped(dim[0]) + " x " + grouped(dim[1]) + " x " + grouped(dim[2]);
}

namespace {

/// Where messages go. A function, since static constructors of the program may already call say().
std::FILE*& stream() {
  static std::FILE* to = stderr;
  return to;
}

/// The standard error that the program was started with. Test runners redirect it and drop what a passing test has
/// written there.
int first_standard_error() {
  static const int file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  return file;
}
[[maybe_unused]] const int kept_at_start = first_standard_error();

bool is_redirected() {
  struct stat first = {}, now = {};
  return fstat(first_standard_error(), &first) == 0 && fstat(STDERR_FILENO, &now) == 0 &&
         (first.st_dev != now.st_dev || first.st_ino != now.st_ino);
}

}  // namespace

bool log_to(const std::string& file) {
  std::FILE* const opened = file.empty() ? stream() : std::fopen(file.c_str(), "a");
  if (opened != nullptr) stream() = opened;
  return opened != nullptr;
}

void say(std::string_view sentence) {
  static std::mutex mutex;
  static auto& said = *new std::unordered_set<std::string>;  // never destroyed: static destructors may still call say()
  if (sentence.starts_with("sim: ")) sentence.remove_prefix(5);  // reports of the device already have the prefix
  std::lock_guard lock(mutex);
  if (!said.emplace(sentence).second) return;
  std::fprintf(stream(), "sim: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::fflush(stream());
  if (stream() == stderr && is_redirected())
    dprintf(first_standard_error(), "sim: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
}

void stop(int exit_code) {
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace sim::runtime
