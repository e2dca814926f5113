// JSON, written. Nothing here reads it, and levels are built on machines without permission to install packages, so
// this is one small writer instead of a library.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace base {

/// Appends one JSON text to a string, from the outside in: what a container holds is written by the function that it is
/// given, so that everything opened is closed.
///
///     std::string text;
///     base::JsonWriter json(text);
///     json.object([&] {
///       json.member("level", "level01");
///       json.array("sizes", [&] { for (int size : sizes) json.value(size); });
///     });
///     // {"level": "level01", "sizes": [1024, 2048]}
///
/// The caller may empty the string between two values, for instance into a file.
class JsonWriter {
 public:
  enum class Layout {
    row,    ///< all on one line
    lines,  ///< what the container holds directly starts a line each, indented by two more spaces than the container
  };

  explicit JsonWriter(std::string& out) : out_(out) {}

  /// Numbers that JSON cannot express (infinities, NaN) become null. Strings are escaped, and what is not UTF-8 in them
  /// is replaced by U+FFFD.
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::nullptr_t) { raw("null"); }
  void value(double number);              ///< as few digits as reading the same number takes
  void value(double number, int digits);  ///< significant ones
  void value(std::integral auto number) {
    if constexpr (std::same_as<decltype(number), bool>)
      raw(number ? "true" : "false");
    else
      raw(std::to_string(number));
  }
  void object(auto&& members, Layout layout = Layout::row) { container('{', '}', members, layout); }
  void array(auto&& values, Layout layout = Layout::row) { container('[', ']', values, layout); }

  /// Inside an object: a name, and what is written as a value.
  void member(std::string_view name, const auto&... what) {
    key(name);
    value(what...);
  }
  void object(std::string_view name, auto&& members, Layout layout = Layout::row) {
    key(name);
    object(members, layout);
  }
  void array(std::string_view name, auto&& values, Layout layout = Layout::row) {
    key(name);
    array(values, layout);
  }

 private:
  void container(char open, char close, auto&& contents, Layout layout) {
    separate();
    out_ += open;
    const Layout outer = std::exchange(layout_, layout);
    first_ = true;
    ++depth_;
    contents();
    --depth_;
    if (layout_ == Layout::lines && !first_) break_line();
    layout_ = outer;
    first_ = false;
    out_ += close;
  }
  void key(std::string_view name);
  void raw(std::string_view text);
  void separate();
  void break_line();

  std::string& out_;
  Layout layout_ = Layout::row;
  bool first_ = true;  // nothing is written yet in the innermost container
  bool after_key_ = false;
  int depth_ = 0;
};

}  // namespace base
