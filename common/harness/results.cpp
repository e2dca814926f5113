#include "results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/base/json.h"
#include "failure.h"
#include "signals.h"
#include "text.h"

namespace harness {
namespace {

std::string csv_field(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->find_first_of(",\"\r\n") == std::string::npos) return *text;
    std::string quoted = "\"";
    for (const char c : *text) {
      if (c == '"') quoted += '"';
      quoted += c;
    }
    return quoted + "\"";
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<Number>(&value)) {
    return std::isfinite(number->value) ? format("%.*g", number->digits, number->value) : "";
  }
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return "";
}

Failure cannot_write(const std::string& path, const std::string& why) {
  return usage_error(format("%s cannot be written: %s.", path.c_str(), why.c_str()));
}

/// Writes everything or returns the errno.
int write_all(int file, const std::string& content) {
  for (size_t done = 0; done < content.size();) {
    const ssize_t written = ::write(file, content.data() + done, content.size() - done);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) done += static_cast<size_t>(written);
  }
  return 0;
}

/// The file that a chain of symbolic links ends at, so that replacing it keeps the links.
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

bool exists(const std::string& path, struct stat& status) { return ::stat(path.c_str(), &status) == 0; }

/// A device or a pipe: something that can be written to but not replaced. Everything below /dev counts, because
/// /dev/stdout may lead to a regular file that somebody else has open.
bool is_stream(const std::string& path) {
  struct stat status;
  return path.starts_with("/dev/") || (exists(path, status) && !S_ISREG(status.st_mode));
}

std::string temporary_name(const std::string& path) { return format("%s.%ld.tmp", path.c_str(), long{::getpid()}); }

/// An empty file beside `path`, to be renamed over it. Returns the descriptor.
int create_temporary(const std::string& path, mode_t mode) {
  return ::open(temporary_name(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

void check_writable(const std::string& path) {
  if (path.empty()) throw usage_error("The name of an output file is empty.");
  struct stat status;
  const bool present = exists(path, status);
  if (present && S_ISDIR(status.st_mode)) throw cannot_write(path, "it is a directory");
  if (present && ::access(path.c_str(), W_OK) != 0) throw cannot_write(path, std::strerror(errno));
  if (present && is_stream(path)) return;
  const SignalsBlocked blocked;
  const std::string target = resolved(path);
  const int file = create_temporary(target, 0600);
  if (file < 0) throw cannot_write(path, std::strerror(errno));
  ::close(file);
  ::unlink(temporary_name(target).c_str());
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

void write_stream(const std::string& path, const std::string& content) {
  const int file = open_stream(path);
  const int error = file < 0 ? errno : write_all(file, content);
  if (file >= 0) ::close(file);
  if (error != 0) throw cannot_write(path, std::strerror(error));
}

void replace_content(const std::string& path, const std::string& content) {
  const SignalsBlocked blocked;
  struct stat status;
  const bool present = exists(path, status);
  const std::string target = resolved(path), temporary = temporary_name(target);
  const int file = create_temporary(target, 0666);
  if (file < 0) throw cannot_write(path, std::strerror(errno));
  int error = write_all(file, content);
  if (error == 0 && present && ::fchmod(file, status.st_mode & 07777) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  throw cannot_write(path, std::strerror(error));
}

/// What the file holds; nothing if it is absent.
std::string current_content(const std::string& path) {
  struct stat status;
  if (!exists(path, status)) return "";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw cannot_write(path, "what it already holds cannot be read");
  return content.str();
}

}  // namespace

std::string csv_header(const Record& record) {
  std::string line;
  for (const auto& [name, value] : record) {
    if (!line.empty()) line += ',';
    line += name;
  }
  return line;
}

std::string csv_row(const Record& record) {
  std::string line;
  for (size_t i = 0; i < record.size(); ++i) {
    if (i > 0) line += ',';
    line += csv_field(record[i].second);
  }
  return line;
}

std::string json_object(const Record& record) {
  std::string line;
  base::JsonWriter json(line);
  json.object([&] {
    for (const auto& [name, value] : record) {
      if (const auto* text = std::get_if<std::string>(&value)) json.member(name, *text);
      if (const auto* integer = std::get_if<std::int64_t>(&value)) json.member(name, *integer);
      if (const auto* truth = std::get_if<bool>(&value)) json.member(name, *truth);
      const auto* number = std::get_if<Number>(&value);
      if (number != nullptr && std::isfinite(number->value)) json.member(name, number->value, number->digits);
    }
  });
  return line;
}

ResultFile::ResultFile(std::string path, Format format, const std::string& header)
    : path_(std::move(path)), format_(format), header_(header) {
  check_writable(path_);
  stream_ = is_stream(path_);
  if (format_ == Format::csv && !stream_) check_columns(current_content(path_));
}

void ResultFile::check_columns(const std::string& content) const {
  std::string first = content.substr(0, content.find('\n'));
  if (!first.empty() && first.back() == '\r') first.pop_back();
  if (content.empty() || first == header_) return;
  throw usage_error(format("%s has other columns than this program writes: name a new file.", path_.c_str()));
}

void ResultFile::add(const Record& record) {
  if (format_ == Format::json) return add_json(json_object(record));
  std::string line = csv_row(record) + "\n";
  if (stream_) {
    if (written_.empty()) line = header_ + "\n" + line;
    write_stream(path_, line);
    written_ += line;
    return;
  }
  std::string content = current_content(path_);
  check_columns(content);
  if (content.empty()) content = header_;
  if (content.back() != '\n') content += '\n';
  replace_content(path_, content + line);
}

void ResultFile::add_json(const std::string& object) {
  written_ += object + "\n";
  if (stream_)
    write_stream(path_, object + "\n");
  else
    replace_content(path_, written_);
}

}  // namespace harness
