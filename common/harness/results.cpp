#include "results.h"

#include <cmath>

#include "common/base/file.h"
#include "common/base/json.h"
#include "failure.h"
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

/// Adds a line to what a file holds, under a first line of its own if that is nothing.
std::string with_line(std::string content, const std::string& first, const std::string& line) {
  if (content.empty()) content = first;
  if (!content.empty() && content.back() != '\n') content += '\n';
  return content + line + "\n";
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
    : path_(std::move(path)), format_(format), header_(format == Format::csv ? header : "") {
  if (path_.empty()) throw usage_error("The name of an output file is empty.");
  try {
    base::check_writable(path_);
    stream_ = base::is_stream(path_);
    if (!stream_) check_content(base::read_file(path_));
  } catch (const base::FileError& error) { throw cannot_write(path_, error.what()); }
}

void ResultFile::check_content(const std::string& content) const {
  if (content.empty()) return;
  if (format_ == Format::json && content[0] != '{') {
    throw usage_error(
        format("%s holds something else than JSON objects, one on each line: name a new file.", path_.c_str()));
  }
  std::string first = content.substr(0, content.find('\n'));
  if (!first.empty() && first.back() == '\r') first.pop_back();
  if (format_ == Format::csv && first != header_) {
    throw usage_error(format("%s has other columns than this program writes: name a new file.", path_.c_str()));
  }
}

void ResultFile::add(const Record& record) {
  const std::string line = format_ == Format::csv ? csv_row(record) : json_object(record);
  try {
    if (stream_) {
      base::write_file(path_, with_line("", started_ ? "" : header_, line));
      started_ = true;
      return;
    }
    base::update_file(path_, [&](std::string content) {
      check_content(content);
      return with_line(std::move(content), header_, line);
    });
  } catch (const base::FileError& error) { throw cannot_write(path_, error.what()); }
}

void write_result(const std::string& path, const std::string& content) {
  try {
    base::write_file(path, content);
  } catch (const base::FileError& error) { throw cannot_write(path, error.what()); }
}

}  // namespace harness
