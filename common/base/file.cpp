#include "common/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/text.h"

namespace base {
namespace {

[[noreturn]] void fail(int error) { throw FileError(std::strerror(error)); }

bool status_of(const std::string& path, struct stat& status) { return ::stat(path.c_str(), &status) == 0; }

/// The file that a chain of symbolic links ends at, so that replacing it keeps the links.
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

/// Closes a descriptor when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }

 private:
  int number_;
};

/// A new empty file beside `target`, to be renamed over it. Returns its name.
std::string create_beside(const std::string& target, mode_t mode, int* file) {
  for (int attempt = 0;; ++attempt) {
    std::string name = format("%s.%ld-%d.tmp", target.c_str(), long{::getpid()}, attempt);
    *file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (*file >= 0) return name;
    if (errno != EEXIST || attempt == 100) fail(errno);
  }
}

/// Opens a device or pipe. A file that is open already is used as it is: opened anew, it would have a position of its
/// own, and the two writers would overwrite each other.
int open_stream(const std::string& path) {
  int number = -1;
  if (path == "/dev/stdout") number = STDOUT_FILENO;
  if (path == "/dev/stderr") number = STDERR_FILENO;
  if (number >= 0 || std::sscanf(path.c_str(), "/dev/fd/%d", &number) == 1) return ::fcntl(number, F_DUPFD_CLOEXEC, 0);
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

/// All that can be read from where the descriptor stands.
std::string read_all(int file) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno != EINTR)
      throw FileError(format("what it already holds cannot be read (%s)", std::strerror(errno)));
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
}

/// Waits for the lock of a file that may be replaced meanwhile: then the lock is worth nothing, and the answer false.
bool lock_version(int file, const std::string& target) {
  while (::flock(file, LOCK_EX) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == ENOLCK) break;  // no locks on this file system
    if (errno != EINTR) fail(errno);
  }
  struct stat held, named;
  return ::fstat(file, &held) == 0 && status_of(target, named) && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

bool is_stream(const std::string& path) {
  struct stat status;
  return path.starts_with("/dev/") || (status_of(path, status) && !S_ISREG(status.st_mode));
}

bool same_file(const std::string& path, const std::string& other) {
  struct stat one, two;
  if (status_of(path, one) && status_of(other, two)) return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
  std::error_code ignored;
  return std::filesystem::weakly_canonical(path, ignored) == std::filesystem::weakly_canonical(other, ignored);
}

void check_writable(const std::string& path) {
  struct stat status;
  const bool present = status_of(path, status);
  if (present && S_ISDIR(status.st_mode)) throw FileError("it is a directory");
  if (present && ::access(path.c_str(), W_OK) != 0) fail(errno);
  if (!present || !is_stream(path)) FileReplacement{path};
}

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file < 0 && errno == ENOENT) return "";
  if (file < 0) fail(errno);
  return read_all(file);
}

FileReplacement::FileReplacement(const std::string& path) : target_(path) {
  if (is_stream(path)) {
    if ((file_ = open_stream(path)) < 0) fail(errno);
    return;
  }
  target_ = resolved(path);
  temporary_ = create_beside(target_, 0666, &file_);
}

FileReplacement::~FileReplacement() { give_up(); }

void FileReplacement::give_up() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void FileReplacement::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno != EINTR) fail(errno);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void FileReplacement::commit() {
  struct stat status;
  if (!temporary_.empty() && status_of(target_, status) && ::fchmod(file_, status.st_mode & 07777) != 0) fail(errno);
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void write_file(const std::string& path, std::string_view content) {
  FileReplacement file(path);
  file.write(content);
  file.commit();
}

void update_file(const std::string& path, const std::function<std::string(std::string)>& change) {
  const SignalsBlocked blocked;
  for (;;) {
    struct stat status;
    const bool present = status_of(path, status);
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file < 0) fail(errno);
    const std::string target = resolved(path);
    if (!lock_version(file, target)) continue;  // another process has replaced it: that version is the one to change
    try {
      write_file(target, change(read_all(file)));
      return;
    } catch (...) {
      struct stat now;  // an empty file that was made here, only to be locked, goes again
      if (!present && ::fstat(file, &now) == 0 && now.st_size == 0) ::unlink(target.c_str());
      throw;
    }
  }
}

}  // namespace base
