// Files that are replaced in one step by a complete new version: no process ever reads half of one, and an error leaves
// the old one as it was. Several processes may append to one at the same time.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/base/signals.h"

namespace base {

/// A file cannot be read or written; `what` says why, in words: "No space left on device".
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Something that can be written to but not replaced: a device or a pipe. Everything below /dev counts, because
/// /dev/stdout may lead to a regular file that another process has open.
bool is_stream(const std::string& path);

/// Do the two names mean one file, or would they if it existed?
bool same_file(const std::string& path, const std::string& other);

/// Finds out whether write_file would work, and changes nothing. Throws FileError if not.
void check_writable(const std::string& path);

/// What a file holds; nothing if it is absent. Throws FileError.
std::string read_file(const std::string& path);

/// A new version of a file. Links to it stay, as does its mode. A stream is written to, after what it has been given
/// before. Without a call of `commit`, the file stays as it was. Throws FileError.
class FileReplacement {
 public:
  explicit FileReplacement(const std::string& path);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  void give_up() noexcept;

  const SignalsBlocked blocked_;    // an interrupt would leave a temporary file behind
  std::string target_, temporary_;  // no temporary: a stream
  int file_ = -1;
};

/// The same with all of the content at hand.
void write_file(const std::string& path, std::string_view content);

/// Replaces a file by what `change` makes of its content; "" if it is absent. Other processes that update the same file
/// wait meanwhile, so that nothing gets lost between reading and writing. What `change` throws leaves the file as it
/// was. Throws FileError. Not for streams.
///
/// The lock is flock's on the file itself, as in scripts/ladder/files.py. File systems without locks are taken as they
/// are: there, it is for the user to see that one process writes at a time.
void update_file(const std::string& path, const std::function<std::string(std::string)>& change);

}  // namespace base
