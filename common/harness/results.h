// Results as rows of a CSV file or as JSON objects, one per line. Files are never left half-written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace harness {

/// A number with the significant digits that it deserves.
struct Number {
  double value;
  int digits = 5;
};

/// monostate: this result has no such value. An empty CSV field, and no JSON member at all.
using Value = std::variant<std::monostate, std::string, std::int64_t, Number, bool>;
using Record = std::vector<std::pair<std::string, Value>>;

std::string csv_header(const Record& record);
std::string csv_row(const Record& record);      ///< RFC 4180 quoting, no newline
std::string json_object(const Record& record);  ///< one line, no newline; numbers that are not finite are left out

/// Where results go. `path` may be a device or pipe, such as /dev/stdout, which is appended to; a regular file is
/// replaced in one step by a complete new version. Any number of processes may add to one file at a time.
class ResultFile {
 public:
  enum class Format { csv, json };

  /// Finds out, before any work is done, whether the file can be written, and whether an existing one is of this kind:
  /// CSV with the columns `header`, or JSON objects. Throws a usage error if not. Creates and changes nothing.
  ResultFile(std::string path, Format format, const std::string& header);

  /// Appends a line to what the file holds now; a new CSV file gets a header. Throws a usage error if writing fails;
  /// the file is then as it was.
  void add(const Record& record);

 private:
  void check_content(const std::string& content) const;

  std::string path_;
  Format format_;
  std::string header_;  // of CSV
  bool stream_ = false, started_ = false;
};

/// Gives a file this content, in one step, whatever it held. Throws a usage error if writing fails.
void write_result(const std::string& path, const std::string& content);

}  // namespace harness
